"""The clients of a long load: each has a user of its own and writes down what was confirmed."""

from __future__ import annotations

import random
import threading
import time
from array import array
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from benchmarks.text import Writer
from memlayer_pg import DatabaseError, Memory, MemoryNotFound

MIX = {"search": 45, "add": 10, "add_verbatim": 15, "update": 15, "delete": 8, "restore": 7}
"""Of a hundred calls."""
KEPT = 300
"""Of the deleted memories of a user, how many are known."""
PAUSE = 0.2
"""Seconds after a call that failed."""


@dataclass
class Calls:
    """The calls of one operation: when those that went well began, in seconds since the begin, and
    how long they took; and what the others ended with. Small, for the memory of this process is
    measured."""

    begun: array[float] = field(default_factory=lambda: array("d"))
    took: array[float] = field(default_factory=lambda: array("d"))
    errors: Counter[str] = field(default_factory=Counter)


@dataclass
class Ledger:
    """What one client knows of its user's memories.

    `unsure` are ids whose last call was cut off: it may have been done or not. `strays` counts the
    calls whose new memories, if any, have ids that nobody was told. `deleted`: the last ones only.
    """

    user: str
    texts: dict[str, str] = field(default_factory=dict)
    deleted: dict[str, str] = field(default_factory=dict)
    unsure: set[str] = field(default_factory=set)
    strays: int = 0

    def wrong(self, stored: dict[str, str]) -> list[str]:
        """What was confirmed and does not stand in the database as it was confirmed."""
        found = []
        for id_, text in self.texts.items():
            if id_ not in self.unsure and stored.get(id_) != text:
                found.append(f"{self.user}: {id_} is not what was confirmed")
        for id_ in self.deleted.keys() - self.unsure:
            if id_ in stored:
                found.append(f"{self.user}: {id_} was deleted and is there")
        unknown = len(stored.keys() - self.texts.keys() - self.deleted.keys())
        if unknown > 3 * self.strays:
            found.append(f"{self.user}: {unknown} memories that nobody stored")
        return found


class Client:
    """Makes one call after the other until it is told to stop."""

    def __init__(
        self, memory: Memory, writer: Writer, number: int, seed: int, memories: int
    ) -> None:
        self.ledger = Ledger(f"user{number}")
        self.calls = {operation: Calls() for operation in MIX}
        self._memory = memory
        self._writer = writer
        self._memories = memories
        self._chance = random.Random(f"{seed}:{number}")
        self._made = 0

    def run(self, begin: float, stop: threading.Event) -> None:
        while not stop.is_set():
            operation = self._next()
            begun, error = time.perf_counter(), ""
            try:
                getattr(self, f"_{operation}")()
            except DatabaseError as caught:
                error = f"{type(caught).__name__} {caught.sqlstate or 'connection lost'}"
            took = time.perf_counter() - begun
            calls = self.calls[operation]
            if error:
                calls.errors[error] += 1
                time.sleep(PAUSE)
            else:
                calls.begun.append(begun - begin)
                calls.took.append(took)

    def _next(self) -> str:
        full = len(self.ledger.texts) > self._memories
        if full and self._chance.random() < 0.3:
            return "delete"
        [operation] = self._chance.choices(list(MIX), list(MIX.values()))
        if operation in ("update", "delete") and not self.ledger.texts:
            return "add_verbatim"
        if operation == "restore" and not self.ledger.deleted:
            return "search"
        return operation

    def _search(self) -> None:
        question = self._writer.question(self.ledger.user, self._chance.randrange(1000))
        found = self._memory.search(question, filters={"user_id": self.ledger.user})["results"]
        for item in found:
            if item["user_id"] != self.ledger.user:
                raise AssertionError("a search found what belongs to another user")

    def _add(self) -> None:
        self._made += 1
        talk = self._writer.talk(self.ledger.user, self._made)
        self._added(lambda: self._memory.add(talk, user_id=self.ledger.user))

    def _add_verbatim(self) -> None:
        self._made += 1
        text = f"{self._writer.fact(self.ledger.user, self._made).text}, {self._made}"
        self._added(lambda: self._memory.add(text, user_id=self.ledger.user, infer=False))

    def _added(self, add: Callable[[], dict[str, Any]]) -> None:
        try:
            results = add()["results"]
        except DatabaseError:
            self.ledger.strays += 1
            raise
        for item in results:
            self.ledger.texts[item["id"]] = item["memory"]

    def _update(self) -> None:
        self._made += 1
        id_ = self._chance.choice(list(self.ledger.texts))
        text = f"{self._writer.fact(self.ledger.user, self._made).text}, again {self._made}"
        if self._sure(id_, lambda: self._memory.update(id_, text)):
            self.ledger.texts[id_] = text

    def _delete(self) -> None:
        id_ = self._chance.choice(list(self.ledger.texts))
        if self._sure(id_, lambda: self._memory.delete(id_)):
            self.ledger.deleted[id_] = self.ledger.texts.pop(id_)
            if len(self.ledger.deleted) > KEPT:
                oldest = next(iter(self.ledger.deleted))
                del self.ledger.deleted[oldest]

    def _restore(self) -> None:
        id_ = self._chance.choice(list(self.ledger.deleted))
        if self._sure(id_, lambda: self._memory.restore(id_)):
            self.ledger.texts[id_] = self.ledger.deleted.pop(id_)

    def _sure(self, id_: str, call: Callable[[], object]) -> bool:
        """Make a call about one memory; whether its end is known."""
        try:
            call()
        except DatabaseError as error:
            # "No such memory" is an answer, and right where an earlier call was cut off.
            if not isinstance(error, MemoryNotFound) or id_ not in self.ledger.unsure:
                self.ledger.unsure.add(id_)
                raise
            return False
        return True
