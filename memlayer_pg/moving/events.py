"""What mem0 wrote down of a memory, as a history in which each step follows from the one before."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from memlayer_pg.moving.defects import Defects

Step = dict[str, Any]
"""As import_memories takes it: `event`, `memory` and `at`."""


@dataclass(frozen=True, slots=True)
class Event:
    """A row of mem0's history."""

    event: str
    old: str | None
    new: str | None
    created_at: datetime | None
    updated_at: datetime | None
    actor_id: str | None
    role: str | None

    @property
    def at(self) -> datetime | None:
        """When it happened: an ADD may have the time of the memory alone."""
        return self.updated_at or self.created_at


def standing(
    past: list[Event] | None,
    text: str,
    created: datetime | None,
    updated: datetime | None,
    where: str,
    defects: Defects,
) -> list[Step]:
    """The history of a memory that stands, and says `text`. `past`: None without any record."""
    if not past:
        if past is not None:
            defects.note("no history", where)
        start = created or updated or datetime.now(UTC)
        return [_step("ADD", text, start)]
    steps = _chained(past, created, where, defects)
    while steps and steps[-1]["event"] == "DELETE":
        defects.note("history says deleted, and it stands", where)
        steps.pop()
    at = updated or created or past[-1].at or datetime.now(UTC)
    if not steps:
        steps.append(_step("ADD", text, created or at))
    elif steps[-1]["memory"] != text:
        defects.note("history with a gap", where)
        steps.append(_step("UPDATE", text, at))
    return steps


def deleted(past: list[Event], where: str, defects: Defects) -> list[Step] | None:
    """The history of a memory that does not stand; None where nothing can be made of it."""
    steps = _chained(past, None, where, defects)
    if not any("memory" in step for step in steps):
        return None
    if steps[-1]["event"] != "DELETE":
        defects.note("history ends without a deletion", where)
        steps.append({"event": "DELETE", "at": steps[-1]["at"]})
    defects.note("history of a deleted memory", where)
    return steps


def _chained(
    past: list[Event], created: datetime | None, where: str, defects: Defects
) -> list[Step]:
    steps: list[Step] = []
    now: str | None = None
    for event in past:
        at = event.at or created or (steps[-1]["at"] if steps else datetime.now(UTC))
        wanted = event.new if event.event == "ADD" else event.old
        if event.event not in ("ADD", "UPDATE", "DELETE") or (
            event.event != "DELETE" and event.new is None
        ):
            defects.note("event unknown", where)
            continue
        if event.event == "ADD" and now is None:
            steps.append(_step("ADD", event.new, at))
            now = event.new
            continue
        if now is None and wanted is None:
            defects.note("event unknown", where)
            continue
        if wanted is not None and now != wanted:
            defects.note("history with a gap", where)
            before = event.created_at or at
            kind = "UPDATE" if now is not None else "ADD"
            steps.append(_step(kind, wanted, before if kind == "ADD" else at))
            now = wanted
        if event.event == "DELETE":
            steps.append({"event": "DELETE", "at": at})
            now = None
        elif event.event == "UPDATE":
            steps.append(_step("UPDATE", event.new, at))
            now = event.new
    return steps


def _step(event: str, text: str | None, at: datetime) -> Step:
    return {"event": event, "memory": text, "at": at}
