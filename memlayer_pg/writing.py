"""What add does, without waiting for any of it.

A write is prepared (the models are asked), then applied: one statement, which is the transaction.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any

from memlayer_pg import checks, context, entities, extract, jsonable, prompts, reply, shapes
from memlayer_pg.checks import Scope
from memlayer_pg.effects import Embedded, Flow, Row, call, embed, generate
from memlayer_pg.entities import Entities
from memlayer_pg.errors import (
    ConfigError,
    InputError,
    ValidationError,
)
from memlayer_pg.extract import Message
from memlayer_pg.flows import Store

log = logging.getLogger("memlayer_pg")

PROCEDURAL = "procedural_memory"
LOOKUP = 8000
"""Characters of a conversation, its newest, that are compared with what is remembered."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A write the models have done their part of; `apply` does the rest.

    `args`: of the SQL function; None when there is nothing to write and `result` is the answer.
    `spoken`: the messages, and `is_verbatim` whether they are stored word for word.
    """

    function: str = "add"
    args: Mapping[str, Any] | None = None
    result: Mapping[str, Any] = field(default_factory=dict)
    spoken: tuple[Message, ...] = ()
    is_verbatim: bool = False


def apply(prepared: Prepared) -> Flow[dict[str, Any]]:
    """Write what was prepared, in one statement."""
    if not isinstance(prepared, Prepared):
        raise InputError(
            "prepared must be what prepare_add or prepare_update gave, "
            f"not {type(prepared).__name__}"
        )
    if prepared.args is None:
        return dict(prepared.result)
    rows = yield from call(prepared.function, **prepared.args)
    if prepared.function == "update":
        return {"message": "Memory updated successfully!"}
    # A request with the same key may have been done first, and in the other way.
    texts = [row["text"] for row in rows]
    is_own = texts == [fact["text"] for fact in prepared.args.get("p_facts", ())]
    said = [message.content for message in prepared.spoken]
    is_verbatim = prepared.is_verbatim if is_own else texts == said
    return shapes.added(rows, prepared.spoken if is_verbatim else None)


def add(store: Store, messages: object, **given: Any) -> Flow[dict[str, Any]]:
    """Remember what was said; the arguments are those of `prepare_add`."""
    prepared = yield from prepare_add(store, messages, **given)
    return (yield from apply(prepared))


def prepare_add(
    store: Store,
    messages: object,
    *,
    user_id: object = None,
    agent_id: object = None,
    run_id: object = None,
    metadata: object = None,
    timestamp: object = None,
    expiration_date: object = None,
    infer: bool = True,
    memory_type: object = None,
    prompt: object = None,
    idempotency_key: object = None,
    actor: object = None,
) -> Flow[Prepared]:
    """Check everything, then let the models do their part."""
    expires_on = checks.expiration_date(expiration_date)
    scope = checks.scope_to_add(user_id, agent_id, run_id)
    _check_memory_type(memory_type)
    spoken = extract.normalise(messages)
    expires_on, metadata_ = expiry(jsonable.metadata(metadata), expires_on)
    said_at = checks.instant("timestamp", timestamp)
    prompt_ = checks.optional_text("prompt", prompt)
    args: dict[str, Any] = {
        "p_tenant": store.tenant,
        **scope.args(),
        "p_metadata": metadata_ or None,
        "p_expires_on": expires_on,
        "p_observed_at": said_at,
        "p_actor": checks.actor(actor),
    }
    key = checks.idempotency_key(idempotency_key)
    if key is not None:
        args["p_idempotency_key"] = key
        args["p_request_hash"] = _digest(
            spoken, scope.args(), metadata_, expires_on, said_at, infer, memory_type, prompt_
        )
    if not spoken:
        return Prepared(result={"results": []})
    is_procedure = memory_type == PROCEDURAL and scope.agent_id is not None
    is_verbatim = not is_procedure and not (infer and store.extracts)
    # Before a model is paid. A call that is under way elsewhere is found when this one writes.
    earlier = None if key is None else (yield from _earlier(store, scope, args))
    if earlier is not None:
        # A language model may have come or gone since.
        was_verbatim = any(row["is_verbatim"] for row in earlier)
        return Prepared(result=shapes.added(earlier, _stored(spoken) if was_verbatim else None))
    if is_procedure:
        return (yield from _procedure(store, spoken, prompt_, args))
    if is_verbatim:
        return (yield from _verbatim(store, spoken, scope, args))
    return (yield from _facts(store, spoken, said_at, prompt_ or store.instructions, scope, args))


def _earlier(store: Store, scope: Scope, args: dict[str, Any]) -> Flow[list[Row] | None]:
    """What the same request returned when it was made before; None when it was not."""
    [found] = yield from call(
        "recall_context",
        p_tenant=store.tenant,
        **scope.args(),
        p_messages=0,
        p_similar=0,
        p_recent=0,
        p_idempotency_key=args["p_idempotency_key"],
        p_request_hash=args["p_request_hash"],
    )
    rows: list[Row] | None = found["replay"]
    return rows


def _facts(
    store: Store,
    spoken: list[Message],
    said_at: datetime | None,
    instructions: str | None,
    scope: Scope,
    args: dict[str, Any],
) -> Flow[Prepared]:
    """Facts that the language model draws from a conversation."""
    args = {**args, "p_messages": [_buffered(message) for message in spoken]}
    if all(message.role in context.BACKGROUND for message in spoken):
        return Prepared(args=args)
    lines = [f"{said.role}: {said.content}" for said in spoken if said.role != "tool"]
    looked_up = yield from embed(["\n".join(lines)[-LOOKUP:]], "query")
    [recalled] = yield from call(
        "recall_context",
        p_tenant=store.tenant,
        **scope.args(),
        p_embedding=looked_up.vectors[0],
        p_model=looked_up.model,
    )
    known: list[Row] = recalled["memories"] or []
    today = datetime.now(UTC)
    generated = yield from generate(
        prompts.extraction_messages(
            conversation=spoken,
            recent_messages=[_remembered(row) for row in recalled["messages"] or []],
            memories=[{"id": n, "text": row["text"]} for n, row in enumerate(known)],
            observed_on=(said_at or spoken[-1].created_at or today).date(),
            today=today.date(),
            agent_view=scope.agent_id is not None and scope.user_id is None,
            instructions=instructions,
        ),
        prompts.SCHEMA,
    )
    extracted = reply.facts(generated.text, finish_reason=generated.finish_reason)
    for warning in extracted.warnings:
        log.warning("extraction: %s", warning)
    named = Entities()
    facts = [
        {
            "text": fact.text,
            "attributed_to": fact.attributed_to,
            "entities": named.places(fact.entities),
            "links": _links(fact.links, known),
        }
        for fact in extracted.facts
    ]
    tokens = looked_up.tokens
    if facts:
        embedded = yield from embed(
            [fact.text for fact in extracted.facts] + named.names, "document"
        )
        args |= _vectors(facts, named, embedded)
        tokens += embedded.tokens
    args["p_llm"] = generated.model
    args["p_usage"] = {
        "prompt_tokens": generated.prompt_tokens,
        "completion_tokens": generated.completion_tokens,
        "embedding_tokens": tokens,
    }
    return Prepared(args=args, spoken=_stored(spoken))


def _verbatim(
    store: Store, spoken: list[Message], scope: Scope, args: dict[str, Any]
) -> Flow[Prepared]:
    """What was said, word for word: one memory a message, but for what the system said."""
    stored = _stored(spoken)
    args = {**args, "p_messages": [_buffered(message) for message in spoken]}
    if not stored:
        return Prepared(args=args)
    before: list[str | None] = [None] * len(stored)
    if store.context != "off":
        before = yield from context.before(store.tenant, scope, spoken)
    named = Entities()
    facts: list[dict[str, Any]] = [
        {
            "text": message.content,
            "context": said_before,
            "role": message.role,
            "actor_id": message.name,
            "observed_at": _iso(message.created_at),
            "entities": named.places(entities.named(message.content)),
        }
        for message, said_before in zip(stored, before, strict=True)
    ]
    texts = [context.embedded(store, fact["text"], fact["context"]) for fact in facts]
    embedded = yield from embed(texts + named.names, "document")
    args |= _vectors(facts, named, embedded)
    args["p_usage"] = {"embedding_tokens": embedded.tokens}
    return Prepared(args=args, spoken=stored, is_verbatim=True)


def _stored(spoken: list[Message]) -> tuple[Message, ...]:
    """What is stored word for word, where that is asked for."""
    return tuple(message for message in spoken if message.role != "system")


def _procedure(
    store: Store, spoken: list[Message], instructions: str | None, args: dict[str, Any]
) -> Flow[Prepared]:
    """One record of everything an agent did."""
    if not store.extracts:
        raise ConfigError("llm: a procedural memory is written by a language model, none is set")
    generated = yield from generate(
        prompts.procedural_messages(conversation=spoken, instructions=instructions), None
    )
    text = reply.plain(generated.text, finish_reason=generated.finish_reason)
    embedded = yield from embed([text], "document")
    facts: list[dict[str, Any]] = [{"text": text, "memory_type": PROCEDURAL}]
    args = {**args, **_vectors(facts, Entities(), embedded), "p_llm": generated.model}
    args["p_usage"] = {
        "prompt_tokens": generated.prompt_tokens,
        "completion_tokens": generated.completion_tokens,
        "embedding_tokens": embedded.tokens,
    }
    return Prepared(args=args)


def _links(links: Sequence[tuple[int, str]], known: list[Row]) -> list[dict[str, str]]:
    """Links to the memories that were shown; a number that was not is left out."""
    found = []
    for number, kind in links:
        if 0 <= number < len(known):
            found.append({"id": known[number]["id"], "kind": kind})
        else:
            log.warning("extraction: a link to a memory that was not shown is left out")
    return found


def _buffered(message: Message) -> dict[str, Any]:
    said: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.name is not None:
        said["name"] = message.name
    if message.created_at is not None:
        said["created_at"] = _iso(message.created_at)
    return said


def _remembered(row: Row) -> Message:
    return Message(row["role"], row["content"], row["name"], checks.instant("", row["created_at"]))


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _check_memory_type(memory_type: object) -> None:
    if memory_type is not None and memory_type != PROCEDURAL:
        raise ValidationError(
            "Invalid 'memory_type'. Please pass procedural_memory to create procedural memories.",
            "VALIDATION_002",
            {"provided_type": memory_type, "valid_type": PROCEDURAL},
            "Use 'procedural_memory' to create procedural memories.",
        )


def _digest(spoken: list[Message], *rest: object) -> str:
    """What tells two requests with one idempotency key apart."""
    said = [[m.role, m.content, m.name, _iso(m.created_at)] for m in spoken]
    text = json.dumps([said, *rest], ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _vectors(facts: list[dict[str, Any]], named: Entities, embedded: Embedded) -> dict[str, Any]:
    """Facts and entities with the vectors that one request gave for both."""
    return {
        "p_facts": [{k: v for k, v in fact.items() if v not in (None, [])} for fact in facts],
        "p_embeddings": embedded.vectors[: len(facts)],
        "p_model": embedded.model,
        "p_entities": named.rows,
        "p_entity_embeddings": embedded.vectors[len(facts) :],
    }


def expiry(
    metadata: dict[str, Any] | None, expires_on: date | None
) -> tuple[date | None, dict[str, Any] | None]:
    """mem0 keeps the expiration among the metadata: one given there counts where it is the only."""
    if metadata is None or "expiration_date" not in metadata:
        return expires_on, metadata
    found = checks.expiration_date(metadata["expiration_date"])
    rest = {key: value for key, value in metadata.items() if key != "expiration_date"}
    return expires_on or found, rest
