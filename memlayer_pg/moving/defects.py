"""What was found to be wrong in a store of mem0, and what is done with it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

EXAMPLES = 5
"""Ids that are named for each kind."""

DONE = {
    "no text": "left out",
    "nobody's": "left out; --user, --agent or --run gives them to somebody",
    "not storable": "left out",
    "id is no UUID": "stored under an id that follows from it; the old one is metadata.mem0_id",
    "no vector": "stored without one, for memlayer embed-pending",
    "vector not usable": "stored without one, for memlayer embed-pending",
    "expiration_date is no date": "never expires, as in mem0; the value stays in the metadata",
    "created_at is no time": "taken from the history, else now; the value stays in the metadata",
    "updated_at is no time": "taken from the history, else from created_at",
    "time without a zone": "read as UTC",
    "hash is not of the text": "made anew",
    "key of another type": "the value stays in the metadata",
    "characters Postgres does not keep": "replaced by U+FFFD",
    "fact stands twice": "both are kept, with their ids",
    "no history": "begins with the memory as it stands",
    "history with a gap": "the missing step is put in",
    "history says deleted, and it stands": "the deletion is left out",
    "history of a deleted memory": "kept by id; mem0 does not note whose it was",
    "history ends without a deletion": "a deletion is put in, at the last event",
    "history of what is no UUID": "left out",
    "event unknown": "left out",
    "entity without a usable name": "left out",
    "link to a memory that is not there": "left out",
    "message without text": "left out",
    "messages of a scope that cannot be read": "left out",
    "no table of entities": "nothing to move",
    "no table of history": "nothing to move",
    "no table of messages": "nothing to move",
}


@dataclass
class Defects:
    """How often each was found, and a few of the ids."""

    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def note(self, kind: str, where: str = "", times: int = 1) -> None:
        """One more (or so many more) of a kind."""
        if not times:
            return
        self.counts[kind] = self.counts.get(kind, 0) + times
        named = self.examples.setdefault(kind, [])
        if where and len(named) < EXAMPLES:
            named.append(where)

    def without(self, kinds: Iterable[str]) -> int:
        """How many there are of these kinds."""
        return sum(self.counts.get(kind, 0) for kind in kinds)

    def result(self) -> list[dict[str, Any]]:
        """For people and programs, in the order of `DONE`."""
        return [
            {
                "defect": kind,
                "count": self.counts[kind],
                "done": done,
                "examples": self.examples[kind],
            }
            for kind, done in DONE.items()
            if kind in self.counts
        ]
