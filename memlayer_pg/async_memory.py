"""`AsyncMemory`: `Memory`, awaited; `driving_async` performs what its flows ask for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

from memlayer_pg import (
    batch,
    checks,
    feed,
    flows,
    importing,
    pending,
    reembedding,
    reverting,
    updating,
    writing,
)
from memlayer_pg.checks import THRESHOLD, TOP_K, UNSET, Unset
from memlayer_pg.core import described_by
from memlayer_pg.driving_async import AsyncDriver
from memlayer_pg.memory import Memory, Messages
from memlayer_pg.moving import flow as moving
from memlayer_pg.writing import Prepared


class AsyncMemory(AsyncDriver):
    """Long-term memory for agents, in Postgres; may be shared by tasks and survives a fork.

    Every method takes `connection=`: a psycopg AsyncConnection, or a SQLAlchemy AsyncConnection or
    AsyncSession on postgresql+psycopg, to read and write in its transaction, which is left for you
    to commit. One object may be used under several event loops.
    """

    @described_by(Memory.add)
    async def add(
        self,
        messages: Messages,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        timestamp: datetime | date | str | float | None = None,
        expiration_date: date | str | None = None,
        infer: bool = True,
        memory_type: str | None = None,
        prompt: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
        connection: Any = None,
    ) -> dict[str, Any]:
        return await self._run(
            writing.add(
                self._store,
                messages,
                user_id=user_id,
                agent_id=agent_id,
                run_id=run_id,
                metadata=metadata,
                timestamp=timestamp,
                expiration_date=expiration_date,
                infer=infer,
                memory_type=memory_type,
                prompt=prompt,
                idempotency_key=idempotency_key,
                actor=actor,
            ),
            connection,
        )

    @described_by(Memory.prepare_add)
    async def prepare_add(
        self, messages: Messages, *, connection: Any = None, **arguments: Any
    ) -> Prepared:
        return await self._run(writing.prepare_add(self._store, messages, **arguments), connection)

    @described_by(Memory.prepare_update)
    async def prepare_update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: date | str | Unset | None = UNSET,
        data: str | None = None,
        *,
        expected_version: int | None = None,
        actor: str | None = None,
        connection: Any = None,
    ) -> Prepared:
        return await self._run(
            updating.prepare_update(
                self._store,
                memory_id,
                text=text,
                metadata=metadata,
                expiration_date=expiration_date,
                data=data,
                expected_version=expected_version,
                actor=actor,
            ),
            connection,
        )

    @described_by(Memory.apply)
    async def apply(self, prepared: Prepared, *, connection: Any = None) -> dict[str, Any]:
        return await self._run(writing.apply(prepared), connection)

    @described_by(Memory.add_many)
    async def add_many(
        self,
        conversations: Iterable[Mapping[str, Any]],
        *,
        concurrency: int = 4,
        on_progress: Callable[[int, int], None] | None = None,
        **common: Any,
    ) -> list[dict[str, Any]]:
        jobs = batch.arguments(conversations, common, inspect.signature(self.add).parameters)
        at_once = checks.at_least_one("concurrency", concurrency)
        return await batch.add_many_async(self.add, jobs, at_once, on_progress)

    @described_by(Memory.search)
    async def search(
        self,
        query: str,
        *,
        top_k: int = TOP_K,
        filters: Mapping[str, Any] | None = None,
        threshold: float = THRESHOLD,
        rerank: bool = False,
        explain: bool = False,
        reference_date: date | str | None = None,
        show_expired: bool = False,
        fusion: str | None = None,
        include_superseded: bool = True,
        demote_superseded: bool = True,
        recency_half_life: float | None = None,
        fallback: str | None = None,
        as_of: datetime | str | None = None,
        connection: Any = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        return await self._read(
            flows.search(
                self._store,
                query,
                top_k=top_k,
                filters=filters,
                threshold=threshold,
                rerank_=rerank,
                explain=explain,
                reference_date=reference_date,
                show_expired=show_expired,
                fusion=fusion,
                include_superseded=include_superseded,
                demote_superseded=demote_superseded,
                recency_half_life=recency_half_life,
                fallback=fallback,
                as_of=as_of,
                extra=kwargs,
            ),
            connection,
        )

    @described_by(Memory.keyword_search)
    async def keyword_search(
        self,
        query: str,
        *,
        top_k: int = TOP_K,
        filters: Mapping[str, Any] | None = None,
        show_expired: bool = False,
        connection: Any = None,
    ) -> dict[str, Any]:
        return await self._read(
            flows.keyword_search(
                self._store, query, top_k=top_k, filters=filters, show_expired=show_expired
            ),
            connection,
        )

    @described_by(Memory.similar_to)
    async def similar_to(
        self, memory_id: str, *, top_k: int = TOP_K, connection: Any = None
    ) -> dict[str, Any]:
        return await self._read(flows.similar_to(self._store, memory_id, top_k=top_k), connection)

    @described_by(Memory.get)
    async def get(self, memory_id: str, *, connection: Any = None) -> dict[str, Any] | None:
        return await self._read(flows.get(self._store, memory_id), connection)

    @described_by(Memory.get_all)
    async def get_all(
        self,
        *,
        filters: Mapping[str, Any] | None = None,
        top_k: int = TOP_K,
        show_expired: bool = False,
        after: str | None = None,
        with_total: bool = False,
        reference_date: date | str | None = None,
        as_of: datetime | str | None = None,
        connection: Any = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        return await self._read(
            flows.get_all(
                self._store,
                filters=filters,
                top_k=top_k,
                show_expired=show_expired,
                after=after,
                with_total=with_total,
                reference_date=reference_date,
                as_of=as_of,
                extra=kwargs,
            ),
            connection,
        )

    @described_by(Memory.update)
    async def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: date | str | Unset | None = UNSET,
        data: str | None = None,
        *,
        expected_version: int | None = None,
        actor: str | None = None,
        connection: Any = None,
    ) -> dict[str, Any]:
        return await self._run(
            updating.update(
                self._store,
                memory_id,
                text=text,
                metadata=metadata,
                expiration_date=expiration_date,
                data=data,
                expected_version=expected_version,
                actor=actor,
            ),
            connection,
        )

    @described_by(Memory.embed_pending)
    async def embed_pending(
        self,
        *,
        limit: int | None = None,
        on_progress: Callable[[int, int], None] | None = None,
        actor: str | None = None,
    ) -> dict[str, int]:
        flow = pending.embed_pending(self._store, limit=limit, on_progress=on_progress, actor=actor)
        return await self._run(flow, None)

    @described_by(Memory.reembed)
    async def reembed(
        self,
        *,
        dry_run: bool = False,
        rate: float | None = None,
        on_progress: Callable[[int, int], None] | None = None,
        actor: str | None = None,
    ) -> dict[str, Any]:
        flow = reembedding.reembed(
            self._store,
            self.embedding_model.name,
            dry_run=bool(dry_run),
            rate=rate,
            on_progress=on_progress,
            actor=actor,
        )
        return await self._run(flow, None)

    @described_by(Memory.reembed_rollback)
    async def reembed_rollback(self, *, actor: str | None = None) -> dict[str, Any]:
        return await self._run(reembedding.roll_back(self._store, actor=actor), None)

    @described_by(Memory.reembed_finish)
    async def reembed_finish(self) -> dict[str, Any]:
        return await self._run(reembedding.finish(self._store), None)

    @described_by(Memory.import_memories)
    async def import_memories(
        self,
        rows: importing.Rows,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        model: str | None = None,
        embed: bool = False,
        dry_run: bool = False,
        on_progress: importing.Progress | None = None,
        actor: str | None = None,
        connection: Any = None,
    ) -> dict[str, Any]:
        flow = importing.import_memories(
            self._store,
            rows,
            user_id=user_id,
            agent_id=agent_id,
            run_id=run_id,
            model=model,
            embeds=embed,
            dry_run=dry_run,
            on_progress=on_progress,
            actor=actor,
        )
        return await self._run(flow, connection)

    @described_by(Memory.import_mem0)
    async def import_mem0(
        self,
        vector_dsn: str | None = None,
        *,
        collection: str = "mem0",
        history_db: str | Path | None = None,
        dump: importing.Rows | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        model: str | None = None,
        embed: bool = False,
        dry_run: bool = False,
        on_progress: importing.Progress | None = None,
        actor: str | None = None,
        connection: Any = None,
    ) -> dict[str, Any]:
        flow = moving.import_mem0(
            self._store,
            vector_dsn=vector_dsn,
            collection=collection,
            history_db=history_db,
            dump_=dump,
            user_id=user_id,
            agent_id=agent_id,
            run_id=run_id,
            model=model,
            embeds=embed,
            dry_run=dry_run,
            on_progress=on_progress,
            actor=actor,
        )
        return await self._run(flow, connection)

    @described_by(Memory.delete)
    async def delete(
        self,
        memory_id: str,
        *,
        expected_version: int | None = None,
        actor: str | None = None,
        connection: Any = None,
    ) -> dict[str, Any]:
        flow = flows.delete(self._store, memory_id, expected_version=expected_version, actor=actor)
        return await self._run(flow, connection)

    @described_by(Memory.delete_all)
    async def delete_all(
        self,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        *,
        filters: Mapping[str, Any] | None = None,
        actor: str | None = None,
        connection: Any = None,
    ) -> dict[str, Any]:
        return await self._run(
            flows.delete_all(self._store, user_id, agent_id, run_id, filters, actor), connection
        )

    @described_by(Memory.erase)
    async def erase(
        self,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        *,
        actor: str | None = None,
        connection: Any = None,
    ) -> dict[str, Any]:
        return await self._run(
            flows.erase(self._store, user_id, agent_id, run_id, actor), connection
        )

    @described_by(Memory.restore)
    async def restore(
        self,
        memory_id: str,
        *,
        version: int | None = None,
        as_of: datetime | date | str | float | None = None,
        expected_version: int | None = None,
        actor: str | None = None,
        connection: Any = None,
    ) -> dict[str, Any]:
        flow = reverting.restore(
            self._store,
            memory_id,
            version=version,
            as_of=as_of,
            expected_version=expected_version,
            actor=actor,
        )
        return await self._run(flow, connection)

    @described_by(Memory.undo)
    async def undo(
        self,
        change_id: str,
        *,
        force: bool = False,
        actor: str | None = None,
        connection: Any = None,
    ) -> dict[str, Any]:
        flow = reverting.undo(self._store, change_id, force=force, actor=actor)
        return await self._run(flow, connection)

    @described_by(Memory.changes)
    async def changes(
        self,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        *,
        top_k: int = TOP_K,
        after: str | None = None,
        connection: Any = None,
    ) -> dict[str, Any]:
        flow = reverting.changes(self._store, user_id, agent_id, run_id, top_k=top_k, after=after)
        return await self._run(flow, connection)

    @described_by(Memory.history)
    async def history(self, memory_id: str, *, connection: Any = None) -> list[dict[str, Any]]:
        return await self._read(flows.history(self._store, memory_id), connection)

    @described_by(Memory.belongs_to)
    async def belongs_to(
        self,
        memory_id: str,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        *,
        connection: Any = None,
    ) -> bool:
        flow = flows.belongs_to(self._store, memory_id, user_id, agent_id, run_id)
        return await self._read(flow, connection)

    @described_by(Memory.changes_since)
    async def changes_since(
        self, cursor: str | None = None, limit: int = feed.LIMIT, *, connection: Any = None
    ) -> dict[str, Any]:
        return await self._run(feed.changes_since(self._store, cursor, limit), connection)

    @described_by(Memory.messages)
    async def messages(
        self,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        *,
        connection: Any = None,
    ) -> list[dict[str, Any]]:
        return await self._run(flows.messages(self._store, user_id, agent_id, run_id), connection)

    @described_by(Memory.scopes)
    async def scopes(
        self,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        *,
        connection: Any = None,
    ) -> list[dict[str, Any]]:
        return await self._read(flows.scopes(self._store, user_id, agent_id, run_id), connection)

    @described_by(Memory.metadata_values)
    async def metadata_values(
        self,
        key: str,
        *,
        filters: Mapping[str, Any] | None = None,
        show_expired: bool = False,
        connection: Any = None,
    ) -> list[dict[str, Any]]:
        flow = flows.metadata_values(self._store, key, filters=filters, show_expired=show_expired)
        return await self._read(flow, connection)

    @described_by(Memory.reset)
    async def reset(self, *, actor: str | None = None, connection: Any = None) -> None:
        await self._run(flows.reset(self._store, actor), connection)
