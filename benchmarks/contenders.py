"""Those who are measured, each by the calls its own users would make.

`prepare` is not timed: it does what happens before the clock starts (for a plain query, having the
vector at hand). The operations and their arguments:

| operation | arguments |
|---|---|
| search, search_filtered | user, question; category |
| add | user, number: three facts are drawn from `Writer.talk` |
| add_verbatim | user, texts |
| update, update_metadata | id, text; metadata |
| delete, get, history | id |
| delete_all | user |
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from queue import LifoQueue
from typing import Any, Protocol

import psycopg
from pgvector import HalfVector, Vector
from psycopg.types.json import Jsonb

from benchmarks.cpu import ServerCpu
from benchmarks.endpoint import Running
from benchmarks.filling import MODEL, connect
from benchmarks.text import Writer
from benchmarks.timing import Batch, ModelClock, timed
from benchmarks.vectors import Vectors
from memlayer_pg import Config, Endpoint, Memory

TOP_K = 20
Arguments = dict[str, Any]
Call = Callable[[], object]


class Contender(Protocol):
    """Somebody who is measured; `name` is what the table calls them."""

    name: str

    def can(self, operation: str) -> bool:
        """Whether this operation means anything here."""

    def run(self, operation: str, arguments: Sequence[Arguments], clients: int) -> Batch:
        """Make the calls and time them."""

    def close(self) -> None: ...


class Local:
    """What contenders of this process have in common: each operation is a method `_operation`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.clock = ModelClock()

    def can(self, operation: str) -> bool:
        return hasattr(self, f"_{operation}")

    def run(self, operation: str, arguments: Sequence[Arguments], clients: int) -> Batch:
        prepare = getattr(self, f"_{operation}")
        return timed([prepare(**given) for given in arguments], clients, self.clock)


class Ours(Local):
    """memlayer-pg, by its Python API."""

    def __init__(self, dsn: str, endpoint: Running, writer: Writer, name: str = "ours") -> None:
        super().__init__(name)
        self.memory = Memory(
            Config(
                dsn=dsn,
                llm=Endpoint(model="ours", base_url=endpoint.base_url, api_key="none"),
                embedder=Endpoint(model=MODEL, base_url=endpoint.base_url, api_key="none"),
            )
        )
        self._writer = writer
        self.clock.watch(self.memory.embedding_model, "embed")
        self.clock.watch(self.memory.llm, "generate")

    def close(self) -> None:
        self.memory.close()

    def _search(self, user: str, question: str) -> Call:
        return lambda: self.memory.search(question, top_k=TOP_K, filters={"user_id": user})

    def _search_filtered(self, user: str, question: str, category: str) -> Call:
        filters = {"user_id": user, "category": category}
        return lambda: self.memory.search(question, top_k=TOP_K, filters=filters)

    def _add(self, user: str, number: int) -> Call:
        talk = self._writer.talk(user, number)
        return lambda: self.memory.add(talk, user_id=user)

    def _add_verbatim(self, user: str, texts: list[str]) -> Call:
        said: list[dict[str, Any]] = [{"role": "user", "content": text} for text in texts]
        return lambda: self.memory.add(said, user_id=user, infer=False)

    def _update(self, id: str, text: str) -> Call:
        return lambda: self.memory.update(id, text)

    def _update_metadata(self, id: str, metadata: dict[str, Any]) -> Call:
        return lambda: self.memory.update(id, metadata=metadata)

    def _delete(self, id: str) -> Call:
        return lambda: self.memory.delete(id)

    def _delete_all(self, user: str) -> Call:
        return lambda: self.memory.delete_all(user_id=user)

    def _history(self, id: str) -> Call:
        return lambda: self.memory.history(id)

    def _get(self, id: str) -> Call:
        return lambda: self.memory.get(id)


class Connections:
    """Connections that are lent for a call, which is what a pool comes to."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._open: list[psycopg.Connection[Any]] = []
        self._idle: LifoQueue[psycopg.Connection[Any]] = LifoQueue()

    def have(self, clients: int) -> None:
        """Open as many as there are clients."""
        while len(self._open) < clients:
            conn = connect(self._dsn)
            conn.autocommit = True
            self._open.append(conn)
            self._idle.put(conn)

    @contextmanager
    def lent(self) -> Iterator[psycopg.Connection[Any]]:
        conn = self._idle.get()
        try:
            yield conn
        finally:
            self._idle.put(conn)

    def close(self) -> None:
        for conn in self._open:
            conn.close()


class Plain(Local):
    """Statements written by hand on the plain table: the floor of each operation.

    For everything that writes it is the insertion of one row of that width, and its commit.
    """

    table = "plain"
    shape: Any = Vector

    def __init__(self, dsn: str, vectors: Vectors, name: str = "plain") -> None:
        super().__init__(name)
        self._vectors = vectors
        self._connections = Connections(dsn)

    def run(self, operation: str, arguments: Sequence[Arguments], clients: int) -> Batch:
        self._connections.have(clients)
        return super().run(operation, arguments, clients)

    def close(self) -> None:
        self._connections.close()

    def _rows(self, query: str, args: Sequence[Any]) -> Call:
        def rows() -> list[Any]:
            with self._connections.lent() as conn, conn.cursor(binary=True) as cursor:
                return cursor.execute(query, args, prepare=True).fetchall()

        return rows

    def _search(self, user: str, question: str) -> Call:
        vector = self.shape(self._vectors.of([question])[0])
        return self._rows(
            f"select id from {self.table} where user_id = %s order by embedding <=> %b "
            f"limit {TOP_K}",
            [user, vector],
        )

    def _search_filtered(self, user: str, question: str, category: str) -> Call:
        vector = self.shape(self._vectors.of([question])[0])
        return self._rows(
            f"select id from {self.table} where user_id = %s and metadata @> %s "
            f"order by embedding <=> %b limit {TOP_K}",
            [user, Jsonb({"category": category}), vector],
        )


class Written(Plain):
    """The plain table, with the floors of what is not a search."""

    def _insert(self, user: str, text: str) -> Call:
        metadata = Jsonb({"category": "c1", "source": "chat", "importance": 1, "pinned": False})
        row = [uuid.uuid4(), user, text, metadata, Vector(self._vectors.of([text])[0])]

        def insert() -> None:
            with self._connections.lent() as conn:
                conn.execute(
                    "insert into plain (id, user_id, text, metadata, embedding, created_at) "
                    "values (%s, %s, %s, %s, %b, now())",
                    row,
                    prepare=True,
                )

        return insert

    def _add(self, user: str, number: int) -> Call:
        return self._insert(user, f"one row of about a dozen words for user {user} {number}")

    def _add_verbatim(self, user: str, texts: list[str]) -> Call:
        return self._insert(user, texts[0])

    def _update(self, id: str, text: str) -> Call:
        return self._insert("update", text)

    def _update_metadata(self, id: str, metadata: dict[str, Any]) -> Call:
        return self._insert("update", f"one row of about a dozen words for {id}")

    def _delete(self, id: str) -> Call:
        return self._insert("delete", f"one row of about a dozen words for {id}")

    def _history(self, id: str) -> Call:
        return self._rows(
            "select * from plain_history where memory_id = %s order by created_at", [uuid.UUID(id)]
        )

    def _get(self, id: str) -> Call:
        return self._rows(
            "select id, user_id, text, metadata, created_at from plain where id = %s",
            [uuid.UUID(id)],
        )

    def _delete_all(self, user: str) -> Call:
        """From tables like ours, with the same foreign keys and indexes and without history."""

        def delete() -> None:
            with self._connections.lent() as conn, conn.transaction():
                for table in ("memory", "entity"):
                    conn.execute(
                        f"delete from bare.{table} where tenant = 'default' and user_id = %s",
                        [user],
                    )

        return delete


class Best(Plain):
    """The same searches on the best layout: half-precision vectors inside the row."""

    table = "best"
    shape = HalfVector


class Measured:
    """A contender whose calls are measured at the server too."""

    def __init__(self, contender: Contender, server: ServerCpu) -> None:
        self.name = contender.name
        self.can = contender.can
        self.close = contender.close
        self._contender = contender
        self._server = server

    def run(self, operation: str, arguments: Sequence[Arguments], clients: int) -> Batch:
        before = self._server.now()
        batch = self._contender.run(operation, arguments, clients)
        batch.server_cpu = self._server.now() - before
        return batch
