"""Random filters over random memories find, by every reader, what `filter_oracle` finds.

FILTER_TREES sets how many filters are tried (5,000 by default), FILTER_SEED makes a run of before
happen again: the seed stands in the message of a failure.
"""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from memlayer_pg import AsyncMemory, Config, InputError, Memory, checks
from memlayer_pg.effects import Embedded
from tests.sql import filter_oracle
from tests.sql.filter_rows import Row
from tests.sql.filter_samples import a_filter, a_row, parts

TREES = int(os.environ.get("FILTER_TREES", "5000"))
SEED = int(os.environ.get("FILTER_SEED") or Random().randrange(2**32))
ROWS = 60
STORES = 10
"""Sets of rows among which the filters are spread."""
IMPORTED = ("metadata", "agent_id", "run_id", "actor_id", "role", "attributed_to", "memory_type")


CALLS = ("Memory.search", "Memory.get_all", "AsyncMemory.search", "AsyncMemory.get_all")


class Same:
    """An embedder to which all texts are alike: only the filter tells memories apart."""

    name = "same"

    def embed(self, texts: Sequence[str], purpose: str) -> Embedded:
        return Embedded([[1.0, 0.0]] * len(texts), self.name)

    async def aembed(self, texts: Sequence[str], purpose: str) -> Embedded:
        return self.embed(texts, purpose)

    def close(self) -> None:
        """There is nothing to close."""

    async def aclose(self) -> None:
        """There is nothing to close."""


def a_memory(random: Random, number: int) -> Row:
    """A random row as `import_memories` takes it."""
    row = a_row(random)
    for name in ("agent_id", "run_id"):  # not every text names somebody
        try:
            row[name] = checks.scope_id(name, row[name])
        except InputError:
            row[name] = None
    return {
        "id": str(uuid.UUID(int=random.getrandbits(128), version=4)),
        "memory": f"row {number}",
        "user_id": "ann",
        "expiration_date": row["expires_on"],
        **{name: row[name] for name in (*IMPORTED, "created_at", "observed_at")},
    }


def asked(tree: Row) -> Row:
    """A filter within a scope, at its top where no id of it stands in the way of the scope's."""
    if {"user_id", "agent_id", "run_id"} & set(tree):
        return {"user_id": "ann", "AND": [tree]}
    return {"user_id": "ann"} | tree


class Readers:
    """The four calls, on one store of random rows."""

    def __init__(self, dsn: str, runner: asyncio.Runner, random: Random) -> None:
        config = Config(dsn=dsn, tenant=f"trees-{random.getrandbits(64)}")
        self._memory = Memory(config, embedder=Same())
        self._async = AsyncMemory(config, embedder=Same())
        self._runner = runner
        rows = [a_memory(random, number) for number in range(ROWS)]
        assert self._memory.import_memories(rows, embed=True)["added"] == ROWS
        stored = self._memory.get_all(filters={"user_id": "ann"}, top_k=ROWS, show_expired=True)[
            "results"
        ]
        times = {item["id"]: item for item in stored}
        self.rows = {
            row["id"]: row
            | {"expires_on": row["expiration_date"]}
            | {name: times[row["id"]][name] for name in ("created_at", "updated_at")}
            | {"observed_at": row["observed_at"] or times[row["id"]]["created_at"]}
            for row in rows
        }

    def close(self) -> None:
        self._memory.close()
        self._runner.run(self._async.aclose())

    def found(self, call: int, filters: Row) -> list[str]:
        """What one of the four calls finds: ids in order."""
        given: Row = {"filters": filters, "top_k": ROWS, "show_expired": True}
        seek: Row = {"query": "row", "threshold": 0.0} | given
        match CALLS[call % 4]:
            case "Memory.search":
                answer = self._memory.search(**seek)
            case "Memory.get_all":
                answer = self._memory.get_all(**given)
            case "AsyncMemory.search":
                answer = self._runner.run(self._async.search(**seek))
            case _:
                answer = self._runner.run(self._async.get_all(**given))
        return sorted(item["id"] for item in answer["results"])


def wanted(readers: Readers, tree: Row) -> list[str]:
    return sorted(id for id, row in readers.rows.items() if filter_oracle.holds(tree, row))


def smallest(readers: Readers, call: int, tree: Row) -> tuple[Row, Any]:
    """The innermost part of a filter that is wrong, and a row it is wrong about."""
    for part in parts(tree):
        ids, right = readers.found(call, asked(part)), wanted(readers, part)
        if ids != right:
            return part, readers.rows[min(set(ids) ^ set(right))]
    return tree, None


@pytest.mark.parametrize("store", range(STORES))
def test_a_filter_finds_by_every_reader_what_the_oracle_finds(live: str, store: int) -> None:
    """Each filter by one of the four calls, in turn."""
    random = Random(f"{SEED} {store}")
    with asyncio.Runner() as runner:
        readers = Readers(live, runner, random)
        try:
            for call in range(TREES // STORES):
                tree = a_filter(random)
                if readers.found(call, asked(tree)) != wanted(readers, tree):
                    wrong = smallest(readers, call, tree)
                    pytest.fail(f"FILTER_SEED={SEED}, {CALLS[call % 4]}: {wrong}")
        finally:
            readers.close()
