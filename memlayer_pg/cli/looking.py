"""`memlayer doctor` looks at the database: everything it looks at, and what may be in the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from memlayer_pg.cli import checks, places, rights, scaling
from memlayer_pg.cli.checks import Check
from memlayer_pg.config import Config
from memlayer_pg.errors import DatabaseError, MemlayerError

if TYPE_CHECKING:
    import psycopg

Look = Callable[["psycopg.Connection[Any]", Config], Check]

NOT_ALLOWED = "42501"
NOT_THERE = ("3F000", "42P01", "42883")

LOOKS: dict[str, Look] = {
    "server": checks.server,
    "pgvector": checks.extension,
    "letters": checks.letters,
    "schema": checks.schema,
    "role": rights.role,
    "schemas": rights.schemas,
    "model": checks.model,
    "reembedding": checks.reembedding,
    "vectors": checks.pending,
    "scopes": scaling.scopes,
    "statistics": scaling.statistics,
    "recall": scaling.recall,
    "indexes": scaling.indexes,
    "sizes": checks.sizes,
}


def database(config: Config) -> Iterator[Check]:
    """Everything about the database; only that it is not to be had, when it is not."""
    try:
        with places.database(config) as place, places.connection(place.dsn) as conn:
            where = f"our own server in {place.shown}" if place.embedded else place.shown
            yield Check("database", "ok", where)
            for name, look in LOOKS.items():
                yield _looked(name, look, conn, config)
    except MemlayerError as error:
        hint = error.suggestion or "Look at --dsn or MEMLAYER_DSN, and whether the server runs."
        yield Check("database", "fail", error.message.strip(), hint)


def _looked(name: str, look: Look, conn: psycopg.Connection[Any], config: Config) -> Check:
    """What a look found; that it could not look, where the role or the schema is in the way."""
    from memlayer_pg import db

    try:
        with db.translated():
            return look(conn, config)
    except DatabaseError as error:
        if error.sqlstate == NOT_ALLOWED:
            owner = "The owner of the schema, or memlayer_admin, may look."
            return Check(name, "warn", error.message, error.suggestion or owner)
        if error.sqlstate in NOT_THERE:
            return Check(name, "warn", "cannot be looked at without the schema")
        raise
