"""Looking afterwards whether everything arrived: each memory as mem0 has it, beside ours."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from memlayer_pg import checks
from memlayer_pg.checks import SCOPE_IDS
from memlayer_pg.effects import Flow, Row, call
from memlayer_pg.flows import Store
from memlayer_pg.importing import Progress, ahead
from memlayer_pg.importing_rows import TEXTS, Placed, Ready, Scope

PAGE = 500
QUESTIONS = 10
COLUMNS = ("text", *SCOPE_IDS, *TEXTS, "metadata", "created_at", "expires_on")
SHOWN = 20
"""Differences that are named."""


@dataclass
class Comparison:
    """What was found so far."""

    compared: int = 0
    same: int = 0
    missing: int = 0
    differences: list[dict[str, Any]] = field(default_factory=list)
    different: int = 0
    _theirs: Any = field(default_factory=hashlib.sha256)
    _ours: Any = field(default_factory=hashlib.sha256)
    _questions: list[tuple[str, Scope]] = field(default_factory=list)
    _every: int = 1

    def look(self, theirs: Ready, ours: Row | None) -> None:
        """Compare one memory."""
        self.compared += 1
        id_ = theirs.fields["id"]
        _feed(self._theirs, id_, theirs.fields["text"], theirs.embedding)
        if ours is None:
            self.missing += 1
            self._differ(id_, ["it is not there"])
            return
        self._ask(id_, theirs)
        _feed(self._ours, id_, ours["text"], ours["embedding"] if theirs.embedding else None)
        wrong = [name for name in COLUMNS if _here(ours, name) != _there(theirs, name)]
        if theirs.embedding is not None and ours["embedding"] != theirs.embedding:
            wrong.append("embedding")
        if theirs.entities is not None and len(ours["entities"]) < len(
            {named.name.lower() for named in theirs.entities}
        ):
            wrong.append("entities")
        if wrong:
            self.different += 1
            self._differ(id_, wrong)
        else:
            self.same += 1

    def sample(self) -> list[tuple[str, Scope]]:
        """Some memories with vectors, from all over the store."""
        return self._questions[:QUESTIONS]

    def result(self) -> dict[str, Any]:
        """For people and programs."""
        return {
            "compared": self.compared,
            "same": self.same,
            "different": self.different,
            "missing": self.missing,
            "differences": self.differences,
            "checksums": {"mem0": self._theirs.hexdigest(), "here": self._ours.hexdigest()},
        }

    def _differ(self, id_: str, columns: list[str]) -> None:
        if len(self.differences) < SHOWN:
            self.differences.append({"id": id_, "columns": columns})

    def _ask(self, id_: str, theirs: Ready) -> None:
        # As many from the first half as from the second, without knowing how many there are.
        if theirs.embedding is None or self.compared % self._every:
            return
        self._questions.append((id_, theirs.scope))
        if len(self._questions) == 2 * QUESTIONS:
            self._questions = self._questions[::2]
            self._every *= 2


def compare(
    store: Store,
    rows: Iterator[Placed],
    found: Comparison,
    on_progress: Progress | None,
) -> Flow[None]:
    """Compare all, both sides being read in the order of ids."""
    page: list[Row] = []
    place = 0
    for placed in ahead(rows):
        theirs = placed.memory
        if not isinstance(theirs, Ready) or theirs.is_gone:
            continue
        id_ = theirs.fields["id"]
        while place == len(page) or str(page[place]["id"]) < id_:
            if place < len(page):
                place += 1
                continue
            # What comes before this memory is not of mem0.
            page = yield from call(
                "export_memories", p_tenant=store.tenant, p_after=_before(id_), p_limit=PAGE
            )
            place = 0
            if not page:
                break
        ours = page[place] if place < len(page) and str(page[place]["id"]) == id_ else None
        found.look(theirs, ours)
        if on_progress is not None and found.compared % PAGE == 0:
            on_progress(found.compared, None)


def _before(id_: str) -> str | None:
    """The id before an id."""
    number = int(id_.replace("-", ""), 16)
    if number == 0:
        return None
    digits = f"{number - 1:032x}"
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return "-".join(parts)


def _feed(digest: Any, id_: str, text: str, embedding: bytes | None) -> None:
    digest.update(id_.encode() + b"\0" + text.encode() + b"\0" + (embedding or b"") + b"\1")


def _here(row: Row, name: str) -> Any:
    value = row[name]
    return value or None if name == "metadata" else value


def _there(ready: Ready, name: str) -> Any:
    value = ready.fields.get(name)
    if name == "created_at":
        return checks.instant(name, value)
    if name == "expires_on":
        return checks.expiration_date(value)
    return value
