"""Workload I: ready facts from a file, beside a bare COPY of the rows that come of them."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from benchmarks import bare, filling, measure
from benchmarks.cpu import ServerCpu
from benchmarks.options import Options
from benchmarks.place import Place, lay
from benchmarks.progress import bar
from benchmarks.text import Writer
from benchmarks.timing import Batch, ModelClock, timed
from benchmarks.vectors import Vectors
from memlayer_pg import Config, Memory
from memlayer_pg.cli.lines import Lines

USERS = 100
ROUNDS = 5
TABLES = ("memory", "entity", "mention")
PIECE = 1 << 20
NAME = "benchmark_import"

Rows = dict[str, tuple[list[str], bytes]]
"""Columns and binary COPY data of each table."""


def run(options: Options, place: Place, vectors: Vectors) -> dict[str, list[dict[str, Any]]]:
    """Import and COPY in turns, each into new tables; the times are those of all rows."""
    size = options.scaled(options.imported)
    path = place.folder / "import.jsonl"
    write(path, options, vectors, size)
    spent: dict[str, Batch] = {"ours": Batch(), "plain": Batch()}
    server = ServerCpu(place.postmaster)
    rows: Rows = {}
    rounds = min(ROUNDS, options.effort.rounds)
    with bar(f"I: importing {size:,} memories", 2 * rounds) as done:
        for number in range(rounds):
            dsn = place.create(NAME)
            lay(dsn)
            bare.lay(dsn)
            for name in ("ours", "plain") if number % 2 == 0 else ("plain", "ours"):
                _checkpoint(dsn)
                begun = server.now()
                if name == "ours":
                    batch = timed([lambda dsn=dsn: ours(dsn, path)], 1, ModelClock())  # type: ignore[misc]
                else:
                    batch = timed([plain(dsn, rows)], 1, ModelClock())
                batch.server_cpu = server.now() - begun
                spent[name].extend(batch)
                rows = rows or stored(dsn)
                done(1)
    place.drop(NAME)
    path.unlink()
    about = {"workload": "I", "per_user": size // USERS, "memories": size}
    return {"speed": measure.rows(spent, **about, operation="import", clients=1)}


def write(path: Path, options: Options, vectors: Vectors, size: int) -> None:
    """The file, as `memlayer export` writes it."""
    writer = Writer(options.seed, max(1, size // USERS))
    users = [f"user{n}" for n in range(USERS)]
    facts = [writer.fact(user, n) for user, n in filling.order(users, writer.per_user)][:size]
    named: set[uuid.UUID] = set()
    with path.open("w", encoding="utf-8") as file:
        for place, fact in enumerate(facts):
            entities: list[dict[str, Any]] = []
            for name, kind in fact.entities:
                entity: dict[str, Any] = {"name": name, "type": kind}
                if (id_ := filling.entity_id(fact.user, name)) not in named:
                    named.add(id_)
                    entity["embedding"] = encoded(vectors, name)
                entities.append(entity)
            line = {
                "id": str(fact.id),
                "memory": fact.text,
                "user_id": fact.user,
                "metadata": fact.metadata,
                "created_at": filling.moment(place).isoformat(),
                "attributed_to": "user",
                "embedding": encoded(vectors, fact.text),
                "embedding_model": filling.MODEL,
                "entities": entities,
            }
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def encoded(vectors: Vectors, text: str) -> str:
    return base64.b64encode(vectors.of([text])[0].astype("<f4").tobytes()).decode()


def ours(dsn: str, path: Path) -> None:
    """What `memlayer import` does."""
    with Memory(Config(dsn=dsn), embedder=NoEmbedder()) as memory, path.open("rb") as file:
        memory.import_memories(Lines(file))


def plain(dsn: str, rows: Rows) -> Callable[[], None]:
    """One transaction that copies finished rows into tables like ours, without triggers of ours."""

    def copy() -> None:
        with psycopg.connect(dsn) as conn:
            for table, (columns, data) in rows.items():
                names = sql.SQL(", ").join(map(sql.Identifier, columns))
                statement = sql.SQL("copy bare.{} ({}) from stdin (format binary)")
                with conn.cursor().copy(statement.format(sql.Identifier(table), names)) as writer:
                    for piece in pieces(data):
                        writer.write(piece)

    return copy


def pieces(data: bytes) -> Iterator[bytes]:
    return (data[place : place + PIECE] for place in range(0, len(data), PIECE))


def stored(dsn: str) -> Rows:
    """What the import stored, in the order it did."""
    found: Rows = {}
    with psycopg.connect(dsn) as conn:
        for table in TABLES:
            columns = bare.columns(conn, table)
            statement = sql.SQL(
                "copy (select {} from memlayer.{} order by ctid) to stdout (format binary)"
            )
            names = sql.SQL(", ").join(map(sql.Identifier, columns))
            with conn.cursor().copy(statement.format(names, sql.Identifier(table))) as reader:
                found[table] = columns, b"".join(reader)
    return found


def _checkpoint(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("checkpoint")


class NoEmbedder:
    """Nothing is to be embedded."""

    def embed_query(self, text: str) -> list[float]:
        raise AssertionError("everything has its vector")

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise AssertionError("everything has its vector")
