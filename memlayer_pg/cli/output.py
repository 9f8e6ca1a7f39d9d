"""What a command shows: JSON for programs; tables, bars and diffs for people.

Memories hold what anybody said, so their text is never read as markup, and control characters,
which could move the cursor or worse, are shown as pictures of themselves. Bars and colours are for
terminals only.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, TextIO

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

PICTURES = {code: 0x2400 + code for code in range(32)} | {127: 0x2421, 9: " ", 10: "\n", 13: None}
PICTURES |= dict.fromkeys(range(0x80, 0xA0), 0xFFFD)

BLANKS = re.compile(r" +$", re.MULTILINE)

LONGEST = 500
"""Characters of one memory that a table shows; `memlayer get` shows all."""


class Trimmed:
    """A stream that lets no line end in blanks, with which tables are filled up."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(BLANKS.sub("", text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def console(*, stderr: bool = False) -> Console:
    """Where tables and bars are drawn."""
    from rich.console import Console

    from memlayer_pg.cli.drawing import Paper

    stream = sys.stderr if stderr else sys.stdout
    if stream.isatty():
        return Console(file=stream, markup=False, emoji=False, highlight=False)
    file: Any = Trimmed(stream)
    return Paper(file=file, markup=False, emoji=False, highlight=False)


def as_json(value: Any, indent: int | None = 2) -> None:
    """Write a result to stdout as JSON; on one line without an `indent`."""
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    text = json.dumps(value, ensure_ascii=not unicode, indent=indent, default=_plain)
    # half a surrogate pair, from a shell that passed bytes which are no text
    click.echo(text.encode("utf-8", "replace").decode())


def _plain(value: Any) -> str:
    if isinstance(value, datetime):
        value = value.astimezone(UTC)  # whatever time zone the session has
    return value.isoformat() if isinstance(value, date) else str(value)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Say on stderr what takes a moment, for as long as it takes; only on a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    with console(stderr=True).status(f"{what} …"):
        yield


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[int, int | None], None] | None]:
    """A bar on stderr, where that is a terminal: to be told how many are done, and of how many
    (None: nobody knows)."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), Remaining())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done, of: bar.update(task, completed=done, total=of)


def shown(text: str, most: int | None = None) -> str:
    """A text that is safe to show, cut after `most` characters."""
    text = text.rstrip()
    if most is not None and len(text) > most:
        text = text[: most - 1].rstrip() + "…"
    return text.translate(PICTURES)


def one_line(text: str, most: int = LONGEST) -> str:
    """The same without line breaks."""
    return shown(" ".join(text.split()), most)


def minute(moment: str | datetime | None) -> str:
    """A moment (in ISO 8601: of UTC) as far as people read it: `2026-03-01 17:05`, in UTC."""
    text = _plain(moment) if isinstance(moment, datetime) else moment or ""
    return text[:16].replace("T", " ")


def grid(*columns: str) -> Table:
    """A table with a line below its head; a column named with a leading ">" is set right."""
    from rich import box

    from memlayer_pg.cli.drawing import Grid

    table = Grid(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for name in columns:
        right = name.startswith(">")
        last = name == columns[-1]
        table.add_column(
            name.lstrip(">"),
            justify="right" if right else "left",
            overflow="fold",
            no_wrap=not last,
            ratio=1 if last else None,
        )
    return table


def about(item: Mapping[str, Any], *extra: str) -> Text:
    """The line below a memory: its id, whose it is, and what else there is to say."""
    from rich.text import Text

    parts = [str(item["id"])]
    parts += [
        f"{name} {shown(str(value))}"
        for name, key in (("user", "user_id"), ("agent", "agent_id"), ("run", "run_id"))
        if (value := item.get(key)) is not None
    ]
    if speaker := item.get("role"):
        name = item.get("actor_id")
        parts.append(f"said by {shown(f'{name}, {speaker}' if name else speaker)}")
    if day := item.get("expiration_date"):
        parts.append(f"until {day}")
    if newer := item.get("superseded_by"):
        parts.append(f"superseded by {newer}")
    if item.get("metadata"):
        parts.append(one_line(json.dumps(item["metadata"], ensure_ascii=False), 200))
    return Text(" · ".join([*parts, *extra]), style="dim")


def wording(item: Mapping[str, Any]) -> Text:
    """The text of a memory; one that a newer memory updates or contradicts is marked as such."""
    from rich.text import Text

    text = shown(item["memory"], LONGEST)
    if item.get("superseded_by") is None:
        return Text(text)
    return Text.assemble(("(superseded) ", "yellow"), (text, "dim"))


def memories(found: list[Mapping[str, Any]]) -> Table:
    """Memories as a table, with when they were stored."""
    from rich.console import Group

    table = grid("stored (UTC)", "memory")
    for item in found:
        table.add_row(minute(item["created_at"]), Group(wording(item), about(item)))
    return table


def pairs(values: Mapping[str, Any]) -> Table:
    """Names and values, one pair a line."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in values.items():
        if not isinstance(value, str):
            value = json.dumps(value, ensure_ascii=False, default=_plain)
        table.add_row(name, Text(shown(value)))
    return table


def rows(found: list[dict[str, Any]], columns: list[str]) -> Table:
    """Rows of a query, as psql would show them."""
    from rich.text import Text

    table = grid(*columns)
    for row in found:
        table.add_row(*(Text(one_line(_cell(row[name]))) for name in columns))
    return table


def _cell(value: Any) -> str:
    return "" if value is None else str(value)
