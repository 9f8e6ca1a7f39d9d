"""Reads that a replica answers: when it may, and when the primary is asked in its place.

A program finds what it wrote itself: the first read after a write asks the primary how far its log
goes and waits until the replica has replayed as much. Nothing is asked while nothing is written,
and nothing is ever kept on the server.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Iterator
from itertools import chain, repeat
from typing import Any

from memlayer_pg import retrying
from memlayer_pg.errors import DatabaseError, MemlayerError, SchemaError

REST = 10.0
"""Seconds for which a replica that could not be reached is not asked again."""
POSITION = b"select pg_current_wal_insert_lsn()::text as position"
REPLAYED = b"""
select not pg_is_in_recovery() or pg_last_wal_replay_lsn() >= %(position)s::pg_lsn as done"""
PAUSES = (0.002, 0.005, 0.01, 0.02, 0.05)
"""Seconds between two looks at the replica; the last one for all that follow."""


class Replica:
    """What one `Memory` knows of its replica; threads may share it."""

    def __init__(self, wait: float) -> None:
        self._wait = wait
        self._written = 0
        self._position: tuple[int, Any] = (0, None)
        # By connection: a dsn may name several replicas, each as far as it is.
        self._seen: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._rests_until = 0.0

    def wrote(self) -> None:
        """Note that a write of this client may have been committed."""
        self._written += 1

    @property
    def rests(self) -> bool:
        """Whether it could not be reached a moment ago."""
        return time.monotonic() < self._rests_until

    def behind(self, conn: Any) -> int | None:
        """The write that this connection is not known to have, to be told to `caught_up`."""
        written = self._written
        return written if self._wait and self._seen.get(conn, 0) < written else None

    def position(self, written: int) -> Any:
        """How far the primary's log went after this write, None when it has to be asked."""
        known, position = self._position
        return position if known >= written else None

    def went(self, written: int, position: Any) -> None:
        """Note how far the primary's log went after this write."""
        self._position = written, position

    def caught_up(self, conn: Any, written: int) -> None:
        """Note that what was written until then can be read on this connection."""
        self._seen[conn] = written

    def pauses(self) -> Iterator[float]:
        """Pauses between two looks at the replica, until it has been waited for long enough."""
        end = time.monotonic() + self._wait
        for pause in chain(PAUSES, repeat(PAUSES[-1])):
            if time.monotonic() >= end:
                return
            yield pause

    def failed(self, error: MemlayerError) -> None:
        """Let the primary be asked; raises the error when the primary would say the same."""
        if isinstance(error, SchemaError):
            return
        if type(error) is not DatabaseError:
            raise error
        if retrying.unreachable(error):
            self._rests_until = time.monotonic() + REST
