"""One memory to be imported: what a line of an export, or a result of `get_all`, may hold.

Everything is checked here, so that what is wrong is named by its place and nothing of it is sent.
"""

from __future__ import annotations

import json
import math
import struct
import uuid
from base64 import b64decode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from memlayer_pg import checks, jsonable, versions, writing
from memlayer_pg.checks import SCOPE_IDS
from memlayer_pg.config import nearest
from memlayer_pg.entities import LONGEST
from memlayer_pg.errors import EmbeddingMismatch, InputError, MemlayerError, NotStorable

KINDS = ("related", "updates", "contradicts")
TEXTS = ("context", "memory_type", "role", "actor_id", "attributed_to")
KEYS = (
    "id", "memory", "text", *SCOPE_IDS, *TEXTS, "metadata", "created_at", "observed_at",
    "expiration_date", "embedding", "embedding_model", "entities", "links", "history",
)  # fmt: skip
DERIVED = (
    "hash", "updated_at", "version", "superseded_by", "score", "score_details", "rerank_score",
)  # fmt: skip
"""Keys of results that say what the database finds out for itself."""
NAMESPACE = uuid.UUID("6d656d6c-6179-4572-8000-696d706f7274")
LARGEST_HALF = 65504
NOBODY = checks.Scope()

Scope = tuple[str | None, ...]


class Placed(NamedTuple):
    """A memory and its place in a file, for messages."""

    where: str
    memory: object


@dataclass(frozen=True, slots=True)
class Named:
    """An entity that a memory names; `embedding` is packed as halfvec's binary form."""

    name: str
    type: str | None = None
    embedding: bytes | None = None


@dataclass(frozen=True, slots=True)
class Ready:
    """A checked memory.

    `where`: its place, for people. `fields`: the columns as JSON. `model`: of its vectors.
    `entities`: None when it did not say. `links`: ids and kinds. `size`: bytes, about.
    `past`: its earlier versions, as columns. `is_gone`: all of them, for it was deleted.
    """

    where: str
    fields: dict[str, Any]
    embedding: bytes | None
    model: str | None
    entities: tuple[Named, ...] | None
    links: tuple[tuple[str, str], ...]
    size: int
    past: tuple[dict[str, Any], ...] = ()
    is_gone: bool = False

    @property
    def scope(self) -> Scope:
        """The exact combination of ids it belongs to."""
        return tuple(self.fields.get(name) for name in SCOPE_IDS)

    @property
    def is_fact(self) -> bool:
        """Whether its text stands once in its scope; what was said word for word may repeat, and
        what brings its history along is kept as it is."""
        return (
            "version" not in self.fields
            and "role" not in self.fields
            and self.fields.get("memory_type") != writing.PROCEDURAL
        )

    @property
    def has_vectors(self) -> bool:
        """Whether it came with a vector, of its own or of an entity."""
        return self.embedding is not None or any(e.embedding for e in self.entities or ())


def ready(
    rows: Iterable[object], model: str | None = None, ids: checks.Scope = NOBODY
) -> Iterator[Ready]:
    """Check memories; InputError, NotStorable and EmbeddingMismatch name the place of a wrong one.

    `model`: of vectors that do not say; `ids`: of memories that name nobody. All vectors have to be
    of one size. A memory without an id gets one that follows from what it says: the same file
    imported again gives the same ids.
    """
    alike: Counter[bytes] = Counter()
    first: tuple[str, int] | None = None
    for number, item in enumerate(rows):
        where, given = item if isinstance(item, Placed) else (f"rows[{number}]", item)
        try:
            row = given if isinstance(given, Ready) else one(where, given, model, ids, alike)
        except MemlayerError as error:
            error.message = f"{where}: {error.message}"
            error.args = (error.message,)
            raise
        for packed in (row.embedding, *(named.embedding for named in row.entities or ())):
            if packed is None:
                continue
            size = (len(packed) - 4) // 2
            if first is None:
                first = where, size
            elif first[1] != size:
                raise EmbeddingMismatch(
                    f"{where}: a vector of {size} dimensions, that of {first[0]} has {first[1]}",
                    hint="Embed all memories with one model.",
                )
        yield row


def one(
    where: str, given: object, model: str | None, ids: checks.Scope, alike: Counter[bytes]
) -> Ready:
    """Check one memory; `alike` counts those without an id that say the same."""
    if not isinstance(given, Mapping):
        raise InputError(f"a memory is a JSON object, not {type(given).__name__}")
    for key in given:
        if key not in KEYS and key not in DERIVED:
            raise InputError(f"a memory has no {key!r}{nearest(str(key), KEYS)}")
    text = given.get("memory", given.get("text"))
    if not isinstance(text, str):
        raise InputError("there is no text: 'memory' or 'text' must be a string")
    if checks.blank(checks.storable("the text", text)):
        raise InputError("the text is blank")
    events = _list("history", given.get("history") or [])
    is_gone = bool(events) and events[-1].get("event") == "DELETE"
    scope = {name: checks.scope_id(name, given.get(name)) for name in SCOPE_IDS}
    if not any(scope.values()):
        scope = asdict(ids)
    if not any(scope.values()) and not is_gone:
        raise InputError(
            "there is no user_id, agent_id or run_id",
            suggestion="Name somebody there, or beside the file for all that name nobody.",
        )
    fields: dict[str, Any] = {"text": text, **scope}
    fields |= {name: checks.optional_text(name, given.get(name)) for name in TEXTS}
    for name in ("created_at", "observed_at"):
        moment = checks.instant(name, given.get(name))
        fields[name] = moment and moment.isoformat()
    metadata = jsonable.dictionary("metadata", given.get("metadata") or {})
    expires_on = checks.expiration_date(given.get("expiration_date"))
    # Where mem0 keeps them, and where a result shows them, unless the memory speaks of its own.
    if "expiration_date" not in given:
        expires_on, kept = writing.expiry(metadata, expires_on)
        metadata = kept or {}
    if "memory_type" not in given and metadata.get("memory_type") == writing.PROCEDURAL:
        fields["memory_type"] = metadata.pop("memory_type")
    fields["metadata"] = metadata or None
    fields["expires_on"] = expires_on and expires_on.isoformat()
    fields = {name: value for name, value in fields.items() if value is not None}
    fields["id"] = _id(given, fields, alike)
    past = versions.earlier(fields, events)
    if events and not is_gone:
        updated = checks.instant("updated_at", given.get("updated_at"))
        fields |= versions.last(events, updated)
    embedding = given.get("embedding")
    entities = given.get("entities")
    return Ready(
        where,
        fields,
        None if embedding is None else packed("embedding", embedding),
        checks.optional_text("embedding_model", given.get("embedding_model")) or model,
        None if entities is None else tuple(map(_named, _list("entities", entities))),
        tuple(map(_link, _list("links", given.get("links") or []))),
        len(text) + 1000 + (jsonable.size(metadata) if metadata else 0) * (1 + len(past)),
        past,
        is_gone,
    )


def _id(given: Mapping[str, Any], fields: dict[str, Any], alike: Counter[bytes]) -> str:
    if given.get("id") is not None:
        found = checks.memory_id(given["id"])
        if found is None:
            raise InputError(f"the id {checks.shown(given['id'])[:80]!r} is not a UUID")
        return found
    said = json.dumps(fields, sort_keys=True)
    key = uuid.uuid5(NAMESPACE, said).bytes
    alike[key] += 1
    return str(uuid.uuid5(NAMESPACE, f"{alike[key]} {said}"))


def _list(name: str, value: object) -> list[Mapping[str, Any]]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, Mapping) for item in value):
        raise InputError(f"{name} must be a list of objects")
    return list(value)


def _named(item: Mapping[str, Any]) -> Named:
    name = checks.optional_text("the name of an entity", item.get("name"))
    if name is None or checks.blank(name) or len(name.encode()) > LONGEST:
        raise InputError(f"an entity has no name, or one of more than {LONGEST} bytes")
    kind = checks.optional_text("the type of an entity", item.get("type"))
    vector = item.get("embedding")
    return Named(name, kind, None if vector is None else packed("the vector of an entity", vector))


def _link(item: Mapping[str, Any]) -> tuple[str, str]:
    linked = checks.memory_id(item.get("id"))
    kind = item.get("kind", KINDS[0])
    if linked is None or kind not in KINDS:
        raise InputError(f"a link is an id and a kind: {', '.join(KINDS)}")
    return linked, kind


def packed(what: str, given: object) -> bytes:
    """halfvec's binary form of a list of numbers, or of base64 of little-endian 32-bit floats."""
    wrong = f"{what} is neither a list of numbers nor base64 of 32-bit floats"
    try:
        values = _decoded(given) if isinstance(given, str) else _listed(given)
        halves = struct.pack(f">{len(values)}e", *values)
    except (TypeError, ValueError, struct.error):
        raise InputError(wrong) from None
    except OverflowError:
        raise NotStorable(f"{what} holds a number beyond {LARGEST_HALF}") from None
    if not values or not math.isfinite(sum(values)):
        raise InputError(f"{what} is empty, or holds what is not a finite number")
    if not halves.strip(b"\0"):
        raise InputError(f"{what} consists of zeros, which are like nothing")
    if len(values) > 4000:
        raise NotStorable(f"{what} has {len(values)} dimensions, 4,000 are the most")
    return struct.pack(">HH", len(values), 0) + halves


def _decoded(given: str) -> tuple[float, ...]:
    raw = b64decode(given, validate=True)
    return struct.unpack(f"<{len(raw) // 4}f", raw)


def _listed(given: object) -> tuple[float, ...]:
    if hasattr(given, "tolist"):
        given = given.tolist()
    if not isinstance(given, list | tuple) or bool in set(map(type, given)):
        raise TypeError
    return tuple(given)
