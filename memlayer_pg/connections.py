"""Joining the caller's own transaction: `connection=`.

psycopg's connections are taken as they are. SQLAlchemy's are recognised without importing it; what
counts is the psycopg connection below them, and that SQLAlchemy knows a transaction has begun, so
that the caller's commit() commits our work too. Nothing is ever committed here.
"""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from memlayer_pg import session
from memlayer_pg.errors import ConfigError

TAKEN = (
    "connection: takes a psycopg Connection or AsyncConnection, or a SQLAlchemy Connection or "
    "Session (sync or async) on postgresql+psycopg"
)


def blocking(given: object) -> psycopg.Connection[Any]:
    """The psycopg connection to work on, for `Memory`; ConfigError when there is none."""
    driver = _blocking_driver(given) if _is_sqlalchemy(given) else given
    if isinstance(driver, psycopg.AsyncConnection) or _is_async(given):
        raise ConfigError("connection: Memory needs a blocking one, AsyncMemory takes this one")
    if not isinstance(driver, psycopg.Connection):
        raise ConfigError(f"{TAKEN}, not {_kind(driver)}")
    _check(driver)
    return driver


async def awaited(given: object) -> psycopg.AsyncConnection[Any]:
    """The psycopg connection to work on, for `AsyncMemory`; ConfigError when there is none."""
    driver = await _awaited_driver(given) if _is_async(given) else given
    if isinstance(driver, psycopg.Connection) or _is_sqlalchemy(driver):
        raise ConfigError("connection: AsyncMemory needs an async one, Memory takes this one")
    if not isinstance(driver, psycopg.AsyncConnection):
        raise ConfigError(f"{TAKEN}, not {_kind(driver)}")
    _check(driver)
    return driver


def _blocking_driver(given: Any) -> object:
    if _is_async(given):
        return given
    if hasattr(given, "flush"):  # a Session: what it holds back must be there before us
        given.flush()
        given = given.connection()
    if not hasattr(given, "in_transaction") or not hasattr(given, "connection"):
        return given
    if not given.in_transaction():
        given.begin()
    return given.connection.driver_connection


async def _awaited_driver(given: Any) -> object:
    if hasattr(given, "flush"):
        await given.flush()
        given = await given.connection()
    if not hasattr(given, "get_raw_connection"):
        return given
    if not given.in_transaction():
        await given.begin()
    return (await given.get_raw_connection()).driver_connection


def _check(driver: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> None:
    if driver.closed:
        raise ConfigError("connection: it is closed")
    if driver.autocommit and driver.pgconn.transaction_status == TransactionStatus.IDLE:
        raise ConfigError(
            "connection: it is in autocommit mode and no transaction is open",
            suggestion="Open one (conn.transaction() in psycopg), or leave connection= out.",
        )
    session.check(driver)


def _is_sqlalchemy(given: object) -> bool:
    return any(kind.__module__.partition(".")[0] == "sqlalchemy" for kind in type(given).__mro__)


def _is_async(given: object) -> bool:
    return any(kind.__module__.startswith("sqlalchemy.ext.asyncio") for kind in type(given).__mro__)


def _kind(given: object) -> str:
    kind = type(given)
    return f"{kind.__module__}.{kind.__qualname__}"
