"""`memlayer export`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from memlayer_pg.checks import SCOPE_IDS, scope_id
from memlayer_pg.cli import output, places
from memlayer_pg.cli.scope import scope_options
from memlayer_pg.cli.settings import Settings, WithSettings, pass_settings

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[Any]


@click.command(cls=WithSettings)
@click.argument("file", required=False, type=click.Path(dir_okay=False, allow_dash=True))
@scope_options
@click.option("--history", is_flag=True, help="With histories, those of deleted memories too.")
@pass_settings
def export(
    settings: Settings,
    file: str | None,
    user_id: str | None,
    agent_id: str | None,
    run_id: str | None,
    history: bool,
) -> None:
    """Write memories to FILE or stdout, one a line as JSON.

    All of a tenant, or those that carry at least the given ids; expired ones too, in the order of
    their ids, as they stood at one moment. With vectors, entities and links: what `memlayer import`
    reads. --history brings the versions along, and those of deleted memories. Messages are not part
    of it; a pg_dump has all. FILE is replaced when all is written.
    """
    config = settings.config()
    given = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
    ids = {f"p_{name}": scope_id(name, given[name]) for name in SCOPE_IDS}
    to_file = file not in (None, "-")
    with (
        places.connected(config) as conn,
        _opened(file if to_file else None) as stream,
        output.progress("exporting", None) as told,
    ):
        count = 0
        for count, line in enumerate(lines(conn, config.tenant, ids, history), 1):
            stream.write(line.encode() + b"\n")
            if told is not None and count % 100 == 0:
                told(count, None)
    if to_file and settings.as_json:
        output.as_json({"exported": count})
    elif to_file:
        click.echo(f"memories exported: {count}")


def lines(
    conn: Connection, tenant: str, ids: dict[str, str | None], history: bool
) -> Iterator[str]:
    """The memories of a tenant as lines, all as they stood at one moment."""
    from memlayer_pg import db
    from memlayer_pg.exporting import gone, line
    from memlayer_pg.moving.joined import Following

    with db.translated(), conn.transaction():
        conn.execute("set transaction isolation level repeatable read, read only")
        args = {"p_tenant": tenant, **ids}
        memories = _pages(conn, "export_memories", "id", args)
        if not history:
            yield from map(line, memories)
            return
        past = Following(
            (str(row["memory_id"]), row)
            for row in _pages(conn, "export_history", "memory_id", args)
        )
        for memory in memories:
            id_ = str(memory["id"])
            yield from (gone(row) for _, row in past.upto(id_))
            found = past.at(id_)
            yield line(memory, None if found is None else found["events"])
        yield from (gone(row) for _, row in past.upto(None))


def _pages(
    conn: Connection, function: str, key: str, args: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """The rows of a function that gives them in the order of ids, a page after another."""
    from memlayer_pg import db
    from memlayer_pg.effects import Call
    from memlayer_pg.exporting import PAGE

    after = None
    while True:
        rows = db.perform(conn, Call(function, {**args, "p_after": after, "p_limit": PAGE}))
        yield from rows
        if len(rows) < PAGE:
            return
        after = rows[-1][key]


@contextmanager
def _opened(name: str | None) -> Iterator[IO[bytes]]:
    """Where to write: stdout, or a file that takes its name when it is whole."""
    if name is None:
        yield sys.stdout.buffer
        return
    path = Path(name)
    if path.exists() and not path.is_file():  # /dev/stdout, a named pipe
        with path.open("wb") as stream:
            yield stream
        return
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with unfinished.open("xb") as stream:
            yield stream
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
