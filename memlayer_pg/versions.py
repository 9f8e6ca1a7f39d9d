"""The versions of a memory that brings its history along, as memlayer.import_memories takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from memlayer_pg import checks
from memlayer_pg.errors import InputError

EVENTS = ("ADD", "UPDATE", "DELETE")


def earlier(
    fields: Mapping[str, Any], events: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, Any], ...]:
    """The versions before the one that stands, or all of a memory that was deleted.

    `fields`: the columns that it has, or had at last. `events`: what happened to it, oldest first:
    `event`, `memory` (the text from then on) and `at`. InputError where one does not follow from
    the one before.
    """
    if not events:
        return ()
    found = []
    stands = False
    for number, event in enumerate(events, 1):
        kind = event.get("event")
        if kind not in EVENTS or (kind == "ADD") == stands:
            raise InputError(
                f"history[{number - 1}]: {kind!r} does not follow",
                suggestion="An ADD comes first and after a DELETE, UPDATE and DELETE follow an ADD.",
            )
        stands = kind != "DELETE"
        at = moment(event)
        version = {"version": number, "event": kind, "recorded_at": at}
        if stands:
            text = checks.storable("the text", str(event.get("memory")))
            version |= {"text": text, "updated_at": at}
        found.append({**fields, **version})
    return tuple(found[:-1] if stands else found)


def last(events: Sequence[Mapping[str, Any]], updated: datetime | None) -> dict[str, Any]:
    """The columns of a memory that follow from the last of its events."""
    at = moment(events[-1])
    return {
        "version": len(events),
        "event": events[-1]["event"],
        "recorded_at": at,
        "updated_at": updated.isoformat() if updated else at,
    }


def moment(event: Mapping[str, Any]) -> str:
    """When it happened."""
    at = checks.instant("history: at", event.get("at"))
    if at is None:
        raise InputError("an event of history does not say when it happened", suggestion="Set at.")
    return at.isoformat()
