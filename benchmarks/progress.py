"""Progress bars, on stderr: what a benchmark finds goes to stdout."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

console = Console(stderr=True)


@contextmanager
def bar(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar of so many steps; what it gives is called with how many more are done."""
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
    ) as progress:
        task = progress.add_task(title, total=total)
        yield lambda steps: progress.advance(task, steps)
