"""Postgres the way alembic wants it, an SQLAlchemy engine; and its errors as ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psycopg

from memlayer_pg import advice, session
from memlayer_pg.dsn import parameters
from memlayer_pg.errors import DatabaseError, SchemaError

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

LOCK = 1835363692
"""The advisory lock that a migration holds: the letters "meml"."""


def engine(dsn: str) -> Engine:
    """An engine whose connections are made of what the dsn says, set as our statements need it."""
    from sqlalchemy import NullPool, create_engine

    # Nothing is prepared on the server: behind a pooler the next statement may meet another one.
    settings = {**parameters(dsn), **session.ENCODING, "prepare_threshold": None}

    def connect() -> psycopg.Connection[Any]:
        conn = psycopg.connect(**settings)
        session.pin(conn)
        conn.commit()
        return conn

    return create_engine("postgresql+psycopg://", creator=connect, poolclass=NullPool)


@contextmanager
def reached(engine: Engine) -> Iterator[Connection]:
    """A connection; DatabaseError when there is none to be had."""
    from sqlalchemy.exc import DBAPIError

    try:
        connection = engine.connect()
    except DBAPIError as error:
        hint = advice.hint(error.orig) if isinstance(error.orig, psycopg.Error) else None
        raise DatabaseError(message(error.orig), sqlstate=sqlstate(error), hint=hint) from error
    with connection:
        yield connection


def failed(engine: Engine, error: Any) -> SchemaError:
    """A migration's failure: who was in the way, or what Postgres said and what to do about it."""
    diagnosis = getattr(error.orig, "diag", None)
    if sqlstate(error) == "55P03":  # lock_not_available
        return SchemaError(
            f"the schema was not changed, others were in the way for too long: {holders(engine)}",
            suggestion="Run this again when they have ended.",
        )
    return SchemaError(
        f"the schema was not changed: {message(error.orig)}",
        suggestion=diagnosis.message_hint if diagnosis else None,
        debug_info={"sqlstate": sqlstate(error)},
    )


def holders(engine: Engine) -> str:
    """The other sessions that hold the migrations' lock, or a lock on anything of ours."""
    with engine.connect() as connection:
        found = connection.exec_driver_sql(
            f"""
            select distinct
                   concat('process ', a.pid, ' (user ', a.usename,
                          ', application ' || nullif(a.application_name, ''),
                          case l.locktype when 'advisory' then ', another migration' end,
                          ', since ', date_trunc('second', a.xact_start), ')')
              from pg_locks l
              join pg_stat_activity a using (pid)
              join pg_database d on d.oid = l.database and d.datname = current_database()
              left join pg_class c on l.locktype = 'relation' and c.oid = l.relation
             where l.granted
               and (c.relnamespace = to_regnamespace('memlayer')
                    or (l.locktype, l.classid, l.objid, l.objsubid) = ('advisory', 0, {LOCK}, 1))
            """
        ).scalars()
        return ", ".join(found) or "they have just ended"


def sqlstate(error: Any) -> str | None:
    return getattr(error.orig, "sqlstate", None)


def message(error: Any) -> str:
    """What Postgres said, without the statement it said it of."""
    diagnosis = getattr(error, "diag", None)
    return (diagnosis and diagnosis.message_primary) or str(error)
