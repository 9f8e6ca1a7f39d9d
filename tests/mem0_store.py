"""A store such as mem0 writes: the same tables in Postgres and SQLite, filled by our own code.

`python -m tests.mem0_store DSN FILE 50000 64` fills one; tests/cli/test_moving_real.py compares its
tables with those that mem0 itself makes.
"""

from __future__ import annotations

import hashlib
import json
import random
import sqlite3
import sys
import uuid
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

TABLE = "create table {} (id uuid primary key, vector vector({}), payload jsonb)"
HISTORY = (
    "create table history (id text primary key, memory_id text, old_memory text, new_memory text,"
    " event text, created_at datetime, updated_at datetime, is_deleted integer, actor_id text,"
    " role text)"
)
MESSAGES = (
    "create table messages (id text primary key, session_scope text, role text, content text,"
    " name text, created_at datetime)"
)
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


class Mem0Store:
    """Tables of mem0 that a test fills as it likes."""

    def __init__(self, dsn: str, file: Path, dimensions: int = 3, collection: str = "mem0") -> None:
        self.dsn = dsn
        self.file = file
        self.collection = collection
        with psycopg.connect(dsn) as conn:
            conn.execute("create extension if not exists vector")
            for name in (collection, f"{collection}_entities"):
                conn.execute(sql.SQL(TABLE).format(sql.Identifier(name), sql.Literal(dimensions)))
        if not file.exists():
            with closing(sqlite3.connect(file)) as lite, lite:
                lite.execute(HISTORY)
                lite.execute(MESSAGES)

    def memory(
        self,
        id_: str,
        text: str | None,
        vector: list[float] | None = None,
        recorded: bool = True,
        **payload: Any,
    ) -> None:
        """A memory as an add of mem0 leaves it, unless `payload` says otherwise."""
        created = BEGIN.isoformat()
        given = {
            "data": text,
            "text_lemmatized": (text or "").lower(),
            "hash": hashlib.md5((text or "").encode()).hexdigest(),
            "created_at": created,
            "updated_at": created,
            **payload,
        }
        self.insert(self.collection, id_, vector, given)
        if recorded:
            self.event(id_, "ADD", None, text, created)

    def entity(
        self, name: str, linked: list[str], vector: list[float] | None = None, **ids: str
    ) -> None:
        """An entity and the memories that name it."""
        payload = {"data": name, "entity_type": "PROPER", "linked_memory_ids": linked, **ids}
        self.insert(f"{self.collection}_entities", str(uuid.uuid4()), vector, payload)

    def insert(
        self, table: str, id_: str, vector: list[float] | None, payload: dict[str, Any] | None
    ) -> None:
        """A row of a table."""
        with psycopg.connect(self.dsn) as conn:
            conn.execute(
                sql.SQL("insert into {} values (%s, %s, %s)").format(sql.Identifier(table)),
                [id_, None if vector is None else str(vector), json.dumps(payload)],
            )

    def event(
        self,
        memory_id: str,
        event: str,
        old: Any,
        new: Any,
        created: str | None,
        updated: str | None = None,
    ) -> None:
        """A row of the history."""
        self.lite(
            "insert into history values (?, ?, ?, ?, ?, ?, ?, ?, null, null)",
            str(uuid.uuid4()), memory_id, old, new, event, created, updated, event == "DELETE",
        )  # fmt: skip

    def message(self, scope: str, role: str, content: Any, at: datetime = BEGIN) -> None:
        """A buffered message."""
        self.lite(
            "insert into messages values (?, ?, ?, ?, null, ?)",
            str(uuid.uuid4()), scope, role, content, at.isoformat(),
        )  # fmt: skip

    def lite(self, statement: str, *values: Any) -> None:
        """Run a statement in the SQLite file."""
        with closing(sqlite3.connect(self.file)) as lite, lite:
            lite.execute(statement, values)


def fill(store: Mem0Store, memories: int, dimensions: int, seed: int = 0) -> None:
    """Many memories of 100 users, one in ten of them updated once, with entities."""
    chance = random.Random(seed)
    made = list(_made(chance, memories, dimensions))
    names: dict[tuple[str, str], list[str]] = {}
    with psycopg.connect(store.dsn) as conn:
        table = sql.Identifier(store.collection)
        with conn.cursor().copy(sql.SQL("copy {} from stdin").format(table)) as copy:
            for id_, vector, payload in made:
                copy.write_row([id_, vector, json.dumps(payload)])
                name = payload["data"].split()[2]
                names.setdefault((payload["user_id"], name), []).append(id_)
        entities = sql.Identifier(f"{store.collection}_entities")
        with conn.cursor().copy(sql.SQL("copy {} from stdin").format(entities)) as copy:
            for (user, name), linked in names.items():
                payload = {"data": name, "entity_type": "PROPER", "linked_memory_ids": linked}
                id_ = str(uuid.UUID(int=chance.getrandbits(128), version=4))
                given = json.dumps({**payload, "user_id": user})
                copy.write_row([id_, _vector(chance, dimensions), given])
    with closing(sqlite3.connect(store.file)) as lite, lite:
        lite.executemany(
            "insert into history values (?, ?, ?, ?, ?, ?, ?, 0, null, null)",
            (event for memory in made for event in _events(chance, *memory)),
        )


def _made(
    chance: random.Random, memories: int, dimensions: int
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for number in range(memories):
        created = (BEGIN + timedelta(minutes=number)).isoformat()
        text = f"User met Eve{chance.randrange(50)} on day {number} in town {chance.randrange(999)}"
        changed = number % 10 == 0
        updated = (BEGIN + timedelta(minutes=number, hours=1)).isoformat() if changed else created
        yield str(uuid.UUID(int=chance.getrandbits(128), version=4)), _vector(chance, dimensions), {
            "data": text,
            "text_lemmatized": text.lower(),
            "hash": hashlib.md5(text.encode()).hexdigest(),
            "created_at": created,
            "updated_at": updated,
            "user_id": f"user{number % 100}",
            "attributed_to": "user",
            "topic": f"topic{number % 7}",
        }  # fmt: skip


def _events(
    chance: random.Random, id_: str, vector: str, payload: dict[str, Any]
) -> Iterator[tuple[Any, ...]]:
    text, created, updated = payload["data"], payload["created_at"], payload["updated_at"]
    first = text if created == updated else f"{text}, perhaps"
    keys = (str(uuid.UUID(int=chance.getrandbits(128))) for _ in range(2))
    yield next(keys), id_, None, first, "ADD", created, None
    if first != text:
        yield next(keys), id_, first, text, "UPDATE", created, updated


def _vector(chance: random.Random, dimensions: int) -> str:
    return str([round(chance.gauss(0, 1), 6) for _ in range(dimensions)])


if __name__ == "__main__":
    target, path, count, size = sys.argv[1:]
    fill(Mem0Store(target, Path(path), int(size)), int(count), int(size))
