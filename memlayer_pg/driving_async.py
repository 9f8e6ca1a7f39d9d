"""What `AsyncMemory` rests on: its connections, and flows driven with awaited clients."""

from __future__ import annotations

import asyncio
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
    run_async,
)
from memlayer_pg.errors import DatabaseError, MemlayerError
from memlayer_pg.handshake import HANDSHAKE
from memlayer_pg.lent import AsyncLent
from memlayer_pg.models import rerank as rerankers
from memlayer_pg.pool import AsyncPool
from memlayer_pg.replica import POSITION, REPLAYED, Replica

T = TypeVar("T")


class AsyncDriver(Core):
    """Performs what flows ask for, awaited."""

    def _wire(self) -> None:
        self._pool: AsyncPool | AsyncLent = (
            AsyncPool(self._settings) if self._lent is None else AsyncLent(self._lent)
        )
        self._read_pool = AsyncPool(self._settings)

    def close(self) -> None:
        """Close the connections to Postgres and the blocking ones to the models; may be repeated.

        `aclose`, or `async with`, closes those of the running event loop to the models as well.
        """
        self._pool.close()
        self._read_pool.close()
        self._embedder.close()
        if self._chat is not None:
            self._chat.close()
        if isinstance(self.reranker, rerankers.LLMReranker):
            self.reranker.close()
        self._stop_server()

    async def aclose(self) -> None:
        """Close the connections to Postgres and to the models; may be repeated."""
        self._pool.close()
        self._read_pool.close()
        await self._embedder.aclose()
        if self._chat is not None:
            await self._chat.aclose()
        if isinstance(self.reranker, rerankers.LLMReranker):
            await self.reranker.aclose()
        await asyncio.to_thread(self._stop_server)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def _run(self, flow: Flow[T], connection: object) -> T:
        if connection is None:
            return await run_async(flow, self._perform)
        given = await connections.awaited(connection)
        return await run_async(flow, partial(self._perform, given=given))

    async def _read(self, flow: Flow[T], connection: object) -> T:
        """`_run` for what only reads: by a replica, where there is one."""
        if connection is not None or self._replica is None:
            return await self._run(flow, connection)
        return await run_async(flow, partial(self._perform, replica=self._replica))

    async def _perform(
        self,
        effect: Effect,
        given: psycopg.AsyncConnection[Any] | None = None,
        replica: Replica | None = None,
    ) -> Any:
        match effect:
            case Call() if given is not None:
                return await self._call(given, effect, joined=True)
            case Call() if replica is not None:
                return await self._from_replica(replica, effect)
            case Call():
                return await self._transaction(effect)
            case Embed():
                return await self._embedder.aembed(effect.texts, effect.purpose)
            case Generate():
                assert self._chat is not None  # a flow asks only where the store says it extracts
                return await self._chat.agenerate(effect.messages, effect.schema)
            case Rerank():
                return await rerankers.aask(self.reranker, effect)
            case Wait():
                await asyncio.sleep(effect.seconds)
            case Together():
                dsn = self._known_dsn()
                if dsn is None:
                    dsn = await asyncio.to_thread(self._dsn)
                async with self._pool.connection(dsn, self._revived) as conn:
                    with db.translated():
                        async with conn.transaction():
                            return await run_async(effect.flow, partial(self._perform, given=conn))

    async def _transaction(self, call: Call) -> list[Row]:
        if (dsn := self._known_dsn()) is None:
            dsn = await asyncio.to_thread(self._dsn)
        attempts = 0
        while True:
            try:
                # Lent for the length of one statement: never while a model is at work.
                async with self._pool.connection(dsn, self._revived) as conn:
                    try:
                        return await self._call(conn, call)
                    finally:
                        self._may_have_written(call)
            except DatabaseError as error:
                attempts += 1
                seconds = retrying.pause(error, attempts, call)
            await asyncio.sleep(seconds)

    async def _from_replica(self, replica: Replica, call: Call) -> list[Row]:
        if not replica.rests:
            assert self._settings.read_dsn is not None  # or there were no replica
            try:
                async with self._read_pool.connection(self._settings.read_dsn) as conn:
                    if await self._has_our_writes(replica, conn):
                        return await self._call(conn, call)
            except MemlayerError as error:
                replica.failed(error)
        return await self._transaction(call)

    async def _has_our_writes(self, replica: Replica, conn: psycopg.AsyncConnection[Any]) -> bool:
        if (written := replica.behind(conn)) is None:
            return True
        if (position := replica.position(written)) is None:
            dsn = await asyncio.to_thread(self._dsn)
            async with self._pool.connection(dsn, self._revived) as primary:
                [position] = await db.rows_async(primary, POSITION)
            replica.went(written, position)
        for seconds in replica.pauses():
            [reached] = await db.rows_async(conn, REPLAYED, position)
            if reached["done"]:
                replica.caught_up(conn, written)
                return True
            await asyncio.sleep(seconds)
        return False

    async def _call(
        self, conn: psycopg.AsyncConnection[Any], call: Call, *, joined: bool = False
    ) -> list[Row]:
        known = self._known.get(self._database(conn.info))
        if known is None:
            try:
                rows = await db.perform_async(conn, HANDSHAKE, joined=joined)
            except DatabaseError as error:
                raise self._unknown(conn.info, error) from error
            known = self._greeted(conn.info, rows)
        return await db.perform_async(conn, call, known.element_oid, joined=joined)
