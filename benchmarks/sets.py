"""Sets of memories, questions and right answers, read from a folder."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Doc:
    """One memory: `scope` is the user it belongs to.

    `session`: what was said in one go, for a set that is a conversation ("Ann: I moved.").
    """

    id: str
    scope: str
    text: str
    timestamp: str | None
    session: str | None = None

    @property
    def speaker(self) -> str:
        """The name before the first colon."""
        return self.text.partition(":")[0]


@dataclass(frozen=True)
class Question:
    """One question, asked in its own scope; `relevant`: the ids of the memories that answer it."""

    scope: str
    text: str
    relevant: frozenset[str]


@dataclass(frozen=True)
class RetrievalSet:
    """A set by the name of its folder; `asked`: what every line of its questions says."""

    name: str
    asked: list[str]
    docs: list[Doc]
    questions: list[Question]

    @property
    def is_conversation(self) -> bool:
        """Whether every memory is what somebody said in a session."""
        return all(doc.session and re.match(r"[^:]{1,40}: ", doc.text) for doc in self.docs)


class NoSets(Exception):
    """A folder holds no set."""


def read(folder: Path, names: Sequence[str] = (), limit: int | None = None) -> list[RetrievalSet]:
    """The sets of a folder: each a folder in it, or itself, with docs.jsonl and queries.jsonl.

    `names`: only these. `limit`: only so many questions of each, evenly taken. Questions without a
    right answer are left out. NoSets when there is none.
    """
    found = [
        _read(docs.parent, limit)
        for docs in sorted([*folder.glob("docs.jsonl"), *folder.glob("*/docs.jsonl")])
        if not names or docs.parent.name in names
    ]
    if not found:
        raise NoSets(f"{folder}: no folder with docs.jsonl and queries.jsonl, nor is it one")
    return found


def _read(folder: Path, limit: int | None) -> RetrievalSet:
    docs = [
        Doc(
            str(row["id"]), str(row["scope"]), row["text"], row.get("timestamp"), row.get("session")
        )
        for row in _rows(folder / "docs.jsonl")
    ]
    asked = _rows(folder / "queries.jsonl")
    questions = [
        Question(str(row["scope"]), row["text"], frozenset(map(str, row["relevant"])))
        for row in asked
        if row["relevant"]
    ]
    if limit is not None and limit < len(questions):
        questions = [questions[n * len(questions) // limit] for n in range(limit)]
    return RetrievalSet(folder.name, [row["text"] for row in asked], docs, questions)


def _rows(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def recall(found: Sequence[str], relevant: frozenset[str], k: int) -> float:
    """The share of the relevant that are among the first k."""
    return len(relevant & set(found[:k])) / len(relevant)


def ndcg(found: Sequence[str], relevant: frozenset[str], k: int) -> float:
    """How early the relevant come among the first k, against the best there could be."""
    gain = sum(1 / math.log2(n + 2) for n, id_ in enumerate(found[:k]) if id_ in relevant)
    return gain / sum(1 / math.log2(n + 2) for n in range(min(k, len(relevant))))
