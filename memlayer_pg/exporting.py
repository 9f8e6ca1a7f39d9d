"""A memory as a line of JSON, of which an import makes the same memory again.

Keys that say nothing are left out. Vectors are base64 of little-endian 32-bit floats; the vector of
an entity stands with the first memory that names it.
"""

from __future__ import annotations

import json
import struct
import sys
from array import array
from base64 import b64encode
from datetime import UTC, datetime
from typing import Any

from memlayer_pg.effects import Row
from memlayer_pg.shapes import moment

PAGE = 500
"""Memories that are read by one statement."""
ELSEWHERE = ("memory_type", "expiration_date")
"""Keys that an import looks for in the metadata, too, of a memory that does not have them."""

BREAKS = {ord(letter): f"\\u{ord(letter):04x}" for letter in "\u0085\u2028\u2029"}
"""Characters that many programs take for the end of a line, as JSON may write them."""


def line(row: Row, events: list[Row] | None = None) -> str:
    """A row of memlayer.export_memories as JSON, without a line break; `events`: its history."""
    metadata = row["metadata"]
    expires_on = row["expires_on"]
    found = {
        "id": str(row["id"]),
        "memory": row["text"],
        "user_id": row["user_id"],
        "agent_id": row["agent_id"],
        "run_id": row["run_id"],
        "metadata": metadata or None,
        "created_at": moment(row["created_at"]),
        "observed_at": moment(row["observed_at"]),
        "expiration_date": expires_on and expires_on.isoformat(),
        "role": row["role"],
        "actor_id": row["actor_id"],
        "attributed_to": row["attributed_to"],
        "memory_type": row["memory_type"],
        "context": row["context"],
        "embedding": _base64(row["embedding"]),
        "embedding_model": row["embedding_model"],
        "entities": [_entity(entity) for entity in row["entities"]],
        "links": row["links"],
    }
    kept = {
        key: value
        for key, value in found.items()
        if value not in (None, []) or key == "entities" or (key in ELSEWHERE and key in metadata)
    }
    if events is not None:
        kept["updated_at"] = _instant(events[-1]["state"]["updated_at"])
        kept["history"] = [*map(_event, events[:-1]), _event({**events[-1], "state": None})]
    return json.dumps(kept, ensure_ascii=False).translate(BREAKS)


def gone(row: Row) -> str:
    """A row of memlayer.export_history, of a memory that was deleted, in the same way."""
    states = [event["state"] for event in row["events"] if event["state"] is not None]
    found = {
        "id": str(row["memory_id"]),
        "memory": states[-1]["text"],
        "user_id": row["user_id"],
        "agent_id": row["agent_id"],
        "run_id": row["run_id"],
        "history": list(map(_event, row["events"])),
    }
    kept = {key: value for key, value in found.items() if value is not None}
    return json.dumps(kept, ensure_ascii=False).translate(BREAKS)


def _event(event: Row) -> Row:
    state = event["state"]
    found = {
        "version": event["version"],
        "event": event["event"],
        "at": _instant(event["at"]),
        "state": state and {key: _dated(key, value) for key, value in state.items()},
    }
    return {key: value for key, value in found.items() if value is not None}


def _dated(key: str, value: Any) -> Any:
    return _instant(value) if key.endswith("_at") and value is not None else value


def _instant(written: str) -> str:
    """A time of UTC, as the database writes it in JSON, with its zone."""
    return moment(datetime.fromisoformat(written).replace(tzinfo=UTC)) or ""


def _entity(entity: dict[str, Any]) -> dict[str, Any]:
    vector = entity["embedding"]
    found = {
        "name": entity["name"],
        "type": entity["type"],
        "embedding": None if vector is None else _base64(bytes.fromhex(vector)),
    }
    return {key: value for key, value in found.items() if value is not None}


def _base64(halfvec: bytes | None) -> str | None:
    """base64 of 32-bit floats from halfvec's binary form: its size, two bytes unused, halves."""
    if halfvec is None:
        return None
    size = int.from_bytes(halfvec[:2], "big")
    values = array("f", struct.unpack_from(f">{size}e", halfvec, 4))
    if sys.byteorder == "big":
        values.byteswap()
    return b64encode(values).decode()
