"""A console and a table that cut nothing: ids are copied, and found again with grep."""

from __future__ import annotations

from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table

LEAST = 20
"""Columns that the last column of a table has at least where lines may be of any length."""

NARROW = 16
"""Below that many columns for the last one, a terminal folds all the others, too."""


class Paper(Console):
    """Where nobody watches, lines may be longer than the width that text is folded at."""

    def print(self, *objects: Any, **settings: Any) -> None:
        super().print(*objects, **{"crop": False, **settings})


class Grid(Table):
    """A table whose columns but the last are as wide as what is in them, whenever that can be.

    Where it cannot: on a terminal they are folded, in a file or a pipe the lines are longer.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        free = options.update(max_width=100_000)
        fixed = sum(self._measure_column(console, free, column).maximum for column in self.columns)
        fixed -= self._measure_column(console, free, self.columns[-1]).maximum
        fixed += self._extra_width
        if not console.is_terminal:
            options = options.update(max_width=max(options.max_width, fixed + LEAST))
        elif options.max_width < fixed + NARROW:
            for column in self.columns:
                column.no_wrap = False
        yield from super().__rich_console__(console, options)
