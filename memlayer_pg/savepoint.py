"""A savepoint of ours around a statement in the caller's transaction.

Savepoint, statement and release are sent together: one round trip, as without. When the statement
fails, another takes the transaction back to where it stood before, with the caller's work in it.
Not as prepared statements: psycopg would take one for prepared that was skipped after an error.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

BEGIN = b"savepoint memlayer_call"
END = b"release savepoint memlayer_call"
BACK = b"rollback to savepoint memlayer_call"


@contextmanager
def savepoint(conn: psycopg.Connection[Any]) -> Iterator[None]:
    """What is executed in the block has its result when the block has ended, or nothing of it was
    done."""
    if _failed(conn):  # before us: Postgres refuses everything, and says why
        yield
        return
    # The caller's connection may make cursors of another kind, which cannot be sent together.
    cursor = psycopg.Cursor(conn)
    failure: psycopg.Error | None = None
    try:
        with conn.pipeline():
            try:
                cursor.execute(BEGIN, prepare=False)
                yield
                cursor.execute(END, prepare=False)
            except psycopg.Error as error:  # may come here or at the end of the pipeline
                failure = error
    except psycopg.Error as error:
        failure = failure or error
    finally:
        if _failed(conn):
            with conn.pipeline():
                cursor.execute(BACK, prepare=False)
                cursor.execute(END, prepare=False)
    if failure is not None:
        raise failure


@asynccontextmanager
async def savepoint_async(conn: psycopg.AsyncConnection[Any]) -> AsyncIterator[None]:
    """`savepoint`, awaited."""
    if _failed(conn):
        yield
        return
    cursor = psycopg.AsyncCursor(conn)
    failure: psycopg.Error | None = None
    try:
        async with conn.pipeline():
            try:
                await cursor.execute(BEGIN, prepare=False)
                yield
                await cursor.execute(END, prepare=False)
            except psycopg.Error as error:  # may come here or at the end of the pipeline
                failure = error
    except psycopg.Error as error:
        failure = failure or error
    finally:
        if _failed(conn):
            async with conn.pipeline():
                await cursor.execute(BACK, prepare=False)
                await cursor.execute(END, prepare=False)
    if failure is not None:
        raise failure


def _failed(conn: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> bool:
    return conn.info.transaction_status == TransactionStatus.INERROR
