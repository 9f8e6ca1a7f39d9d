"""Where the schema's SQL text lives, how a revision applies it, and the way to a revision.

alembic and SQLAlchemy take a second to import: only the functions that run them do so.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg

from memlayer_pg import advice, catalog, requirements, session
from memlayer_pg.dsn import parameters
from memlayer_pg.engine import LOCK, engine, failed, message, reached
from memlayer_pg.errors import DatabaseError, SchemaError

if TYPE_CHECKING:
    from alembic.config import Config
    from sqlalchemy import Connection

Progress = Callable[[str, str], None]
"""Told each step that is done: the revision's id and its title."""


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

SEARCH_PATH = "schema/search_path.sql"
"""Of all files the one that the bodies of the others are bound by."""


def load_order(at: str = HEAD) -> list[str]:
    """The files of sql/ there were at a revision, in the order all.sql loaded them."""
    return listed(text_at("all.sql", at))


def listed(text: str) -> list[str]:
    """The files that a text of all.sql loads."""
    return [line.removeprefix("\\ir ") for line in text.splitlines() if line.startswith("\\ir ")]


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
    with _search_path(None if SEARCH_PATH in files else at):
        for path, expected in files.items():
            text = text_at(path, at)
            if digest(text) != expected:
                raise SchemaError(
                    f"sql/{path} is not the text revision {at} was written for: "
                    "run python migrations/revise.py"
                )
            run(text)


def restore(files: Iterable[str], *, at: str) -> None:
    """Run those of the files that revision `at` had, as they stood then: the way down."""
    wanted = set(files)
    with _search_path(at):
        for path in load_order(at):
            if path in wanted:
                run(text_at(path, at))


def alter(*statements: str, at: str) -> None:
    """Run statements as if they stood in sql/ at revision `at`: names of ours are found."""
    with _search_path(at):
        for statement in statements:
            run(statement)


@contextmanager
def _search_path(at: str | None) -> Iterator[None]:
    """Have names found by sql/schema/search_path.sql as of a revision, and undo it in the end:
    other revisions may follow in this transaction. None: the first files make what it needs."""
    _be_patient()
    run("select set_config('memlayer.search_path', current_setting('search_path'), true)")
    if at is not None:
        run(text_at(SEARCH_PATH, at))
    yield
    run("select set_config('search_path', current_setting('memlayer.search_path'), true)")


def _be_patient() -> None:
    """Wait for the locks of others a minute at most, unless somebody set another lock_timeout.

    To the end of the transaction, whoever runs the revision: all that comes after a table lock that
    is waited for waits behind it, programs too.
    """
    run(
        "select set_config('lock_timeout', '60s', true) where current_setting('lock_timeout') = '0'"
    )


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
    """Note that a revision was taken back: the first thing on the way down."""
    _be_patient()
    run(f"delete from memlayer.deployment where revision = '{revision}'")


def clear() -> None:
    """Drop every object in schema memlayer: the baseline's way down.

    The schema itself stays, and so do alembic's version table and the extension vector. Refused
    while anything outside the schema (a view, a foreign key) depends on what is in it.
    """
    _be_patient()
    run((MIGRATIONS / "clear.sql").read_text("utf-8"))


def config(
    connection: Connection | None = None, progress: Progress | None = None, first: str | None = None
) -> Config:
    """What alembic needs to run our revisions over a connection; `first` opens the transaction."""
    from alembic.config import Config

    settings = Config()
    # '%' marks an interpolation in alembic's settings
    settings.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    settings.attributes.update(connection=connection, progress=progress, first=first)
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

    Where an alembic environment of the user's laid the schema, the way on and back is there: here
    nothing is done at the newest revision, and all else is refused.

    SchemaError: the server lacks something (named, with what to do), the revision is unknown, the
    schema was laid in another way, or a revision failed, in which case the schema stands at the
    last one that did not.
    DatabaseError: the database could not be reached.
    """
    from alembic import command
    from alembic.util import CommandError
    from sqlalchemy.exc import DBAPIError

    server = engine(dsn)
    patience = f"set local lock_timeout = '{timeout:.3f}s'"
    # The lock is another session's, so that a revision may commit (create index concurrently), and
    # a transaction's, so that it holds behind a pooler too.
    try:
        with reached(server) as lock, reached(server) as connection:
            lock.exec_driver_sql("set local idle_in_transaction_session_timeout = 0")
            lock.exec_driver_sql(patience)
            lock.exec_driver_sql(f"select pg_advisory_xact_lock({LOCK})")
            if not down:
                requirements.check(connection)
            if _done_elsewhere(connection, None if down else revision):
                return
            settings = config(connection, progress, first=patience)
            (command.downgrade if down else command.upgrade)(settings, revision)
    except CommandError as error:
        raise SchemaError(str(error)) from error
    except DBAPIError as error:
        raise failed(server, error) from error


def ensure(dsn: str) -> None:
    """Bring the schema to the newest revision; one that is newer still is left as it is.

    Raises what `migrate` and `current` do.
    """
    if (current(dsn) or "") < HEAD:
        migrate(dsn)


def _done_elsewhere(connection: Connection, revision: str | None) -> bool:
    """Whether an environment that is not ours has brought the schema to `revision`, an upgrade's.

    SchemaError when it stands at another one, or at none: our version table knows nothing of it.
    """
    ask = connection.exec_driver_sql
    laid = ask("select to_regclass('memlayer.deployment') is not null").scalar_one()
    ours = ask("select to_regclass('memlayer.alembic_version') is not null").scalar_one()
    if laid and ours:
        ours = ask("select exists (select from memlayer.alembic_version)").scalar_one()
    newest = ask("select max(revision) from memlayer.deployment").scalar_one() if laid else None
    connection.rollback()
    if not laid or ours:
        return False
    if newest is None:
        raise _by_hand()
    if newest == HEAD and revision in ("head", "heads", HEAD):
        return True
    raise SchemaError(
        f"the schema was brought to {newest} by another alembic environment, "
        "which has to take it on or back",
        suggestion="Run alembic there: alembic upgrade heads, or alembic downgrade memlayer@base",
    )


def _by_hand() -> SchemaError:
    return SchemaError(
        "the schema was laid from sql/all.sql by hand, and no revision is noted in it",
        suggestion="Compare it with: memlayer db check. How to note the revision stands in "
        "docs/operations.md, Installing and upgrading.",
    )


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
    """The newest revision that stands in a database; None when there is no schema.

    SchemaError: there is a schema, and no revision is noted in it.
    """
    with _opened(dsn) as conn:
        laid, revision = _newest(conn)
    if laid and revision is None:
        raise _by_hand()
    return revision


def check(dsn: str) -> list[str]:
    """How the schema in a database differs from what its revision made; empty when it does not.

    Lays the schema a second time, compares what Postgres says of both, and takes it back; the role
    has to own the schema. Other sessions notice nothing. Indexes that somebody added are no fault.
    """
    with _opened(dsn) as conn:
        return compare(conn)


def compare(conn: psycopg.Connection[Any]) -> list[str]:
    """`check`, over a connection."""
    laid, revision = _newest(conn)
    if not laid:
        return ["there is no schema: run memlayer db upgrade"]
    if revision not in (None, HEAD):  # None: laid by hand
        return [f"the schema is at {revision}, this version brings {HEAD}"]
    return catalog.compare(conn, ((SQL / path).read_text("utf-8") for path in load_order()))


@contextmanager
def _opened(dsn: str) -> Iterator[psycopg.Connection[Any]]:
    try:
        with psycopg.connect(**{**parameters(dsn), **session.ENCODING}) as conn:
            session.pin(conn)
            yield conn
    except psycopg.Error as error:
        raise DatabaseError(
            message(error), sqlstate=error.sqlstate, hint=advice.hint(error)
        ) from error


def _newest(conn: psycopg.Connection[Any]) -> tuple[bool, str | None]:
    """Whether there is a schema, and the newest revision noted in it."""
    [[laid]] = conn.execute("select to_regclass('memlayer.deployment') is not null")
    if not laid:
        return False, None
    [[newest]] = conn.execute("select max(revision) from memlayer.deployment")
    return True, newest
