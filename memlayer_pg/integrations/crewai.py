"""A storage backend for CrewAI's memory: `MemlayerStorage`. Needs the extra `crewai`.

    storage = MemlayerStorage(memory)
    crew = Crew(..., memory=crewai.Memory(storage=storage, embedder=storage.embedder))

CrewAI searches by a vector alone. Its embedder is that of the memory here, which remembers of what
text a vector is: so a search is one of ours, by words and names too.
"""

from __future__ import annotations

import asyncio
import threading
import uuid
from array import array
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from crewai.memory.types import MemoryRecord, ScopeInfo

from memlayer_pg import InputError, Memory, MemoryNotFound

ROLE = "record"
"""Tells a record from other memories; what has a role may say what another says."""
NAMESPACE = uuid.UUID("6d656d6c-6179-4572-8000-637265776169")
PAGE = 1000
REMEMBERED = 10_000
"""Vectors whose texts are remembered at a time."""


class MemlayerStorage:
    """CrewAI's records as memories of one agent.

    `memory`: a Memory, which is not closed. `agent_id`: the agent whose memories they are; storages
    of different agents see nothing of each other.
    """

    def __init__(self, memory: Memory, *, agent_id: str = "crewai") -> None:
        self.memory = memory
        self.agent_id = agent_id
        self._texts: OrderedDict[bytes, str] = OrderedDict()
        self._lock = threading.Lock()

    def embedder(self, texts: list[str]) -> list[list[float]]:
        """The vectors of texts, by the embedder of the memory: to be CrewAI's embedder."""
        answer = self.memory.embedding_model.embed(list(texts), "document")
        vectors = [[float(number) for number in vector] for vector in answer.vectors]
        with self._lock:
            for text, vector in zip(texts, vectors, strict=True):
                self._texts[_key(vector)] = text
            while len(self._texts) > REMEMBERED:
                self._texts.popitem(last=False)
        return vectors

    def save(self, records: list[MemoryRecord]) -> None:
        """Store records; one whose id stands already is left as it is."""
        rows = [
            {
                "id": _id(record.id),
                "memory": record.content,
                "agent_id": self.agent_id,
                "role": ROLE,
                "metadata": _metadata(record),
                "created_at": record.created_at,
            }
            for record in records
        ]
        if rows:
            self.memory.import_memories(rows, embed=True)

    def search(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """The records that fit best, each with its `semantic_score`: 0 for what is unrelated, to 1.

        `min_score`: the least cosine similarity. InputError for a vector that is not of `embedder`.
        """
        with self._lock:
            query = self._texts.get(_key(query_embedding))
        if query is None:
            raise InputError(
                "the vector is not of this storage's embedder",
                suggestion="Use crewai.Memory(storage=storage, embedder=storage.embedder).",
            )
        found = self.memory.search(
            query,
            filters=self._where(scope_prefix, categories, metadata_filter),
            top_k=limit,
            threshold=min(max(min_score, 0.0), 1.0),
            explain=True,
        )
        return [
            (_record(memory), memory["score_details"]["semantic_score"] or 0.0)
            for memory in found["results"]
        ]

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Forget the records that fit all that is given; how many there were."""
        where = self._where(scope_prefix, categories, metadata_filter)
        if older_than is not None:
            where["created_at"] = {"lt": _utc(older_than).isoformat()}
        if record_ids is None:
            number = self._total(where)
            self.memory.delete_all(filters=where)
            return number
        wanted = {_id(record_id) for record_id in record_ids}
        number = 0
        for memory in list(self._memories(where)):
            if memory["id"] in wanted:
                try:
                    self.memory.delete(memory["id"])
                except MemoryNotFound:  # somebody else did
                    continue
                number += 1
        return number

    def update(self, record: MemoryRecord) -> None:
        """Make a record what is given; what it was stays in the history of the memory."""
        if self.get_record(record.id) is None:
            self.save([record])
        else:
            self.memory.update(_id(record.id), record.content, metadata=_metadata(record))

    def get_record(self, record_id: str) -> MemoryRecord | None:
        """One record; None when there is none of this id."""
        memory = self.memory.get(_id(record_id))
        if memory is None or (memory.get("agent_id"), memory.get("role")) != (self.agent_id, ROLE):
            return None
        return _record(memory)

    def list_records(
        self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0
    ) -> list[MemoryRecord]:
        """The records of a scope and those below it, newest first."""
        found = self.memory.get_all(filters=self._where(scope_prefix), top_k=offset + limit)
        return [_record(memory) for memory in found["results"][offset:]]

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """What there is in a scope and those below it."""
        path = _path(scope)
        records = [_record(memory) for memory in self._memories(self._where(path))]
        times = [_utc(record.created_at) for record in records]
        return ScopeInfo(
            path=path,
            record_count=len(records),
            categories=sorted({name for record in records for name in record.categories}),
            oldest_record=min(times, default=None),
            newest_record=max(times, default=None),
            child_scopes=self.list_scopes(path),
        )

    def list_scopes(self, parent: str = "/") -> list[str]:
        """The scopes directly below another that have records, or have scopes with some."""
        path = _path(parent)
        depth = len(_prefixes(path))
        rows = self.memory.metadata_values("paths", filters=self._where(path))
        return sorted({row["value"][depth] for row in rows if len(row["value"]) > depth})

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """The categories of a scope and those below it, each with its number of records."""
        found: dict[str, int] = {}
        for row in self.memory.metadata_values("categories", filters=self._where(scope_prefix)):
            for name in row["value"]:
                found[name] = found.get(name, 0) + row["memories"]
        return found

    def count(self, scope_prefix: str | None = None) -> int:
        """How many records a scope and those below it have."""
        return self._total(self._where(scope_prefix))

    def reset(self, scope_prefix: str | None = None) -> None:
        """Forget the records of a scope and those below it; None: all of this storage."""
        self.memory.delete_all(filters=self._where(scope_prefix))

    async def asave(self, records: list[MemoryRecord]) -> None:
        """`save`, in a thread."""
        await asyncio.to_thread(self.save, records)

    async def asearch(
        self, query_embedding: list[float], *args: Any, **given: Any
    ) -> list[tuple[MemoryRecord, float]]:
        """`search`, in a thread."""
        return await asyncio.to_thread(self.search, query_embedding, *args, **given)

    async def adelete(self, *args: Any, **given: Any) -> int:
        """`delete`, in a thread."""
        return await asyncio.to_thread(self.delete, *args, **given)

    def _where(
        self,
        scope_prefix: str | None,
        categories: Sequence[str] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        where: dict[str, Any] = {"agent_id": self.agent_id, "role": ROLE}
        if scope_prefix is not None:
            where["paths"] = {"eq": _path(scope_prefix)}
        if categories:
            where["categories"] = {"in": list(categories)}
        for key, value in (metadata or {}).items():
            where[f"record.metadata.{key}"] = {"eq": value}
        return where

    def _total(self, where: dict[str, Any]) -> int:
        counted = self.memory.get_all(filters=where, top_k=0, with_total=True)
        return int(counted["total"])

    def _memories(self, where: dict[str, Any]) -> Iterator[dict[str, Any]]:
        after = None
        while True:
            page = self.memory.get_all(filters=where, top_k=PAGE, after=after)
            yield from page["results"]
            after = page.get("next")
            if after is None:
                return


def _metadata(record: MemoryRecord) -> dict[str, Any]:
    return {
        "paths": _prefixes(record.scope),
        "categories": record.categories,
        "record": record.model_dump(mode="json", exclude={"content", "embedding", "categories"}),
    }


def _record(memory: dict[str, Any]) -> MemoryRecord:
    metadata = memory["metadata"]
    return MemoryRecord(
        content=memory["memory"], categories=metadata["categories"], **metadata["record"]
    )


def _utc(moment: datetime) -> datetime:
    """A moment with its zone, which is UTC where it has none: so CrewAI makes them."""
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _id(record_id: str) -> str:
    """The id of the memory: the record's own, or one made of it where that is no UUID."""
    try:
        return str(uuid.UUID(record_id))
    except ValueError:
        return str(uuid.uuid5(NAMESPACE, record_id))


def _path(scope: str) -> str:
    return "/" + "/".join(part for part in scope.split("/") if part)


def _prefixes(scope: str) -> list[str]:
    """A scope and those above it, the highest first: "/", "/a", "/a/b"."""
    parts = [part for part in scope.split("/") if part]
    return ["/" + "/".join(parts[:n]) for n in range(len(parts) + 1)]


def _key(vector: Sequence[float]) -> bytes:
    return array("d", vector).tobytes()
