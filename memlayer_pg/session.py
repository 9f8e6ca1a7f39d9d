"""The settings of a session on which it depends how Postgres reads what we send and we its answer.

The environment (PGCLIENTENCODING, PGDATESTYLE), a dsn, a role and a database may each set them. The
server reports them when a connection is made and whenever they change: looking costs no round trip.
"""

from __future__ import annotations

from typing import Any

import psycopg

from memlayer_pg.errors import ConfigError

ENCODING = {"client_encoding": "UTF8"}
"""Of a new connection, above what the environment says: JSON is sent as UTF-8."""
WANTED = {"client_encoding": "UTF8", "DateStyle": "ISO", "standard_conforming_strings": "on"}
"""What the value of a setting begins with; and what it is set to."""


def wrong(conn: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> dict[str, str]:
    """The settings that are otherwise than we need them, with their values."""
    found = {name: conn.info.parameter_status(name) for name in WANTED}
    return {
        name: value
        for name, value in found.items()
        if value is not None and not value.startswith(WANTED[name])
    }


def statement(names: dict[str, str]) -> bytes:
    """What sets these settings right, in one round trip."""
    return b"; ".join(f"set {name} = '{WANTED[name]}'".encode() for name in names)


def pin(conn: psycopg.Connection[Any]) -> None:
    """Set right what is otherwise on a new connection of ours, for as long as it lives."""
    if found := wrong(conn):
        conn.execute(statement(found))


async def pin_async(conn: psycopg.AsyncConnection[Any]) -> None:
    """`pin`, awaited."""
    if found := wrong(conn):
        await conn.execute(statement(found))


def check(conn: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> None:
    """ConfigError when a connection that is not ours cannot be used as it is set."""
    for name, value in wrong(conn).items():
        raise ConfigError(
            f"connection: its {name} is {value}, not {WANTED[name]}",
            suggestion=f"Run: set {name} = '{WANTED[name]}'",
        )
