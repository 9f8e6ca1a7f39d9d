"""The caller's own pool or engine in place of ours: `pool=`.

psycopg_pool's pools and SQLAlchemy's engines, neither of which is imported here. A call borrows a
connection for one statement, in a transaction that is committed before it is given back.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import psycopg

from memlayer_pg import connections, session
from memlayer_pg.db import translate
from memlayer_pg.errors import ConfigError, DatabaseError

TAKEN = (
    "pool: {} takes a psycopg_pool {} or a SQLAlchemy {} on postgresql+psycopg, not {}; what the "
    "other kind of memory takes is not for this one"
)


def _is_a(given: object, package: str, *names: str) -> bool:
    """Whether it is of one of these classes of a package, or of one derived from it."""
    return any(
        kind.__module__.partition(".")[0] == package and kind.__name__ in names
        for kind in type(given).__mro__
    )


class Lent:
    """What `Pool` is to `Memory`, with connections that a pool of the caller's lends."""

    def __init__(self, given: Any) -> None:
        kind = type(given).__name__
        self._is_engine = _is_a(given, "sqlalchemy", "Engine")
        if not self._is_engine and not _is_a(given, "psycopg_pool", "ConnectionPool"):
            raise ConfigError(TAKEN.format("Memory", "ConnectionPool", "Engine", kind))
        self._given = given

    @contextmanager
    def connection(
        self, dsn: str, revived: Callable[[], str | None] = lambda: None
    ) -> Iterator[psycopg.Connection[Any]]:
        """A connection for the length of the block, committed at its end."""
        with _translated():
            if self._is_engine:
                with self._given.connect() as conn:
                    driver = connections.blocking(conn)
                    try:
                        yield driver
                    except BaseException:
                        if driver.closed:  # or SQLAlchemy would try to roll back on it
                            conn.invalidate()
                        raise
                    conn.commit()
            else:
                with self._given.connection() as conn:
                    session.check(conn)
                    yield conn

    def close(self) -> None:
        """Nothing: the pool is the caller's."""


class AsyncLent:
    """What `AsyncPool` is to `AsyncMemory`, with connections that a pool of the caller's lends."""

    def __init__(self, given: Any) -> None:
        kind = type(given).__name__
        self._is_engine = _is_a(given, "sqlalchemy", "AsyncEngine")
        if not self._is_engine and not _is_a(given, "psycopg_pool", "AsyncConnectionPool"):
            raise ConfigError(
                TAKEN.format("AsyncMemory", "AsyncConnectionPool", "AsyncEngine", kind)
            )
        self._given = given

    @asynccontextmanager
    async def connection(
        self, dsn: str, revived: Callable[[], str | None] = lambda: None
    ) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        """`Lent.connection`, awaited."""
        with _translated():
            if self._is_engine:
                async with self._given.connect() as conn:
                    driver = await connections.awaited(conn)
                    try:
                        yield driver
                    except BaseException:
                        if driver.closed:
                            await conn.invalidate()
                        raise
                    await conn.commit()
            else:
                async with self._given.connection() as conn:
                    session.check(conn)
                    yield conn

    def close(self) -> None:
        """Nothing: the pool is the caller's."""


@contextmanager
def _translated() -> Iterator[None]:
    """Turn errors of the pool into ours: psycopg's, and those that SQLAlchemy wraps."""
    try:
        yield
    except (ConfigError, DatabaseError):
        raise
    except Exception as error:
        cause = getattr(error, "orig", error)
        if not isinstance(cause, psycopg.Error):
            raise
        raise translate(cause) from cause
