"""Where the schema's SQL text lives, how a revision applies it, and the way to a revision.

alembic and SQLAlchemy take a second to import: only the functions that run them do so.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg

from memlayer_pg import requirements
from memlayer_pg.dsn import parameters
from memlayer_pg.errors import DatabaseError, SchemaError

if TYPE_CHECKING:
    from alembic.config import Config
    from sqlalchemy import Connection, Engine

Progress = Callable[[str, str], None]
"""Told each step that is done: the revision's id and its title."""

LOCK = 1835363692
"""The advisory lock that a migration holds: the letters "meml"."""


def _folder(name: str) -> Path:
    """A folder of the wheel's package or, in a checkout, of the repository."""
    package = Path(__file__).parent
    shipped = package / name
    return shipped if shipped.is_dir() else package.parent / name


SQL = _folder("sql")
MIGRATIONS = _folder("migrations")


def revisions() -> list[str]:
    """The ids of all revisions, oldest first."""
    return sorted(path.name[:6] for path in (MIGRATIONS / "versions").glob("ml*.py"))


HEAD = max(revisions(), default="")
"""The revision this version of the package is written for."""


def load_order() -> list[str]:
    """The files of sql/ in the order all.sql loads them."""
    lines = (SQL / "all.sql").read_text("utf-8").splitlines()
    return [line.removeprefix("\\ir ") for line in lines if line.startswith("\\ir ")]


def text_at(path: str, revision: str) -> str:
    """The text of a sql/ file as it stood at a revision.

    migrations/replaced/<R>/ keeps what revision R replaced. So the first copy after
    `revision` is what stood then, and where there is none the file has not changed since.
    """
    for later in sorted((MIGRATIONS / "replaced").glob("*")):
        if later.name > revision and (kept := later / path).is_file():
            return kept.read_text("utf-8")
    return (SQL / path).read_text("utf-8")


def digest(text: str) -> str:
    """What a revision records of a text to know it again."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def apply(files: Mapping[str, str], *, at: str) -> None:
    """Run sql/ files as revision `at` was written for them; SchemaError when a text is another."""
    with _search_path():
        for path, expected in files.items():
            text = text_at(path, at)
            if digest(text) != expected:
                raise SchemaError(
                    f"sql/{path} is not the text revision {at} was written for: "
                    "run python migrations/revise.py"
                )
            run(text)


def restore(files: Iterable[str], *, at: str, but: Container[str] = ()) -> None:
    """Run sql/ files as they stood at revision `at`, `but` those it had not: the way down."""
    with _search_path():
        for path in files:
            if path not in but:
                run(text_at(path, at))


@contextmanager
def _search_path() -> Iterator[None]:
    """Undo what sql/schema/search_path.sql sets: other revisions may follow in this transaction."""
    run("select set_config('memlayer.search_path', current_setting('search_path'), true)")
    yield
    run("select set_config('search_path', current_setting('memlayer.search_path'), true)")


def run(statement: str) -> None:
    """op.execute() for literal SQL, in which no colon marks a bind parameter."""
    from alembic import op
    from sqlalchemy import text

    op.execute(text(statement.replace(":", "\\:")))


def record(revision: str, *, breaking: bool = False) -> None:
    """Note that a revision stands; `breaking`: clients written for older ones must not go on."""
    run(
        f"insert into memlayer.deployment (revision, breaking) values ('{revision}', {breaking}) "
        "on conflict (revision) do nothing"
    )


def forget(revision: str) -> None:
    """Note that a revision was taken back."""
    run(f"delete from memlayer.deployment where revision = '{revision}'")


def clear() -> None:
    """Drop every object in schema memlayer: the baseline's way down.

    The schema itself stays, and so do alembic's version table and the extension vector. Refused
    while anything outside the schema (a view, a foreign key) depends on what is in it.
    """
    run((MIGRATIONS / "clear.sql").read_text("utf-8"))


def config(connection: Connection | None = None, progress: Progress | None = None) -> Config:
    """What alembic needs to run our revisions over a connection."""
    from alembic.config import Config

    settings = Config()
    # '%' marks an interpolation in alembic's settings
    settings.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    settings.attributes["connection"] = connection
    settings.attributes["progress"] = progress
    return settings


def migrate(
    dsn: str,
    revision: str = "head",
    *,
    down: bool = False,
    progress: Progress | None = None,
    timeout: float = 60.0,
) -> None:
    """Bring the schema to a revision; one process at a time, the others wait for it.

    `revision`: an id, "head", "base" or a relative step such as "-1". `down`: go back to it; what
    the way down drops is lost. `timeout`: seconds to wait for another migration, or for the locks
    of other sessions; SchemaError names who was in the way, and nothing has changed.

    SchemaError: the server lacks something (named, with what to do), the revision is unknown, or
    a revision failed, in which case the schema stands at the last one that did not.
    DatabaseError: the database could not be reached.
    """
    from alembic import command
    from alembic.util import CommandError
    from sqlalchemy.exc import DBAPIError

    engine = _engine(dsn, timeout)
    # The lock is another session's, so that a revision may commit (create index concurrently), and
    # a transaction's, so that it holds behind a pooler too.
    try:
        with _reached(engine) as lock, _reached(engine) as connection:
            lock.exec_driver_sql("set local idle_in_transaction_session_timeout = 0")
            try:
                lock.exec_driver_sql(f"select pg_advisory_xact_lock({LOCK})")
            except DBAPIError as error:
                raise _busy(engine, error) from error
            if not down:
                requirements.check(connection)
            (command.downgrade if down else command.upgrade)(config(connection, progress), revision)
    except CommandError as error:
        raise SchemaError(str(error)) from error
    except DBAPIError as error:
        raise _failed(error) from error


def sql(revision: str = "head", *, start: str | None = None, down: bool = False) -> str:
    """The statements that `migrate` would run, for psql; no database is asked.

    `start`: the revision the database is at, None for an empty one (for a way down: the newest).
    """
    from alembic import command
    from alembic.util import CommandError

    settings = config()
    settings.output_buffer = script = io.StringIO()
    try:
        if down:
            command.downgrade(settings, f"{start or HEAD}:{revision}", sql=True)
        else:
            command.upgrade(settings, f"{start}:{revision}" if start else revision, sql=True)
    except CommandError as error:
        raise SchemaError(str(error)) from error
    return script.getvalue()


def current(dsn: str) -> str | None:
    """The newest revision that stands in a database; None when there is no schema."""
    try:
        with psycopg.connect(**parameters(dsn)) as conn:
            [known] = conn.execute("select to_regclass('memlayer.deployment') is not null")
            if not known[0]:
                return None
            [newest] = conn.execute("select max(revision) from memlayer.deployment")
            return newest[0]  # type: ignore[no-any-return]
    except psycopg.Error as error:
        raise DatabaseError(_message(error), sqlstate=error.sqlstate) from error


def _engine(dsn: str, timeout: float) -> Engine:
    from sqlalchemy import NullPool, create_engine

    settings = parameters(dsn)

    def connect() -> psycopg.Connection[Any]:
        connection = psycopg.connect(**settings)
        connection.execute("select set_config('lock_timeout', %s, false)", [f"{timeout:.3f}s"])
        connection.commit()
        return connection

    return create_engine("postgresql+psycopg://", creator=connect, poolclass=NullPool)


@contextmanager
def _reached(engine: Engine) -> Iterator[Connection]:
    from sqlalchemy.exc import DBAPIError

    try:
        connection = engine.connect()
    except DBAPIError as error:
        raise DatabaseError(_message(error.orig), sqlstate=_sqlstate(error)) from error
    with connection:
        yield connection


def _busy(engine: Engine, error: Exception) -> SchemaError:
    """Who holds the lock of migrations."""
    with engine.connect() as connection:
        holder = connection.exec_driver_sql(
            f"""
            select format('process %s (user %s, application %s, since %s)',
                          a.pid, a.usename, coalesce(nullif(a.application_name, ''), 'unnamed'),
                          date_trunc('second', a.xact_start))
              from pg_locks l
              join pg_stat_activity a using (pid)
              join pg_database d on d.oid = l.database
             where l.locktype = 'advisory' and l.granted
               and (l.classid, l.objid, l.objsubid) = (0, {LOCK}, 1)
               and d.datname = current_database()
            """
        ).scalar()
    return SchemaError(
        f"another migration is running: {holder or 'it has just ended'}",
        suggestion="Wait for it to end and run this again.",
        debug_info={"database": str(error)},
    )


def _failed(error: Any) -> SchemaError:
    """A revision's failure, with what Postgres said to do about it."""
    diagnosis = getattr(error.orig, "diag", None)
    return SchemaError(
        f"the schema was not changed: {_message(error.orig)}",
        suggestion=diagnosis.message_hint if diagnosis else None,
        debug_info={"sqlstate": _sqlstate(error)},
    )


def _sqlstate(error: Any) -> str | None:
    return getattr(error.orig, "sqlstate", None)


def _message(error: Any) -> str:
    """What Postgres said, without the statement it said it of."""
    diagnosis = getattr(error, "diag", None)
    return (diagnosis and diagnosis.message_primary) or str(error)
