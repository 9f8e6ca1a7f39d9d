"""Opening the database and the memory that a command works on, and closing them again."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from memlayer_pg.cli.output import working
from memlayer_pg.cli.settings import Settings
from memlayer_pg.config import Config

if TYPE_CHECKING:
    import psycopg

    from memlayer_pg import Memory
    from memlayer_pg.embedded import Server

log = logging.getLogger("memlayer_pg")

PATIENCE = 10
"""Seconds to wait for a connection, unless the dsn says otherwise."""


@dataclass(frozen=True)
class Place:
    """Where the memories are: `dsn` connects to it, `shown` says it without a password.

    `embedded`: it is a server that was started for us, and stops with its last user.
    """

    dsn: str
    shown: str
    embedded: bool


@contextmanager
def database(config: Config, *, upgrade: bool = True) -> Iterator[Place]:
    """The database of a configuration; where it names none, the embedded server's, started.

    `upgrade`: bring the embedded server's schema up to date. A dsn's never is.
    """
    if config.dsn is not None:
        from memlayer_pg.pool import public

        yield Place(config.dsn, public(config.dsn), embedded=False)
        return
    with _started(config, upgrade) as server:
        yield Place(server.dsn, str(server.data_dir), embedded=True)


def _started(config: Config, upgrade: bool) -> Server:
    from memlayer_pg import embedded, schema

    folder = config.data_dir or embedded.default_data_dir()
    with working(f"starting Postgres in {folder}"):
        server = embedded.start(config.data_dir)
        if upgrade:
            schema.ensure(server.dsn)
    return server


@contextmanager
def connected(config: Config) -> Iterator[psycopg.Connection[Any]]:
    """A connection to a database that has a schema we can work with; errors are ours."""
    with database(config) as place, connection(place.dsn) as conn:
        greeted(conn)
        yield conn


@contextmanager
def connection(dsn: str, name: str = "memlayer") -> Iterator[psycopg.Connection[Any]]:
    """An autocommit connection that calls itself `name`; errors are ours."""
    import psycopg

    from memlayer_pg import db, session
    from memlayer_pg.dsn import parameters

    options = {"connect_timeout": PATIENCE, "application_name": name, **parameters(dsn)}
    # Nothing is prepared on the server: behind a pooler the next statement may meet another one.
    options |= {**session.ENCODING, "prepare_threshold": None}
    with db.translated(), psycopg.connect(**options, autocommit=True) as conn:
        session.pin(conn)
        yield conn


def greeted(conn: psycopg.Connection[Any]) -> str | None:
    """The newest revision, None where none is noted.

    SchemaError unless the schema is there and one that this version works with.
    """
    from memlayer_pg import db, handshake
    from memlayer_pg.errors import DatabaseError
    from memlayer_pg.pool import public

    where = public(conn.info.dsn)
    try:
        rows = db.perform(conn, handshake.HANDSHAKE)
        handshake.read(rows, where)
    except DatabaseError as error:
        raise handshake.missing(error, where) from error
    revision: str | None = rows[0]["revision"]
    return revision


@contextmanager
def memory(settings: Settings, *, embeds: bool = True, extracts: bool = False) -> Iterator[Memory]:
    """The memory a command works on.

    `embeds`: it needs an embedder; where it does not, none has to be installed or configured.
    `extracts`: it may need the language model, so a missing one is worth a warning.
    """
    config = settings.config()
    with database(config) as place, opened(config, place, embeds, extracts) as found:
        yield found


def opened(
    config: Config, place: Place, embeds: bool, extracts: bool, kind: type[Memory] | None = None
) -> Memory:
    """A memory in a place, of a `kind` if not simply a Memory; see `memory`."""
    from memlayer_pg import Memory

    config = replace(config, dsn=place.dsn)
    if not embeds:
        config = replace(config, embedder=None)
    if not extracts:
        config = replace(config, llm=None)
    log.setLevel(logging.WARNING if extracts else logging.ERROR)
    try:
        return (kind or Memory)(config, embedder=None if embeds else NoEmbedder())
    finally:
        log.setLevel(logging.WARNING)


class NoEmbedder:
    """Stands where a command needs no vectors."""

    def embed_query(self, text: str) -> list[float]:
        raise AssertionError("this command embeds nothing")

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise AssertionError("this command embeds nothing")
