"""Filling tables with invented memories, the same in all of them.

Memories come in the order in which users would have told them, each in turn, so that nobody's lie
together on the disk. Ours go in by COPY with all triggers on: what stands there afterwards is what
`add` stores, history included, save for the rows of `change` and `message` that belong to a call.
mem0's tables are filled past its code, with rows of the form that its `add` makes.
"""

from __future__ import annotations

import hashlib
import sqlite3
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar, Protocol

import psycopg
from pgvector import HalfVector, Vector
from pgvector.psycopg import register_vector
from psycopg.types.json import Jsonb

from benchmarks.place import one
from benchmarks.text import Fact, Writer
from benchmarks.vectors import Matrix, Vectors

MODEL = "benchmark"
"""What the scripted embedder is called."""
TENANT = "default"
CHUNK = 1000
BEGIN = datetime(2025, 1, 1, tzinfo=UTC)

Progress = Callable[[int], None]


def moment(place: int) -> datetime:
    """When the memory at this place of the whole workload was told."""
    return BEGIN + timedelta(seconds=place)


def order(users: Sequence[str], per_user: int) -> Iterator[tuple[str, int]]:
    """All memories, everybody's first, then everybody's second, …"""
    return ((user, place) for place in range(per_user) for user in users)


class Store(Protocol):
    """Tables to be filled."""

    def fill(self, begin: int, facts: Sequence[Fact], vectors: Matrix) -> None:
        """Add memories, the first of which is the workload's `begin`th."""

    def finish(self) -> None:
        """Make what is better made when all is there, and leave the tables in good order."""


def fill(
    stores: Iterable[Store],
    writer: Writer,
    vectors: Vectors,
    wanted: Iterable[tuple[str, int]],
    progress: Progress,
    begin: int = 0,
) -> int:
    """Fill stores with the wanted memories; how many there were, counted from `begin`."""
    stores = list(stores)
    chunk: list[Fact] = []

    def pour() -> None:
        nonlocal begin
        rows = vectors.of([fact.text for fact in chunk])
        for store in stores:
            store.fill(begin, chunk, rows)
        begin += len(chunk)
        progress(len(chunk))
        chunk.clear()

    for user, place in wanted:
        chunk.append(writer.fact(user, place))
        if len(chunk) == CHUNK:
            pour()
    if chunk:
        pour()
    return begin


def copy(
    conn: psycopg.Connection[Any], table: str, columns: dict[str, str], rows: Iterable[Any]
) -> None:
    """COPY rows into columns (name → type), in binary form."""
    names = ", ".join(columns)
    with conn.cursor().copy(f"copy {table} ({names}) from stdin (format binary)") as writer:
        writer.set_types(list(columns.values()))
        for row in rows:
            writer.write_row(row)


def vacuum(conn: psycopg.Connection[Any]) -> None:
    """What autovacuum would do, and a checkpoint, so that neither comes in the middle."""
    conn.commit()
    conn.autocommit = True
    conn.execute("vacuum (analyze)")
    conn.execute("checkpoint")
    conn.autocommit = False


def connect(dsn: str) -> psycopg.Connection[Any]:
    """A connection that knows vectors."""
    conn = psycopg.connect(dsn)
    conn.execute("create extension if not exists vector")
    conn.commit()
    register_vector(conn)
    return conn


def entity_id(user: str, name: str) -> uuid.UUID:
    return uuid.UUID(bytes=hashlib.md5(f"{user}:{name}".encode()).digest(), version=4)


class Ours:
    """The schema memlayer."""

    MEMORY: ClassVar = {
        "tenant": "text", "id": "uuid", "user_id": "text", "text": "text", "embedding": "halfvec",
        "embedding_model": "int8", "metadata": "jsonb", "attributed_to": "text",
        "observed_at": "timestamptz", "created_at": "timestamptz",
    }  # fmt: skip
    ENTITY: ClassVar = {
        "tenant": "text", "id": "uuid", "user_id": "text", "name": "text", "type": "text",
        "embedding": "halfvec", "embedding_model": "int8", "created_at": "timestamptz",
    }  # fmt: skip
    MENTION: ClassVar = {"tenant": "text", "memory_id": "uuid", "entity_id": "uuid"}

    def __init__(self, dsn: str, vectors: Vectors) -> None:
        self._conn = connect(dsn)
        self._vectors = vectors
        self._entities: set[uuid.UUID] = set()
        self._model = one(
            self._conn, "select memlayer.active_model(%s, %s, %s)", TENANT, MODEL,
            vectors.dimensions,
        )  # fmt: skip

    def fill(self, begin: int, facts: Sequence[Fact], vectors: Matrix) -> None:
        memories, entities, mentions = [], [], []
        for place, (fact, vector) in enumerate(zip(facts, vectors, strict=True), begin):
            told = moment(place)
            memories.append(
                (TENANT, fact.id, fact.user, fact.text, HalfVector(vector), self._model,
                 Jsonb(fact.metadata), "user", told, told)
            )  # fmt: skip
            for name, kind in fact.entities:
                id_ = entity_id(fact.user, name)
                mentions.append((TENANT, fact.id, id_))
                if id_ not in self._entities:
                    self._entities.add(id_)
                    entities.append((id_, fact.user, name, kind, told))
        named = self._vectors.of([name for _, _, name, _, _ in entities])
        copy(self._conn, "memlayer.memory", self.MEMORY, memories)
        copy(
            self._conn,
            "memlayer.entity",
            self.ENTITY,
            (
                (TENANT, id_, user, name, kind, HalfVector(vector), self._model, told)
                for (id_, user, name, kind, told), vector in zip(entities, named, strict=True)
            ),
        )
        copy(self._conn, "memlayer.mention", self.MENTION, mentions)
        self._conn.commit()

    def finish(self) -> None:
        self._conn.execute("select memlayer.calibrate(%s, %s)", [TENANT, self._model])
        self._conn.execute("select memlayer.refresh_statistics(%s)", [TENANT])
        vacuum(self._conn)
        self._conn.close()


class Plain:
    """A table as one would make it by hand, and a history; `vector`: what the vectors are kept in.

    "halfvec" is the best layout: half the size, and inside the row.
    """

    COLUMNS: ClassVar = {
        "id": "uuid", "user_id": "text", "text": "text", "metadata": "jsonb",
        "created_at": "timestamptz",
    }  # fmt: skip
    HISTORY: ClassVar = {
        "id": "uuid", "memory_id": "uuid", "event": "text", "new_text": "text",
        "created_at": "timestamptz",
    }  # fmt: skip

    def __init__(self, dsn: str, vectors: Vectors, vector: str = "vector") -> None:
        self._vector = vector
        self._table = "plain" if vector == "vector" else "best"
        self._conn = connect(dsn)
        self._conn.execute(
            f"""
            create table {self._table} (
              id uuid primary key, user_id text not null, text text not null, metadata jsonb,
              embedding {vector}({vectors.dimensions}), created_at timestamptz);
            create index on {self._table} (user_id);
            """
        )
        if vector == "halfvec":
            self._conn.execute("alter table best alter column embedding set storage main")
            self._conn.execute("alter table best set (toast_tuple_target = 8160)")
        else:
            self._conn.execute(
                """
                create table plain_history (
                  id uuid primary key, memory_id uuid not null, event text not null,
                  old_text text, new_text text, created_at timestamptz);
                create index on plain_history (memory_id);
                """
            )

    def fill(self, begin: int, facts: Sequence[Fact], vectors: Matrix) -> None:
        shape: Any = Vector if self._vector == "vector" else HalfVector
        copy(
            self._conn,
            self._table,
            {**self.COLUMNS, "embedding": self._vector},
            (
                (fact.id, fact.user, fact.text, Jsonb(fact.metadata), moment(place), shape(vector))
                for place, (fact, vector) in enumerate(zip(facts, vectors, strict=True), begin)
            ),
        )
        if self._table == "plain":
            copy(
                self._conn,
                "plain_history",
                self.HISTORY,
                (
                    (uuid.uuid4(), fact.id, "ADD", fact.text, moment(place))
                    for place, fact in enumerate(facts, begin)
                ),
            )
        self._conn.commit()

    def finish(self) -> None:
        vacuum(self._conn)
        self._conn.close()


class Mem0:
    """mem0's two tables and its SQLite file, which its own code has made; its vector indexes are
    taken down meanwhile. `lemmatise`: its treatment of texts for keyword search."""

    ROW: ClassVar = {"id": "uuid", "vector": "vector", "payload": "jsonb"}
    INDEXES = ("mem0_hnsw_idx", "mem0_entities_hnsw_idx")

    def __init__(
        self, dsn: str, history: Path, vectors: Vectors, lemmatise: Callable[[list[str]], list[str]]
    ) -> None:
        self._conn = connect(dsn)
        self._history = history
        self._vectors = vectors
        self._lemmatise = lemmatise
        self._named: dict[tuple[str, str, str], list[str]] = {}
        self._indexes = [
            one(self._conn, "select indexdef from pg_indexes where indexname = %s", name)
            for name in self.INDEXES
        ]
        for name in self.INDEXES:
            self._conn.execute(f"drop index {name}")

    def fill(self, begin: int, facts: Sequence[Fact], vectors: Matrix) -> None:
        rows, events = [], []
        lemmas = self._lemmatise([fact.text for fact in facts])
        for place, (fact, vector, lemma) in enumerate(
            zip(facts, vectors, lemmas, strict=True), begin
        ):
            told = moment(place).isoformat()
            payload = {
                **fact.metadata,
                "user_id": fact.user,
                "data": fact.text,
                "text_lemmatized": lemma,
                "hash": hashlib.md5(fact.text.encode()).hexdigest(),
                "created_at": told,
                "updated_at": told,
                "attributed_to": "user",
            }
            rows.append((fact.id, Vector(vector), Jsonb(payload)))
            events.append((str(uuid.uuid4()), str(fact.id), fact.text, "ADD", told, told))
            for name, kind in fact.entities:
                self._named.setdefault((fact.user, name, kind), []).append(str(fact.id))
        copy(self._conn, "mem0", self.ROW, rows)
        self._conn.commit()
        with closing(sqlite3.connect(self._history)) as history, history:
            history.executemany(
                "insert into history (id, memory_id, new_memory, event, created_at, updated_at, "
                "is_deleted) values (?, ?, ?, ?, ?, ?, 0)",
                events,
            )

    def finish(self) -> None:
        vectors = self._vectors.of([name for _, name, _ in self._named])
        copy(
            self._conn,
            "mem0_entities",
            self.ROW,
            (
                (
                    entity_id(user, name),
                    Vector(vector),
                    Jsonb(
                        {
                            "data": name,
                            "entity_type": "PROPER",
                            "linked_memory_ids": sorted(linked),
                            "user_id": user,
                        }
                    ),
                )
                for ((user, name, _), linked), vector in zip(
                    self._named.items(), vectors, strict=True
                )
            ),
        )
        self._conn.execute("set maintenance_work_mem = '2GB'")
        for index in self._indexes:
            self._conn.execute(index)
        vacuum(self._conn)
        self._conn.close()


def bytes_on_disk(dsn: str, schema: str, *tables: str) -> int:
    """Bytes of tables with their indexes and what is kept out of line; all of a schema's without
    names."""
    with psycopg.connect(dsn) as conn:
        found = one(
            conn,
            "select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint from pg_class c "
            "where c.relkind = 'r' and c.relnamespace = %s::regnamespace "
            "and (cardinality(%s::text[]) = 0 or c.relname = any (%s))",
            schema,
            list(tables),
            list(tables),
        )
    return int(found)
