"""`memlayer feed`: what changes, as it changes."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from memlayer_pg.cli import output, places
from memlayer_pg.cli.settings import Settings, WithSettings, pass_settings

if TYPE_CHECKING:
    import psycopg

PAGE = 1000
INTERVAL = 1.0
"""Seconds after which --follow looks again, unless Postgres says that there is something."""


@click.command(cls=WithSettings)
@click.option("--cursor", help="Go on behind this change. Default: from the first one on.")
@click.option("--limit", type=click.IntRange(min=1), help="How many at most. Default: all.")
@click.option("--follow", is_flag=True, help="Wait for more; Ctrl-C ends it.")
@pass_settings
def feed(settings: Settings, cursor: str | None, limit: int | None, follow: bool) -> None:
    """Show what changed, in order, each change once.

    With --json a line is a change, and its "cursor" the place to go on from. A change appears when
    the transactions that were open when it was made have ended.
    """
    config = settings.config()
    show = _as_line if settings.as_json else _as_text
    with places.connected(config) as conn:
        for change in _changes(conn, config.tenant, cursor, limit, follow):
            show(change)
            cursor = change["cursor"]
    if not settings.as_json:
        click.echo("There are no changes." if cursor is None else f"go on with --cursor {cursor}")


def _changes(
    conn: psycopg.Connection[Any], tenant: str, cursor: str | None, limit: int | None, follow: bool
) -> Iterator[dict[str, Any]]:
    from memlayer_pg import db, shapes
    from memlayer_pg.effects import Call
    from memlayer_pg.feed import CHANNEL

    [[standby]] = conn.execute("select pg_is_in_recovery()")
    if follow and not standby:  # which takes no listeners
        conn.execute(f"listen {CHANNEL}")
    left = limit
    while left != 0:
        size = PAGE if left is None else min(PAGE, left)
        asked = {"p_tenant": tenant, "p_cursor": cursor, "p_limit": size}
        rows = db.perform(conn, Call("changes_since", asked))
        for row in rows:
            yield shapes.change(row)
            cursor = row["cursor"]
        left = None if left is None else left - len(rows)
        if len(rows) == size:
            continue
        if not follow:
            return
        sys.stdout.flush()
        next(conn.notifies(timeout=INTERVAL, stop_after=1), None)


def _as_line(change: Mapping[str, Any]) -> None:
    output.as_json(change, indent=None)


def _as_text(change: Mapping[str, Any]) -> None:
    from rich.text import Text

    from memlayer_pg.cli import diffing

    console = output.console()
    head = Text(f"{change['event']} v{change['version']}  ", style="bold")
    head.append(f"{output.minute(change['recorded_at'])} UTC · {diffing.by(change)}", style="dim")
    about = {**change, "id": change["memory_id"]}
    console.print(head, diffing.change(change, console), output.about(about), sep="\n")
