"""What each operation does, without waiting for any of it; add and update: writing, updating."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memlayer_pg import checks, jsonable, names, shapes
from memlayer_pg.checks import SCOPE_IDS, Scope
from memlayer_pg.effects import Flow, call, embed, rerank
from memlayer_pg.errors import EmbeddingError, InputError, MemoryNotFound, ModelError

log = logging.getLogger("memlayer_pg")

QUERY_ENTITIES = 8
"""Names of a query that are looked up as entities."""


@dataclass(frozen=True, slots=True)
class Store:
    """What a flow has to know about the `Memory` it works for.

    `extracts`: there is a language model. `reranks`: there is a reranker. `context`: what
    was said before a message that is stored word for word is "off", or indexed with its "words", or
    part of its vector too: "full".
    """

    tenant: str = "default"
    instructions: str | None = None
    extracts: bool = True
    reranks: bool = False
    context: str = "words"


def search(
    store: Store,
    query: object,
    *,
    top_k: object,
    filters: object,
    threshold: object,
    rerank_: bool,
    explain: bool,
    reference_date: object,
    show_expired: bool,
    fusion: object,
    include_superseded: bool,
    demote_superseded: bool,
    recency_half_life: object,
    fallback: object,
    as_of: object,
    extra: Mapping[str, object],
) -> Flow[dict[str, Any]]:
    """The memories of a scope that best answer the query, best first: one statement."""
    checks.no_ids_beside_filters(extra, "search")
    least = checks.threshold(threshold)
    limit = checks.top_k(top_k)
    text = checks.query(query)
    scope, rest = _split(filters)
    moment, day = checks.looking_back(as_of, reference_date)
    formula = checks.optional_text("fusion", fusion)
    half_life = checks.half_life(recency_half_life)
    if fallback not in (None, "keyword"):
        raise InputError("fallback must be None or 'keyword'")
    if limit == 0:
        return {"results": []}
    entities = names.candidates(text, QUERY_ENTITIES)
    embedded = None
    try:
        embedded = yield from embed([text, *entities], "query")
    except EmbeddingError as error:
        if fallback is None:
            raise
        log.warning("the embedder failed, searching by words alone: %s", error)
    rows = yield from call(
        "search",
        p_tenant=store.tenant,
        p_query=text,
        p_embedding=embedded and embedded.vectors[0],
        p_model=embedded and embedded.model,
        **scope.args(),
        p_filters=rest or None,
        p_top_k=limit,
        p_threshold=least,
        p_show_expired=bool(show_expired),
        p_entities=entities,
        p_entity_embeddings=embedded and embedded.vectors[1:],
        p_reference_date=day,
        p_fusion=formula,
        p_include_superseded=bool(include_superseded),
        p_demote_superseded=bool(demote_superseded),
        p_recency_half_life=half_life,
        p_as_of=moment,
    )
    results = [shapes.scored(row, row["score"], explain=explain) for row in rows]
    if rerank_ and results:
        return (yield from _reranked(store, text, results, limit))
    return {"results": results}


def _reranked(
    store: Store, query: str, results: list[dict[str, Any]], limit: int
) -> Flow[dict[str, Any]]:
    """The results in the reranker's order; as they were, and why, when it fails."""
    if not store.reranks:
        log.warning("rerank=True changes nothing: no reranker is configured")
        return {"results": results}
    try:
        return {"results": (yield from rerank(query, results, limit))}
    except ModelError as error:
        # What it says may hold texts: that is for the caller, who has them, and for no log.
        log.warning("the reranker failed (%s), the order is the one without it", _kind(error))
        return {"results": results, "rerank_error": error.message}


def _kind(error: ModelError) -> str:
    """What kind of failure it was, in words that hold nothing of what anybody said."""
    told = [f"{key} {error.details[key]}" for key in ("status", "reason") if key in error.details]
    return ", ".join([type(error.__cause__ or error).__name__, *told])


def keyword_search(
    store: Store, query: object, *, top_k: object, filters: object, show_expired: bool
) -> Flow[dict[str, Any]]:
    """A search by words and names alone: no model is asked."""
    limit = checks.top_k(top_k)
    text = checks.query(query)
    scope, rest = _split(filters)
    rows = yield from call(
        "keyword_search",
        p_tenant=store.tenant,
        p_query=text,
        **scope.args(),
        p_filters=rest or None,
        p_top_k=limit,
        p_show_expired=bool(show_expired),
    )
    return {"results": [shapes.scored(row, row["score"]) for row in rows]}


def similar_to(store: Store, memory_id: object, *, top_k: object) -> Flow[dict[str, Any]]:
    """The memories of the same scope that are nearest to one of them."""
    limit = checks.top_k(top_k)
    wanted = checks.memory_id(memory_id)
    if wanted is None:
        raise MemoryNotFound(f"Memory with id {checks.shown(memory_id)} not found")
    rows = yield from call("similar_to", p_tenant=store.tenant, p_memory_id=wanted, p_top_k=limit)
    return {"results": [shapes.scored(row, row["score"]) for row in rows]}


def get(store: Store, memory_id: object) -> Flow[dict[str, Any] | None]:
    """One memory, expired or not; None when there is none of this id."""
    wanted = checks.memory_id(memory_id)
    if wanted is None:
        return None
    rows = yield from call("get", p_tenant=store.tenant, p_id=wanted)
    return shapes.scored(rows[0], None) if rows else None


def get_all(
    store: Store,
    *,
    filters: object,
    top_k: object,
    show_expired: bool,
    after: object,
    with_total: bool,
    reference_date: object,
    as_of: object,
    extra: Mapping[str, object],
) -> Flow[dict[str, Any]]:
    """A page of a scope's memories, newest first."""
    checks.no_ids_beside_filters(extra, "get_all")
    limit = checks.top_k(top_k)
    with_total = bool(with_total)
    scope, rest = _split(filters)
    cursor = checks.optional_text("after", after)
    moment, day = checks.looking_back(as_of, reference_date)
    if limit == 0 and not with_total:
        return {"results": []}
    rows = yield from call(
        "get_all",
        p_tenant=store.tenant,
        **scope.args(),
        p_filters=rest or None,
        p_top_k=limit,
        p_show_expired=bool(show_expired),
        p_after=cursor,
        p_reference_date=day,
        p_with_total=with_total or None,
        p_as_of=moment,
    )
    page = [row for row in rows if row["id"] is not None]
    found: dict[str, Any] = {"results": [shapes.memory(row) for row in page]}
    if page and page[-1]["has_more"]:
        found["next"] = page[-1]["cursor"]
    if with_total:
        found["total"] = rows[0]["total"]
    return found


def delete(
    store: Store, memory_id: object, *, expected_version: object = None, actor: object = None
) -> Flow[dict[str, str]]:
    """Forget one memory; its history stays."""
    wanted = checks.memory_id(memory_id)
    text = f"Memory with id {checks.shown(memory_id)} not found"
    expected = checks.version("expected_version", expected_version)
    label = checks.actor(actor)
    if wanted is None:
        raise MemoryNotFound(text)
    try:
        yield from call(
            "delete",
            p_tenant=store.tenant,
            p_id=wanted,
            p_expected_version=expected,
            p_actor=label,
        )
    except MemoryNotFound as error:
        raise MemoryNotFound(text, hint=error.hint) from error
    return {"message": "Memory deleted successfully!"}


def delete_all(
    store: Store,
    user_id: object,
    agent_id: object,
    run_id: object,
    filters: object,
    actor: object = None,
) -> Flow[dict[str, str]]:
    """Forget every memory that carries at least these ids (and matches the filter)."""
    ids = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
    given, rest = _ids_and_rest(filters)
    for name, value in given.items():
        if ids[name] is not None and value is not None and str(ids[name]) != str(value):
            raise InputError(f"{name} is given twice, beside filters and in them")
        ids[name] = value if ids[name] is None else ids[name]
    scope = checks.scope_to_delete(ids)
    yield from call(
        "delete_all",
        p_tenant=store.tenant,
        **scope.args(),
        p_filters=rest or None,
        p_actor=checks.actor(actor),
    )
    return {"message": "Memories deleted successfully!"}


def erase(
    store: Store, user_id: object, agent_id: object, run_id: object, actor: object
) -> Flow[dict[str, Any]]:
    """Erase whatever carries at least these ids; the receipt."""
    scope = checks.scope_to_erase({"user_id": user_id, "agent_id": agent_id, "run_id": run_id})
    [row] = yield from call(
        "erase", p_tenant=store.tenant, **scope.args(), p_actor=checks.actor(actor)
    )
    return shapes.receipt(row)


def history(store: Store, memory_id: object) -> Flow[list[dict[str, Any]]]:
    """What happened to one memory, oldest first; [] when there never was one of this id."""
    wanted = checks.memory_id(memory_id)
    if wanted is None:
        return []
    rows = yield from call("history", p_tenant=store.tenant, p_id=wanted)
    return [shapes.event(row) for row in rows]


def belongs_to(
    store: Store, memory_id: object, user_id: object, agent_id: object, run_id: object
) -> Flow[bool]:
    """Whether a memory, or one that was deleted, carries at least these ids."""
    scope = checks.scope_to_read({"user_id": user_id, "agent_id": agent_id, "run_id": run_id})
    wanted = checks.memory_id(memory_id)
    if wanted is None:
        return False
    [row] = yield from call("belongs_to", p_tenant=store.tenant, p_id=wanted, **scope.args())
    return bool(row["belongs_to"])


def metadata_values(
    store: Store, key: object, *, filters: object, show_expired: bool
) -> Flow[list[dict[str, Any]]]:
    """The values of a key of metadata in a scope, with how many memories have each."""
    name = checks.optional_text("key", key)
    if name is None:
        raise InputError("key must be the name of a key of metadata, not None")
    scope, rest = _split(filters)
    rows = yield from call(
        "metadata_values",
        p_tenant=store.tenant,
        p_key=name,
        **scope.args(),
        p_filters=rest or None,
        p_show_expired=bool(show_expired),
    )
    return [{"value": row["value"], "memories": row["memories"]} for row in rows]


def messages(
    store: Store, user_id: object, agent_id: object, run_id: object
) -> Flow[list[dict[str, Any]]]:
    """The newest ten messages of exactly this combination of ids, oldest first."""
    scope = checks.scope_to_read({"user_id": user_id, "agent_id": agent_id, "run_id": run_id})
    rows = yield from call("messages", p_tenant=store.tenant, **scope.args())
    return [shapes.message(row) for row in rows]


def scopes(
    store: Store, user_id: object, agent_id: object, run_id: object
) -> Flow[list[dict[str, Any]]]:
    """Every user, agent and run that has memories; the given ids narrow it."""
    ids = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
    scope = Scope(**{name: checks.scope_id(name, value) for name, value in ids.items()})
    rows = yield from call("scopes", p_tenant=store.tenant, **scope.args())
    return [shapes.scope(row) for row in rows]


def reset(store: Store, actor: object = None) -> Flow[None]:
    """Forget everything of this tenant."""
    yield from call("reset", p_tenant=store.tenant, p_actor=checks.actor(actor))


def _ids_and_rest(filters: object) -> tuple[dict[str, Any], dict[str, Any]]:
    """The ids at the top of a filter, and what stands beside them, ready for Postgres."""
    if filters is not None and not isinstance(filters, Mapping):
        raise InputError(f"filters must be a dictionary, not {type(filters).__name__}")
    given = dict(filters or {})
    ids = {name: given.pop(name) for name in SCOPE_IDS if name in given}
    return ids, jsonable.filters(given)


def _split(filters: object) -> tuple[Scope, dict[str, Any]]:
    """The scope a reader names in its filter, and the filter within it."""
    ids, rest = _ids_and_rest(filters)
    return checks.scope_to_read(ids), rest
