"""What `Memory` rests on: its connections, and flows driven with blocking clients."""

from __future__ import annotations

import time
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

import psycopg

from memlayer_pg import (
    connections,
    db,
    retrying,
)
from memlayer_pg.core import Core
from memlayer_pg.effects import (
    Call,
    Effect,
    Embed,
    Flow,
    Generate,
    Rerank,
    Row,
    Together,
    Wait,
    run,
)
from memlayer_pg.errors import DatabaseError, MemlayerError
from memlayer_pg.handshake import HANDSHAKE
from memlayer_pg.lent import Lent
from memlayer_pg.models import rerank as rerankers
from memlayer_pg.pool import Pool
from memlayer_pg.replica import POSITION, REPLAYED, Replica

T = TypeVar("T")


class Driver(Core):
    """Performs what flows ask for, one after the other."""

    def _wire(self) -> None:
        self._pool: Pool | Lent = Pool(self._settings) if self._lent is None else Lent(self._lent)
        self._read_pool = Pool(self._settings)

    def close(self) -> None:
        """Close the connections to Postgres and to the models; may be repeated."""
        self._pool.close()
        self._read_pool.close()
        self._embedder.close()
        if self._chat is not None:
            self._chat.close()
        if isinstance(self.reranker, rerankers.LLMReranker):
            self.reranker.close()
        self._stop_server()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _run(self, flow: Flow[T], connection: object) -> T:
        if connection is None:
            return run(flow, self._perform)
        return run(flow, partial(self._perform, given=connections.blocking(connection)))

    def _read(self, flow: Flow[T], connection: object) -> T:
        """`_run` for what only reads: by a replica, where there is one."""
        if connection is not None or self._replica is None:
            return self._run(flow, connection)
        return run(flow, partial(self._perform, replica=self._replica))

    def _perform(
        self,
        effect: Effect,
        given: psycopg.Connection[Any] | None = None,
        replica: Replica | None = None,
    ) -> Any:
        match effect:
            case Call() if given is not None:
                return self._call(given, effect, joined=True)
            case Call() if replica is not None:
                return self._from_replica(replica, effect)
            case Call():
                return self._transaction(effect)
            case Embed():
                return self._embedder.embed(effect.texts, effect.purpose)
            case Generate():
                assert self._chat is not None  # a flow asks only where the store says it extracts
                return self._chat.generate(effect.messages, effect.schema)
            case Rerank():
                return rerankers.ask(self.reranker, effect)
            case Wait():
                time.sleep(effect.seconds)
            case Together():
                with (
                    self._pool.connection(self._dsn(), self._revived) as conn,
                    db.translated(),
                    conn.transaction(),
                ):
                    return run(effect.flow, partial(self._perform, given=conn))

    def _transaction(self, call: Call) -> list[Row]:
        attempts = 0
        while True:
            try:
                # Lent for the length of one statement: never while a model is at work.
                with self._pool.connection(self._dsn(), self._revived) as conn:
                    try:
                        return self._call(conn, call)
                    finally:
                        self._may_have_written(call)
            except DatabaseError as error:
                attempts += 1
                seconds = retrying.pause(error, attempts, call)
            time.sleep(seconds)

    def _from_replica(self, replica: Replica, call: Call) -> list[Row]:
        if not replica.rests:
            assert self._settings.read_dsn is not None  # or there were no replica
            try:
                with self._read_pool.connection(self._settings.read_dsn) as conn:
                    if self._has_our_writes(replica, conn):
                        return self._call(conn, call)
            except MemlayerError as error:
                replica.failed(error)
        return self._transaction(call)

    def _has_our_writes(self, replica: Replica, conn: psycopg.Connection[Any]) -> bool:
        if (written := replica.behind(conn)) is None:
            return True
        if (position := replica.position(written)) is None:
            with self._pool.connection(self._dsn(), self._revived) as primary:
                [position] = db.rows(primary, POSITION)
            replica.went(written, position)
        for seconds in replica.pauses():
            [reached] = db.rows(conn, REPLAYED, position)
            if reached["done"]:
                replica.caught_up(conn, written)
                return True
            time.sleep(seconds)
        return False

    def _call(
        self, conn: psycopg.Connection[Any], call: Call, *, joined: bool = False
    ) -> list[Row]:
        known = self._known.get(self._database(conn.info))
        if known is None:
            try:
                rows = db.perform(conn, HANDSHAKE, joined=joined)
            except DatabaseError as error:
                raise self._unknown(conn.info, error) from error
            known = self._greeted(conn.info, rows)
        return db.perform(conn, call, known.element_oid, joined=joined)
