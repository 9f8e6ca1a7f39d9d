"""What is asked of contenders: the same of all of them, in the same order."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from benchmarks.text import CATEGORIES, Writer

Arguments = dict[str, Any]

OPERATIONS = (
    "search",
    "search_filtered",
    "add",
    "add_verbatim",
    "add_verbatim_10",
    "update",
    "update_metadata",
    "delete",
    "history",
    "get",
)
"""In this order: what deletes comes last but for what only looks."""
COUNTED = (*OPERATIONS, "add_first")
"""Operations whose work for others is counted: `add_first` is for a user nothing is known of."""
CLIENTS_MATTER = ("search", "add", "add_verbatim")
"""Operations that are measured with several clients too."""


class Script:
    """Makes arguments of operations on the memories of users.

    The older half of a user's memories is only read; of the younger half each is changed or deleted
    once.
    """

    def __init__(self, writer: Writer, users: Sequence[str]) -> None:
        self._writer = writer
        self._users = list(users)
        self._chance = random.Random(writer.seed)
        self._number = itertools.count(1)
        half = writer.per_user // 2
        self._read = range(max(half, 1))
        spare = [(user, n) for n in range(half, writer.per_user) for user in self._users]
        self._chance.shuffle(spare)
        self._spare = iter(spare)

    def take(self, operation: str, calls: int) -> list[Arguments]:
        """Arguments for this many calls; fewer when there are no more memories to change."""
        make: Callable[[], Arguments] = getattr(self, f"_{operation}")
        return list(itertools.islice(_until_empty(make), calls))

    def _user(self) -> str:
        return self._chance.choice(self._users)

    def _search(self) -> Arguments:
        user = self._user()
        return {"user": user, "question": self._writer.question(user, next(self._number))}

    def _search_filtered(self) -> Arguments:
        return {**self._search(), "category": f"c{self._chance.randrange(CATEGORIES)}"}

    def _add(self) -> Arguments:
        return {"user": self._user(), "number": next(self._number)}

    def _add_first(self) -> Arguments:
        return {"user": f"stranger{next(self._number)}", "number": next(self._number)}

    def _add_verbatim(self, texts: int = 1) -> Arguments:
        user = self._user()
        return {"user": user, "texts": [self._new_text(user) for _ in range(texts)]}

    def _add_verbatim_10(self) -> Arguments:
        return self._add_verbatim(10)

    def _update(self) -> Arguments:
        user, place = next(self._spare)
        return {"id": str(self._writer.fact(user, place).id), "text": self._new_text(user)}

    def _update_metadata(self) -> Arguments:
        user, place = next(self._spare)
        return {"id": str(self._writer.fact(user, place).id), "metadata": {"importance": 9}}

    def _delete(self) -> Arguments:
        user, place = next(self._spare)
        return {"id": str(self._writer.fact(user, place).id)}

    def _get(self) -> Arguments:
        place = self._chance.choice(self._read)
        return {"id": str(self._writer.fact(self._user(), place).id)}

    def _history(self) -> Arguments:
        return self._get()

    def _new_text(self, user: str) -> str:
        return self._writer.fact(user, 2_000_000 + next(self._number)).text


def method(operation: str) -> str:
    """The contender's operation for one of ours: some differ by their arguments only."""
    return operation.removesuffix("_10").removesuffix("_first")


def _until_empty(make: Callable[[], Arguments]) -> Iterator[Arguments]:
    while True:
        try:
            yield make()
        except StopIteration:
            return
