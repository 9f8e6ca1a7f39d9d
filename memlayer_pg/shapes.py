"""Rows of the database as the dictionaries that mem0 hands out: its keys, in its order."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from memlayer_pg.effects import Row
from memlayer_pg.extract import Message

PROMOTED = ("user_id", "agent_id", "run_id", "actor_id", "role", "attributed_to")
"""Columns that are keys of a result only where they hold something."""
AT_ONCE = timedelta(seconds=1)
"""What was stored within this of being observed was given no time of its own."""
PARTS = (
    "semantic_score",
    "bm25_score",
    "entity_boost",
    "raw_score",
    "max_possible_score",
    "final_score",
    "threshold",
)


def moment(value: datetime | None) -> str | None:
    """ISO 8601 in UTC, `+00:00` at its end, whatever time zone the session has."""
    return None if value is None else value.astimezone(UTC).isoformat()


def memory(row: Row) -> dict[str, Any]:
    """What get_all gives of a memory.

    mem0 has no version, no observed_at, which is there where a time was told, and no superseded_by.
    """
    metadata = dict(row["metadata"])
    if row["memory_type"] is not None:
        metadata["memory_type"] = row["memory_type"]
    found = {
        "id": str(row["id"]),
        "memory": row["text"],
        "hash": row["hash"],
        "metadata": metadata or None,
        "created_at": moment(row["created_at"]),
        "updated_at": moment(row["updated_at"]),
    }
    found |= {key: row[key] for key in PROMOTED if row[key] is not None}
    if row["expires_on"] is not None:
        found["expiration_date"] = row["expires_on"].isoformat()
    if abs(row["created_at"] - row["observed_at"]) > AT_ONCE:
        found["observed_at"] = moment(row["observed_at"])
    found["version"] = row["version"]
    if row.get("superseded_by") is not None:
        found["superseded_by"] = str(row["superseded_by"])
    return found


def scored(row: Row, score: float | None, *, explain: bool = False) -> dict[str, Any]:
    """What get and search give of a memory: the same with a score, which get has not."""
    found: dict[str, Any] = {}
    for key, value in memory(row).items():
        if key == "created_at":
            found["score"] = score
        found[key] = value
    if explain:
        found["score_details"] = _details(row["score_details"])
    return found


def _details(details: dict[str, Any]) -> dict[str, Any]:
    """The parts of a score in mem0's order, then any that mem0 has not."""
    numbers = {key: value if value is None else float(value) for key, value in details.items()}
    return {key: numbers.get(key) for key in PARTS} | numbers


def event(row: Row) -> dict[str, Any]:
    """What history gives of one change.

    mem0 has not actor, which is there where the call named one.
    """
    found = {
        "id": str(row["id"]),
        "memory_id": str(row["memory_id"]),
        "old_memory": row["old_memory"],
        "new_memory": row["new_memory"],
        "event": row["event"],
        "created_at": moment(row["created_at"]),
        "updated_at": moment(row["updated_at"]),
        "is_deleted": row["is_deleted"],
        "actor_id": row["actor_id"],
        "role": row["role"],
    }
    if row["actor"] is not None:
        found["actor"] = row["actor"]
    return found


def restored(row: Row) -> dict[str, Any]:
    """What restore gives: the memory, what was done with it, and whether it waits for a vector."""
    return {**memory(row), "event": row["event"], "pending": row["pending"]}


def undone(row: Row) -> dict[str, Any]:
    """What undo gives of one memory."""
    return {
        "id": str(row["id"]),
        "memory": row["text"],
        "outcome": row["outcome"],
        "event": row["event"],
        "version": row["version"],
        "pending": row["pending"],
    }


COUNTED = ("added", "updated", "deleted", "skipped", "entities", "messages")
SPENT = ("llm", "prompt_tokens", "completion_tokens", "embedding_tokens")


def operation(row: Row) -> dict[str, Any]:
    """What changes gives of one call."""
    found = {"id": str(row["id"]), "operation": row["operation"]}
    found |= {key: row[key] for key in ("user_id", "agent_id", "run_id", "actor") if row[key]}
    if row["undoes"] is not None:
        found["undoes"] = str(row["undoes"])
    found |= {key: row[key] for key in COUNTED}
    found |= {key: row[key] for key in SPENT if row[key] is not None}
    found |= {key: row[key] for key in ("database_role", "application_name")}
    return found | {"created_at": moment(row["recorded_at"])}


ERASED = (
    "memories",
    "history",
    "messages",
    "sessions",
    "entities",
    "mentions",
    "links",
    "changes",
)


def receipt(row: Row) -> dict[str, Any]:
    """What erase gives: how much of what went, and who did it; no id of the scope."""
    found = {"id": str(row["id"]), "scope_digest": row["scope_digest"]}
    found |= {key: row[key] for key in ERASED}
    found |= {key: row[key] for key in ("actor",) if row[key] is not None}
    found |= {key: row[key] for key in ("database_role", "application_name")}
    return found | {"created_at": moment(row["recorded_at"])}


def change(row: Row) -> dict[str, Any]:
    """What changes_since gives of one change."""
    return {
        "cursor": row["cursor"],
        "id": str(row["id"]),
        "memory_id": str(row["memory_id"]),
        "version": row["version"],
        "event": row["event"],
        "old_memory": row["old_memory"],
        "new_memory": row["new_memory"],
        "changed_keys": row["changed_keys"],
        "old_state": row["old_state"],
        "new_state": row["new_state"],
        "user_id": row["user_id"],
        "agent_id": row["agent_id"],
        "run_id": row["run_id"],
        "change_id": None if row["change_id"] is None else str(row["change_id"]),
        "operation": row["operation"],
        "actor": row["actor"],
        "transaction_id": row["transaction_id"],
        "database_role": row["database_role"],
        "application_name": row["application_name"],
        "recorded_at": moment(row["recorded_at"]),
    }


def message(row: Row) -> dict[str, Any]:
    """What messages gives of one message."""
    return {
        "role": row["role"],
        "content": row["content"],
        "name": row["name"],
        "created_at": moment(row["created_at"]),
    }


def scope(row: Row) -> dict[str, Any]:
    """What scopes gives of one user, agent or run."""
    return {
        "id": row["id"],
        "type": row["kind"],
        "total_memories": row["memories"],
        "created_at": moment(row["first_created_at"]),
        "updated_at": moment(row["last_updated_at"]),
    }


def added(rows: list[Row], spoken: Sequence[Message] | None) -> dict[str, Any]:
    """What add gives: what was stored and, only where there is something, what was not and why.

    `spoken`: the message of each fact, where they were stored word for word.
    """
    results = []
    skipped = []
    for row in rows:
        item = {"id": str(row["id"]), "memory": row["text"]}
        if row["event"] != "ADD":
            skipped.append({**item, "reason": row["reason"]})
            continue
        item["event"] = "ADD"
        if spoken is not None:
            message = spoken[row["fact"] - 1]
            item["actor_id"], item["role"] = message.name, message.role
        results.append(item)
    found: dict[str, Any] = {"results": results}
    if skipped:
        found["skipped"] = skipped
    return found
