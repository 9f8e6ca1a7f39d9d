"""The entities of one write: each once, numbered for the facts that name it."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from memlayer_pg import names

log = logging.getLogger("memlayer_pg")

MOST = 8
"""Names taken from one text where no language model names its entities."""
LONGEST = 400
"""Bytes the name of an entity may have."""


class Entities:
    """The entities of one write, each once, and where in their list a fact finds its own."""

    def __init__(self) -> None:
        self.rows: list[dict[str, str]] = []
        self._places: dict[str, int] = {}

    @property
    def names(self) -> list[str]:
        return [row["name"] for row in self.rows]

    def places(self, found: Sequence[tuple[str, str]]) -> list[int]:
        """The places, from 1, of these names with their types."""
        places = []
        for name, kind in found:
            name = " ".join(name.split())
            if not name or len(name.encode()) > LONGEST:
                log.warning("an entity without a usable name is left out")
                continue
            place = self._places.setdefault(name.casefold(), len(self.rows) + 1)
            if place > len(self.rows):
                self.rows.append({"name": name, "type": kind})
            if place not in places:
                places.append(place)
        return places


def named(text: str) -> list[tuple[str, str]]:
    """The names that stand in a text, as entities of no particular type."""
    return [(name, "thing") for name in names.candidates(text, MOST)]
