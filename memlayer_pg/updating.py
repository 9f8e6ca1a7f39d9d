"""What update does, without waiting for any of it: read, let the new text be embedded, write.

The write names the version that was read. Where somebody else was faster nothing is lost: the
update looks again and repeats, without embedding the same text twice.
"""

from __future__ import annotations

import logging
from typing import Any

from memlayer_pg import checks, context, entities, jsonable
from memlayer_pg.checks import UNSET
from memlayer_pg.effects import Embedded, Flow, call, embed
from memlayer_pg.entities import Entities
from memlayer_pg.errors import InputError, MemoryNotFound, VersionConflict
from memlayer_pg.flows import Store
from memlayer_pg.writing import Prepared, apply, expiry

log = logging.getLogger("memlayer_pg")

ATTEMPTS = 100
"""How often an update is tried while others are faster; each time one of them was done."""


def update(store: Store, memory_id: object, **given: Any) -> Flow[dict[str, Any]]:
    """Change a memory; when somebody else changed it meanwhile, look again and repeat, unless the
    caller says which version is to be changed."""
    embedded: list[Embedded] = []
    for attempt in range(1, ATTEMPTS + 1):
        prepared = yield from prepare_update(store, memory_id, **given, embedded=embedded)
        try:
            return (yield from apply(prepared))
        except MemoryNotFound as error:
            raise _not_found(memory_id) from error
        except VersionConflict:
            if attempt == ATTEMPTS or given.get("expected_version") is not None:
                raise
    raise AssertionError("unreachable")


def prepare_update(
    store: Store,
    memory_id: object,
    *,
    text: object,
    metadata: object,
    expiration_date: object,
    data: object,
    expected_version: object = None,
    actor: object = None,
    embedded: list[Embedded] | None = None,
) -> Flow[Prepared]:
    """Check everything; read the memory and embed the new text, when there is one.

    `embedded` keeps the vectors between the attempts of one update: the same text is embedded once.
    """
    if data is not None:
        log.warning("update(data=…) is deprecated, use text=")
        text = data if text is None else text
    if text is None and metadata is None and expiration_date is UNSET:
        raise InputError("At least one of text, metadata, or expiration_date must be provided.")
    expected = checks.version("expected_version", expected_version)
    label = checks.actor(actor)
    wording = checks.new_text(text)
    found = jsonable.metadata(metadata)
    if expiration_date is UNSET:
        clear = found is not None and found.get("expiration_date", UNSET) is None
        expires_on, found = expiry(found, None)
    else:
        expires_on = checks.expiration_date(expiration_date)
        clear = expires_on is None
    wanted = checks.memory_id(memory_id)
    if wanted is None:
        raise _not_found(memory_id)
    args: dict[str, Any] = {
        "p_tenant": store.tenant,
        "p_id": wanted,
        "p_metadata": found,
        "p_expires_on": expires_on,
        "p_clear_expiration": clear or None,
        "p_expected_version": expected,
        "p_actor": label,
    }
    if wording is None:
        return Prepared("update", args)
    rows = yield from call("get", p_tenant=store.tenant, p_id=wanted)
    if not rows:
        raise _not_found(memory_id)
    if expected not in (None, rows[0]["version"]):
        raise VersionConflict(
            f"memory {wanted} is at version {rows[0]['version']}, not {expected}",
            hint="Read it again and repeat the call.",
        )
    args |= {"p_text": wording, "p_expected_version": rows[0]["version"]}
    if rows[0]["text"] != wording or rows[0]["pending"]:
        named = Entities()
        named.places(entities.named(wording))
        kept = [] if embedded is None else embedded
        if not kept:
            whole = context.embedded(store, wording, rows[0]["context"])
            kept.append((yield from embed([whole, *named.names], "document")))
        args |= {
            "p_embedding": kept[0].vectors[0],
            "p_model": kept[0].model,
            "p_entities": named.rows,
            "p_entity_embeddings": kept[0].vectors[1:],
            "p_usage": {"embedding_tokens": kept[0].tokens},
        }
    return Prepared("update", args)


def _not_found(memory_id: object) -> MemoryNotFound:
    return MemoryNotFound(
        f"Memory with id {checks.shown(memory_id)} not found. Please provide a valid 'memory_id'"
    )
