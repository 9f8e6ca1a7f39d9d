"""The versions of a memory that brings its history along, as import_memories takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from memlayer_pg import checks, jsonable
from memlayer_pg.errors import InputError

BEGINNINGS = ("ADD", "BASELINE")
TEXTS = ("context", "memory_type", "role", "actor_id", "attributed_to")
MOMENTS = ("observed_at", "created_at", "updated_at")


def earlier(
    fields: Mapping[str, Any], events: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, Any], ...]:
    """The versions before the one that stands, or all of a memory that was deleted.

    `fields`: the columns that it has, or had at last. `events`: what happened to it, oldest first:
    `event`, `at`, and `memory` (the text from then on) or `state` (all columns of then). The first
    may say its `version`. InputError where one does not follow from the one before.
    """
    if not events:
        return ()
    found: list[dict[str, Any]] = []
    stands = False
    for number, event in enumerate(events, first(events)):
        kind = event.get("event")
        follows = kind in ("UPDATE", "DELETE") if stands else kind in BEGINNINGS
        if not follows or (kind == "BASELINE" and found):
            raise InputError(
                f"history[{len(found)}]: {kind!r} does not follow",
                suggestion="ADD comes first and after DELETE, UPDATE and DELETE after the others.",
            )
        stands = kind != "DELETE"
        at = moment(event)
        version = {"version": number, "event": kind, "recorded_at": at, "updated_at": at}
        # The last state of a memory that stands is the memory.
        is_past = stands and event is not events[-1]
        found.append({**fields, **version, **(_state(event) if is_past else {})})
    return tuple(found[:-1] if stands else found)


def last(events: Sequence[Mapping[str, Any]], updated: datetime | None) -> dict[str, Any]:
    """The columns of a memory that follow from the last of its events."""
    at = moment(events[-1])
    return {
        "version": first(events) + len(events) - 1,
        "event": events[-1]["event"],
        "recorded_at": at,
        "updated_at": updated.isoformat() if updated else at,
    }


def first(events: Sequence[Mapping[str, Any]]) -> int:
    """The version of the first event: more than 1 where retention took older ones away."""
    return checks.version("history: version", events[0].get("version")) or 1


def moment(event: Mapping[str, Any]) -> str:
    """When it happened."""
    at = checks.instant("history: at", event.get("at"))
    if at is None:
        raise InputError("an event of history does not say when it happened", suggestion="Set at.")
    return at.isoformat()


def _state(event: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that an event says a memory had from then on."""
    given = event.get("state")
    if given is None:
        return {"text": _text(event.get("memory"))}
    if not isinstance(given, Mapping):
        raise InputError("history: state must be an object")
    expires_on = checks.expiration_date(given.get("expires_on"))
    state: dict[str, Any] = {
        "text": _text(given.get("text")),
        "metadata": jsonable.dictionary("history: metadata", given.get("metadata") or {}),
        "expires_on": expires_on and expires_on.isoformat(),
    }
    state |= {name: checks.optional_text(name, given.get(name)) for name in TEXTS}
    for name in MOMENTS:
        at = checks.instant(name, given.get(name))
        state[name] = at and at.isoformat()
    return state


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise InputError("an event of history has no text", suggestion="Set memory.")
    return checks.storable("a text of history", value)
