"""Three streams in the order of ids, put together as they come."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Following(Generic[T]):
    """A stream of ids and values that follows another one, whose ids ascend as well."""

    def __init__(self, items: Iterator[tuple[str, T]]) -> None:
        self._items = items
        self._next = next(items, None)

    def upto(self, id_: str | None) -> Iterator[tuple[str, T]]:
        """The items before an id, all that are left without one."""
        while self._next is not None and (id_ is None or self._next[0] < id_):
            item, self._next = self._next, next(self._items, None)
            yield item

    def at(self, id_: str) -> T | None:
        """The value of an id; those before are passed over."""
        for _ in self.upto(id_):
            pass
        if self._next is None or self._next[0] != id_:
            return None
        (_, value), self._next = self._next, next(self._items, None)
        return value
