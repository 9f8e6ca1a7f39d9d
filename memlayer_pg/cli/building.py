"""Making a vector index beside those who read and write, and watching it being made."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from memlayer_pg.cli import large, output, places
from memlayer_pg.cli.failures import Failed, say
from memlayer_pg.errors import DatabaseError

if TYPE_CHECKING:
    from collections.abc import Callable

    import psycopg

    Told = Callable[[Mapping[str, Any] | None], None]

NAME = "memlayer db ann-index"
"""What the connection that builds calls itself: so it is found among the server's processes."""
TICK = 0.2
"""Seconds between two looks at how far it is."""
AGAIN = "run it again: what is left is cleared away first, by --drop too"

PROGRESS = """
select phase, blocks_done, blocks_total, tuples_done,
       lockers_done, lockers_total, current_locker_pid
  from pg_stat_progress_create_index
 where pid = %s
"""


def create(place: places.Place, tenant: str, memory: str | None) -> bool:
    """Make the index of a tenant; False when it was there already.

    `memory`: maintenance_work_mem of the build. What an interrupted build left is dropped first.
    """
    from memlayer_pg import db
    from memlayer_pg.effects import Call

    with places.connection(place.dsn) as watching:
        call = Call("ann_index_statement", {"p_tenant": tenant, "p_concurrently": True})
        statement: str = db.perform(watching, call)[0]["ann_index_statement"]
        found = large.index(watching, tenant)
        if found.state == "valid":
            return False
        nobody_else(found)
        if found.state == "unfinished":
            with output.working("dropping what an interrupted build left"):
                drop(place, found)
            say("note", f"{found.name} was left unfinished by an interrupted build: dropped")
        try:
            with _bar(f"making {found.name}") as told, places.connection(place.dsn, NAME) as conn:
                _prepare(conn, memory)
                _run(conn, statement, watching, told)
        except DatabaseError as error:
            # 57: an operator ended it. No code: the connection has gone.
            ended = error.sqlstate is None or error.sqlstate.startswith("57")
            raise Failed(
                f"the index was not made: {error.message}", AGAIN if ended else error.suggestion
            ) from error
    return True


def drop(place: places.Place, found: large.Index) -> None:
    """Drop an index beside those who read and write."""
    from psycopg.sql import SQL, Identifier

    assert found.name is not None
    with places.connection(place.dsn, NAME) as conn:
        _prepare(conn, None)
        conn.execute(SQL("drop index concurrently {}").format(Identifier("memlayer", found.name)))


def nobody_else(found: large.Index) -> None:
    """Failed while somebody is making the index."""
    if found.state == "building":
        raise Failed(
            f"{found.name} is being made by process {found.builder}",
            f"wait for it, or end it: select pg_terminate_backend({found.builder})",
        )


def _prepare(conn: psycopg.Connection[Any], memory: str | None) -> None:
    """It takes as long as it takes, whatever a role is allowed for its queries."""
    for name in ("statement_timeout", "lock_timeout"):
        conn.execute("select set_config(%s, '0', false)", [name])
    if memory is not None:
        conn.execute("select set_config('maintenance_work_mem', %s, false)", [memory])


def _run(
    conn: psycopg.Connection[Any],
    statement: str,
    watching: psycopg.Connection[Any],
    told: Told,
) -> None:
    """Run a statement that takes long; interrupted, it is cancelled on the server too."""
    from psycopg.rows import dict_row

    pid = conn.info.backend_pid
    conn.add_notice_handler(lambda notice: say("note", notice.message_primary or ""))
    with ThreadPoolExecutor(1) as thread, watching.cursor(row_factory=dict_row) as cursor:
        work = thread.submit(conn.execute, statement.encode())
        try:
            while not wait([work], TICK).done:
                told(cursor.execute(PROGRESS, [pid]).fetchone())
        finally:
            if not work.done():
                say("note", f"interrupted; {AGAIN}")
                conn.cancel_safe()
        work.result()


def stage(row: Mapping[str, Any]) -> tuple[str, int, int]:
    """How far it is: in words, and as a part of a whole."""
    said = row["phase"]
    if row["lockers_total"]:
        waits = f", for process {row['current_locker_pid']}" if row["current_locker_pid"] else ""
        return f"{said}{waits}", row["lockers_done"], row["lockers_total"]
    if row["tuples_done"]:
        said = f"{said}, {row['tuples_done']:,} vectors"
    return said, row["blocks_done"], row["blocks_total"]


@contextmanager
def _bar(what: str) -> Iterator[Told]:
    """A progress bar on stderr, where that is a terminal; it is told rows of PROGRESS."""
    if not sys.stderr.isatty():
        yield lambda row: None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), Remaining())
    with Progress(*columns, console=output.console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)

        def told(row: Mapping[str, Any] | None) -> None:
            if row is not None:
                said, done, total = stage(row)
                bar.update(task, description=said, completed=done, total=total or None)

        yield told
