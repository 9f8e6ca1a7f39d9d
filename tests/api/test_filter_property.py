"""Random filters through search and get_all, of both kinds, find what `filter_oracle` finds.

FILTER_CALLS sets how many filters are tried, 5,000 by default; FILTER_SEED makes them the same ones
again, which a failure names.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Iterator
from random import Random
from typing import Any

import psycopg
import pytest
from psycopg.sql import SQL, Identifier, Placeholder
from psycopg.types.json import Jsonb

from memlayer_pg import AsyncMemory, Config, Memory
from memlayer_pg.effects import Embedded
from tests.api.harness import model
from tests.conftest import create, named
from tests.endpoint import Endpoint
from tests.sql import filter_oracle
from tests.sql.filter_samples import a_filter, a_row

CALLS = int(os.environ.get("FILTER_CALLS") or 5000)
SEED = int(os.environ.get("FILTER_SEED") or Random().randrange(10**9))
ROWS = 60
ANN = "ann"

READ = """
select m.id::text, m.metadata, m.user_id, m.agent_id, m.run_id, m.actor_id, m.role, m.attributed_to,
       m.memory_type, m.created_at, m.updated_at, m.observed_at, m.expires_on
  from memlayer.memory m
"""


class Store:
    """Random rows of one user, among those of another; asked in each of the four ways in turn."""

    def __init__(self, dsn: str, endpoint: Endpoint, random: Random) -> None:
        config = Config(dsn=dsn, embedder=model(endpoint))
        self.memory, self.other = Memory(config), AsyncMemory(config)
        self.runner = asyncio.Runner()
        vector = self.memory.embedding_model.embed(["query"], "query")
        with psycopg.connect(dsn) as conn:
            for place in range(ROWS + 10):
                row = a_row(random) | {"user_id": ANN if place < ROWS else "bob"}
                store(conn, row, f"memory {place}", vector)
        with psycopg.connect(dsn, row_factory=psycopg.rows.dict_row) as conn:
            rows = conn.execute(READ).fetchall()
        self.rows = [readable(row) for row in rows if row["user_id"] == ANN]
        self.ways = [
            lambda asked: self.memory.search("query", **asked, threshold=0.0),
            lambda asked: self.memory.get_all(**asked),
            lambda asked: self.runner.run(self.other.search("query", **asked, threshold=0.0)),
            lambda asked: self.runner.run(self.other.get_all(**asked)),
        ]

    def found(self, way: int, tree: dict[str, Any]) -> set[str]:
        """The ids that a filter finds."""
        filters = {"user_id": ANN, "AND": [tree]}
        asked = {"filters": filters, "top_k": 2 * ROWS, "show_expired": True}
        return {item["id"] for item in self.ways[way](asked)["results"]}

    def close(self) -> None:
        self.memory.close()
        self.runner.run(self.other.aclose())
        self.runner.close()


def is_id(value: str) -> bool:
    """Whether an id of a scope may read like this."""
    return value != "*" and value != "" and not re.search(r"[\s\x00-\x1f]", value)


def store(conn: psycopg.Connection[Any], row: dict[str, Any], text: str, vector: Embedded) -> None:
    """Store a sample past the API, which would refuse some; all have one vector, so that a search
    finds all."""
    [model_] = conn.execute(
        "select memlayer.active_model('default', %s, %s)", [vector.model, len(vector.vectors[0])]
    )
    columns = {
        key: Jsonb(value) if key == "metadata" else value
        for key, value in row.items()
        if value is not None and not (key in ("agent_id", "run_id") and not is_id(value))
    } | {"text": text, "embedding": str(vector.vectors[0]), "embedding_model": model_[0]}
    query = SQL("insert into memlayer.memory ({}) values ({})").format(
        SQL(", ").join(map(Identifier, columns)), SQL(", ").join([Placeholder()] * len(columns))
    )
    conn.execute(query, list(columns.values()))


def readable(row: dict[str, Any]) -> dict[str, Any]:
    """A row as the oracle knows it."""
    times = {key: value.isoformat() for key, value in row.items() if hasattr(value, "isoformat")}
    return row | times


@pytest.fixture(scope="module")
def filled(server: str, template: str) -> Iterator[Store]:
    with Endpoint() as endpoint:
        store = Store(create(server, named(template)), endpoint, Random(SEED))
        yield store
        store.close()


def test_a_filter_finds_what_the_oracle_finds_by_every_call(filled: Store) -> None:
    random = Random(SEED)
    assert len(filled.rows) == ROWS
    hits = 0
    for number in range(CALLS):
        tree = a_filter(random)
        wanted = {row["id"] for row in filled.rows if filter_oracle.holds(tree, row)}
        # Each in turn; now and then all four.
        for way in range(4) if number % 50 == 0 else [number % 4]:
            found = filled.found(way, tree)
            assert found == wanted, f"FILTER_SEED={SEED}, way {way}: {json.dumps(tree)}"
        hits += 0 < len(wanted) < ROWS
    assert hits > CALLS / 5  # most of them say something
