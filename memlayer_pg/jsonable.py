"""Metadata and filters as JSON that Postgres can keep; the caller's objects are not changed."""

from __future__ import annotations

import json
import logging
import math
import uuid
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import date, datetime
from typing import Any

from memlayer_pg.checks import SCOPE_IDS, bad_characters, shown
from memlayer_pg.errors import InputError, NotStorable

log = logging.getLogger("memlayer_pg")

IDENTITY = (*SCOPE_IDS, "actor_id")
LARGEST = 1024 * 1024
"""Bytes the metadata of one memory may have."""
DEEPEST = 140
"""Levels of lists and dictionaries in metadata or filters: the 64 groups of conditions that the
database takes are twice as many of them."""
MOST_BITS = 14_000
"""Of a whole number; Python writes none of more than 4,300 digits."""


def metadata(value: object) -> dict[str, Any] | None:
    """Metadata as JSON, without the ids that only a scope may set (a warning names them)."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise InputError(f"metadata must be a dictionary, not {type(value).__name__}")
    stripped = [key for key in IDENTITY if key in value]
    if stripped:
        log.warning("metadata cannot set %s: left out", ", ".join(stripped))
    return dictionary("metadata", {k: item for k, item in value.items() if k not in stripped})


def dictionary(name: str, value: object) -> dict[str, Any]:
    """A dictionary of a memory as JSON, with all its keys; NotStorable when it is too large."""
    if not isinstance(value, Mapping):
        raise InputError(f"{name} must be a dictionary, not {type(value).__name__}")
    found = _dictionary(name, value, 0, sets=False)
    if size(found) > LARGEST:
        raise NotStorable(f"{name} is larger than {LARGEST:,} bytes")
    return found


def filters(value: object) -> dict[str, Any]:
    """A filter as JSON; None is no filter. Sets and tuples become lists."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InputError(f"filters must be a dictionary, not {type(value).__name__}")
    return _dictionary("filters", value, 0, sets=True)


def size(value: object) -> int:
    """Bytes of a value as JSON."""
    return len(json.dumps(value, ensure_ascii=False).encode())


def _dictionary(where: str, value: Mapping[Any, Any], depth: int, *, sets: bool) -> dict[str, Any]:
    found = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise InputError(f"{where}: the key {shown(key):.80} must be a string")
        _check(f"a key of {where}", key)
        found[key] = _value(f"{where}.{key}", item, depth + 1, sets=sets)
    return found


def _value(where: str, value: Any, depth: int, *, sets: bool) -> Any:
    if depth > DEEPEST:
        raise InputError(f"{where:.80}: more than {DEEPEST} levels deep")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if value.bit_length() > MOST_BITS:
            raise NotStorable(f"{where:.80}: a number of thousands of digits is no JSON")
        return value
    if isinstance(value, str):
        _check(where, value)
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InputError(f"{where}: {value} cannot be written as JSON")
        return value
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, Mapping):
        return _dictionary(where, value, depth, sets=sets)
    if isinstance(value, list | tuple) or (sets and isinstance(value, AbstractSet)):
        return [_value(f"{where}[{n}]", item, depth + 1, sets=sets) for n, item in enumerate(value)]
    raise InputError(f"{where}: a {type(value).__name__} cannot be written as JSON")


def _check(where: str, text: str) -> None:
    if problem := bad_characters(text):
        raise NotStorable(f"{where!r:.80} holds {problem}, which Postgres cannot store")
