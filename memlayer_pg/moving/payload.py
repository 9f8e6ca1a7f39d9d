"""A payload of mem0 as a memory that can be imported. Nothing is lost silently: a value that does
not fit its column stays in the metadata, and what was wrong is noted."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from memlayer_pg import checks, importing_rows, writing
from memlayer_pg.checks import SCOPE_IDS
from memlayer_pg.entities import LONGEST
from memlayer_pg.errors import MemlayerError
from memlayer_pg.importing_rows import NAMESPACE, Ready
from memlayer_pg.moving import events
from memlayer_pg.moving.defects import Defects

UNKEPT = re.compile("[\x00\ud800-\udfff]")
TEXTS = ("role", "actor_id", "attributed_to")
COLUMNS = (
    "data", "hash", "text_lemmatized", "created_at", "updated_at", *SCOPE_IDS, *TEXTS,
    "expiration_date",
)  # fmt: skip


def ready(
    given_id: str,
    payload: object,
    *,
    metadata: dict[str, Any] | None = None,
    vector: Sequence[float] | None = None,
    named: list[dict[str, Any]] | None = None,
    past: list[events.Event] | None = None,
    nobody: checks.Scope,
    model: str | None,
    defects: Defects,
) -> Ready | None:
    """The memory, or None where it has to be left out.

    `payload`: what mem0 keeps beside a vector, with the metadata among it unless that stands in
    `metadata`. `past`: its events in mem0, None where there is no
    record of any. `nobody`: whose memories are that name nobody. `model`: of the vectors.
    """
    if not isinstance(payload, Mapping):
        defects.note("no text", given_id)
        return None
    text = payload.get("data")
    if not isinstance(text, str) or checks.blank(text):
        defects.note("no text", given_id)
        return None
    text = kept(text, given_id, defects)
    if metadata is None:
        metadata = {key: value for key, value in payload.items() if key not in COLUMNS}
    row: dict[str, Any] = {"memory": text}
    id_ = checks.memory_id(given_id)
    if id_ is None:
        defects.note("id is no UUID", given_id)
        id_ = str(uuid.uuid5(NAMESPACE, f"mem0 {given_id}"))
        metadata["mem0_id"] = given_id
    row["id"] = id_
    if not _scope(row, payload, nobody):
        defects.note("nobody's", given_id)
        return None
    for name in TEXTS:
        value = payload.get(name)
        if isinstance(value, str):
            row[name] = value
        elif value is not None:
            defects.note("key of another type", given_id)
            metadata[name] = value
    if metadata.get("memory_type") == writing.PROCEDURAL:
        row["memory_type"] = metadata.pop("memory_type")
    else:
        row["memory_type"] = None
    row["expiration_date"] = _expiry(payload, given_id, metadata, defects)
    if "hash" in payload and payload["hash"] != hashlib.md5(text.encode()).hexdigest():
        defects.note("hash is not of the text", given_id)
    created = time(payload.get("created_at"), "created_at", given_id, defects)
    if created is None and payload.get("created_at") is not None:
        metadata["created_at"] = payload["created_at"]
    updated = time(payload.get("updated_at"), "updated_at", given_id, defects)
    steps = events.standing(past, text, created, updated, given_id, defects)
    row["history"] = steps
    row["created_at"] = created or steps[0]["at"]
    row["updated_at"] = updated or steps[-1]["at"]
    row["metadata"] = metadata
    _vector(row, vector, model, given_id, defects)
    if named is not None:
        row["entities"] = entities(named, model is not None, defects)
    try:
        return importing_rows.one(given_id, row, model, checks.Scope(), Counter())
    except MemlayerError as error:
        defects.note("not storable", f"{given_id}: {error.message}")
        return None


def gone(
    id_: str, past: list[events.Event], nobody: checks.Scope, defects: Defects
) -> Ready | None:
    """The history of a memory that mem0 deleted."""
    steps = events.deleted(past, id_, defects)
    if steps is None:
        return None
    row = {
        "id": id_,
        "memory": next(step["memory"] for step in reversed(steps) if "memory" in step),
        **asdict(nobody),
        "role": past[-1].role,
        "actor_id": past[-1].actor_id,
        "created_at": past[0].created_at or steps[0]["at"],
        "history": steps,
    }
    try:
        return importing_rows.one(id_, row, None, checks.Scope(), Counter())
    except MemlayerError as error:
        defects.note("not storable", f"{id_}: {error.message}")
        return None


def kept(text: str, where: str, defects: Defects) -> str:
    """A text without what Postgres does not keep."""
    if checks.bad_characters(text):
        defects.note("characters Postgres does not keep", where)
        text = UNKEPT.sub("\ufffd", text)
    return text


def time(value: object, name: str, where: str, defects: Defects) -> datetime | None:
    """A moment in UTC, None where there is none that can be read."""
    try:
        moment = checks.instant(name, value)
    except MemlayerError:
        moment = None
    if value is not None and (moment is None or not 1 < moment.year < 9999):
        defects.note(f"{name} is no time", where)
        return None
    if isinstance(value, str) and datetime.fromisoformat(value.strip()).tzinfo is None:
        defects.note("time without a zone", where)
    return moment


def entities(
    named: list[dict[str, Any]], takes_vectors: bool, defects: Defects
) -> list[dict[str, Any]]:
    """Those that have a name of ours, each once; vectors that cannot be used left out."""
    found: dict[str, dict[str, Any]] = {}
    for entity in named:
        name = entity["name"]
        if not isinstance(name, str) or checks.blank(name) or len(name.encode()) > LONGEST:
            defects.note("entity without a usable name", entity["id"])
            continue
        if "embedding" in entity and (not takes_vectors or _problem(entity["embedding"])):
            entity = {key: value for key, value in entity.items() if key != "embedding"}
        found.setdefault(name, {key: entity[key] for key in entity if key != "id"})
    return list(found.values())


def _scope(row: dict[str, Any], payload: Mapping[str, Any], nobody: checks.Scope) -> bool:
    """Put the ids in; False when they name nobody, or cannot be ids."""
    try:
        ids = {name: checks.scope_id(name, payload.get(name)) for name in SCOPE_IDS}
    except MemlayerError:
        return False
    row |= ids if any(ids.values()) else asdict(nobody)
    return any(row[name] for name in SCOPE_IDS)


def _expiry(
    payload: Mapping[str, Any], where: str, metadata: dict[str, Any], defects: Defects
) -> str | None:
    value = payload.get("expiration_date")
    try:
        day = checks.expiration_date(value)
    except MemlayerError:
        defects.note("expiration_date is no date", where)
        metadata["expiration_date"] = value
        return None
    return None if day is None else day.isoformat()


def _vector(
    row: dict[str, Any],
    vector: Sequence[float] | None,
    model: str | None,
    where: str,
    defects: Defects,
) -> None:
    if model is None:
        return
    if vector is None:
        defects.note("no vector", where)
    elif _problem(vector):
        defects.note("vector not usable", where)
    else:
        row["embedding"] = vector


def _problem(vector: Sequence[float]) -> bool:
    try:
        importing_rows.packed("a vector", vector)
    except MemlayerError:
        return True
    return False
