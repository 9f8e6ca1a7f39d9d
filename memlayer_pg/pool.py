"""Connections to one database, kept and lent: one pool for threads, one for tasks.

They are opened by the call that needs one, so a server that cannot be reached is reported at once
and in its own words, and there is no background thread or task: a pool may be made anywhere, used
before and after a fork, and under one event loop after the other. An idle connection is looked at,
without a round trip, before it is lent.
"""

from __future__ import annotations

import asyncio
import os
import select
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Generic, TypeVar

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.pq import TransactionStatus

from memlayer_pg import session
from memlayer_pg.config import Config
from memlayer_pg.db import translated
from memlayer_pg.dsn import parameters
from memlayer_pg.errors import DatabaseError

C = TypeVar("C", psycopg.Connection[Any], psycopg.AsyncConnection[Any])

UNUSED = 600.0
"""Seconds after which a connection beyond min_size is closed when nobody wanted it."""
# A peer that vanished without a word (a firewall, a pulled plug) is found out within two minutes.
DEFAULTS = {
    "application_name": "memlayer",
    "keepalives_idle": 60,
    "keepalives_interval": 15,
    "keepalives_count": 4,
}


SHOWN = (
    "service", "host", "hostaddr", "port", "dbname", "user", "application_name", "passfile",
    "sslmode", "sslrootcert", "sslcert", "sslkey", "gssencmode", "target_session_attrs",
)  # fmt: skip
"""What of a dsn is no secret: names and places of files, not what they hold."""


def public(dsn: str) -> str:
    """A dsn without its secrets, to be shown."""
    return make_conninfo(**{key: value for key, value in parameters(dsn).items() if key in SHOWN})


class _Idle(Generic[C]):
    """Open connections that nobody uses at the moment, the one used last on top."""

    def __init__(self, config: Config) -> None:
        self.kept: list[tuple[float, C]] = []
        self.config = config
        self.closed = False
        self.abandoned: list[C] = []
        _pools.add(self)
        self._size()

    def _size(self) -> None:
        """Start counting anew how many connections are lent."""

    def forget(self) -> None:
        """In a forked child: the parent's connections are the parent's; not even close them."""
        self.abandoned += [conn for _, conn in self.kept]
        self.kept = []
        self._size()

    def take(self) -> C | None:
        """An idle connection that is alive, None when there is no such."""
        while True:
            try:
                _, conn = self.kept.pop()
            except IndexError:
                return None
            if _quiet(conn):
                return conn
            conn.pgconn.finish()

    def give(self, conn: C) -> None:
        """Keep a connection for the next call, unless it is broken or in mid-statement."""
        if self.closed or conn.pgconn.transaction_status != TransactionStatus.IDLE:
            conn.pgconn.finish()
            return
        now = time.monotonic()
        self.kept.append((now, conn))
        while len(self.kept) > max(self.config.min_size, 1) and now - self.kept[0][0] > UNUSED:
            _, conn = self.kept.pop(0)
            conn.pgconn.finish()

    def close(self) -> None:
        """Close what is idle, and from now on what is given back. Harmless when repeated."""
        self.closed = True
        while self.kept:
            _, conn = self.kept.pop()
            conn.pgconn.finish()

    def __del__(self) -> None:
        self.close()

    def _options(self, dsn: str) -> dict[str, Any]:
        wait = max(2, round(self.config.connect_timeout))
        return {
            "connect_timeout": wait,
            **DEFAULTS,
            **parameters(dsn),
            **session.ENCODING,
            "autocommit": True,
            "prepare_threshold": self.config.prepare_threshold,
        }

    def _busy(self) -> DatabaseError:
        return DatabaseError(
            f"all {self.config.max_size} connections were busy "
            f"for {self.config.connect_timeout:g} s",
            hint="Raise max_size, or look for what keeps them.",
        )

    def _check_open(self) -> None:
        if self.closed:
            raise DatabaseError("this Memory was closed")


class Pool(_Idle[psycopg.Connection[Any]]):
    """Autocommit connections for threads."""

    def _size(self) -> None:
        self._room = threading.BoundedSemaphore(self.config.max_size)

    @contextmanager
    def connection(
        self, dsn: str, revived: Callable[[], str | None] = lambda: None
    ) -> Iterator[psycopg.Connection[Any]]:
        """A connection for the length of the block; DatabaseError when none is to be had.

        `revived`: asked when the server cannot be reached; a dsn is tried, None is an error.
        """
        self._check_open()
        room = self._room
        if not room.acquire(timeout=self.config.connect_timeout):
            raise self._busy()
        try:
            conn = self.take()
            if conn is None:
                conn = self._opened(dsn, revived)
            try:
                yield conn
            finally:
                self.give(conn)
        finally:
            room.release()

    def _opened(self, dsn: str, revived: Callable[[], str | None]) -> psycopg.Connection[Any]:
        try:
            with translated():
                conn = psycopg.Connection.connect(**self._options(dsn))
                session.pin(conn)
                return conn
        except DatabaseError:
            if (again := revived()) is None:
                raise
        return self._opened(again, lambda: None)


class AsyncPool(_Idle[psycopg.AsyncConnection[Any]]):
    """Autocommit connections for tasks; at most max_size are lent under one event loop."""

    def _size(self) -> None:
        self._rooms: weakref.WeakKeyDictionary[Any, asyncio.Semaphore] = weakref.WeakKeyDictionary()

    @asynccontextmanager
    async def connection(
        self, dsn: str, revived: Callable[[], str | None] = lambda: None
    ) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        """`Pool.connection`, awaited; `revived` is called in a thread."""
        self._check_open()
        room = self._rooms.setdefault(
            asyncio.get_running_loop(), asyncio.Semaphore(self.config.max_size)
        )
        try:
            async with asyncio.timeout(self.config.connect_timeout):
                await room.acquire()
        except TimeoutError:
            raise self._busy() from None
        try:
            conn = self.take()
            if conn is None:
                conn = await self._opened(dsn, revived)
            try:
                yield conn
            finally:
                self.give(conn)
        finally:
            room.release()

    async def _opened(
        self, dsn: str, revived: Callable[[], str | None]
    ) -> psycopg.AsyncConnection[Any]:
        try:
            with translated():
                conn = await psycopg.AsyncConnection.connect(**self._options(dsn))
                await session.pin_async(conn)
                return conn
        except DatabaseError:
            if (again := await asyncio.to_thread(revived)) is None:
                raise
        return await self._opened(again, lambda: None)


def _quiet(conn: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> bool:
    """Whether the server has said nothing since: on an idle connection it only says goodbye."""
    try:
        socket = conn.pgconn.socket
    except psycopg.OperationalError:  # closed already
        return False
    if not hasattr(select, "poll"):  # Windows, where select() takes any socket
        return not select.select([socket], [], [], 0)[0]
    poll = select.poll()
    poll.register(socket, select.POLLIN)
    return not poll.poll(0)


_pools: weakref.WeakSet[_Idle[Any]] = weakref.WeakSet()


def _after_fork() -> None:
    for pool in list(_pools):
        pool.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
