"""Many at once: threads, tasks and processes that write the same."""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from memlayer_pg import AsyncMemory, Config, DatabaseError, Memory, MemoryNotFound
from tests.api.harness import model
from tests.api.test_reading import ANN, found

CROWD = 32
# Not MEMLAYER_…: conftest.py takes those out of the environment.
OPERATIONS = int(os.environ.get("STORM_OPERATIONS") or 600)

Storm = Callable[[list[Callable[[Any], Any]]], list[Any]]


@pytest.fixture
def settings(live: str, tenant: str, endpoint: Any) -> Config:
    return Config(
        dsn=live, tenant=tenant, llm=model(endpoint), embedder=model(endpoint), max_size=CROWD
    )


@pytest.fixture
def storm(kind: str, settings: Config) -> Storm:
    """Does jobs at the same time, each a function of a Memory or AsyncMemory; errors are results.

    A job for an AsyncMemory gives a coroutine.
    """

    def threads(jobs: list[Callable[[Any], Any]]) -> list[Any]:
        start = threading.Barrier(len(jobs))

        def one(memory: Memory, job: Callable[[Any], Any]) -> Any:
            start.wait()
            try:
                return job(memory)
            except DatabaseError as error:
                return error

        with Memory(settings) as memory, ThreadPoolExecutor(len(jobs)) as pool:
            return list(pool.map(lambda job: one(memory, job), jobs))

    def tasks(jobs: list[Callable[[Any], Any]]) -> list[Any]:
        async def one(memory: AsyncMemory, job: Callable[[Any], Any]) -> Any:
            try:
                return await job(memory)
            except DatabaseError as error:
                return error

        async def all_of_them() -> list[Any]:
            async with AsyncMemory(settings) as memory:
                return await asyncio.gather(*(one(memory, job) for job in jobs))

        return asyncio.run(all_of_them())

    return tasks if kind == "async" else threads


@pytest.fixture
def quiet(settings: Config) -> Iterator[Memory]:
    """A memory for what comes before and after the storm."""
    with Memory(settings) as memory:
        yield memory


@pytest.mark.usefixtures("consistent")
def test_a_crowd_that_adds_the_same_facts_shares_rows_entities_and_buffer(
    storm: Storm, endpoint: Any, sql: Any
) -> None:
    def facts(request: Any) -> str:
        own = request["messages"][-1]["content"].rpartition("number ")[2].split()[0].strip('."')
        names = [{"name": "Ann", "type": "person"}]
        return (
            '{"facts": ['
            + ", ".join(
                f'{{"text": "{text}", "entities": [{{"name": "{names[0]["name"]}",'
                f' "type": "person"}}], "links": []}}'
                for text in ("Ann likes tea", f"Ann has ticket {own}", "Ann is tall")
            )
            + "]}"
        )

    endpoint.chat = facts
    results = storm(
        [
            lambda memory, n=n: memory.add(f"Ann here, number {n} of all", user_id="ann")  # type: ignore[misc]
            for n in range(CROWD)
        ]
    )
    said: dict[str, set[str]] = {}
    for result in results:
        both = [*result["results"], *result.get("skipped", [])]
        assert len(both) == 3
        for item in both:
            said.setdefault(item["memory"], set()).add(item["id"])
    assert len(said) == CROWD + 2
    assert all(len(ids) == 1 for ids in said.values())
    assert sql("select count(*) from memlayer.memory where tenant = %(tenant)s") == [(CROWD + 2,)]
    assert sql("select name from memlayer.entity where tenant = %(tenant)s") == [("Ann",)]
    assert sql("select count(*) from memlayer.mention where tenant = %(tenant)s") == [(CROWD + 2,)]
    # The buffer keeps the last ten, numbered without a gap.
    [(numbers,)] = sql(
        "select array_agg(seq order by seq) from memlayer.message where tenant = %(tenant)s"
    )
    assert numbers == list(range(CROWD - len(numbers) + 1, CROWD + 1))


@pytest.mark.usefixtures("consistent")
def test_updates_at_once_stand_in_history_in_the_order_they_were_committed(
    storm: Storm, quiet: Memory
) -> None:
    [stored] = quiet.add("text of nobody", user_id="ann", infer=False)["results"]
    results = storm(
        [
            lambda memory, n=n: memory.update(stored["id"], f"text of {n}")  # type: ignore[misc]
            for n in range(CROWD)
        ]
    )
    assert [result for result in results if isinstance(result, Exception)] == []
    history = quiet.history(stored["id"])
    assert [row["event"] for row in history] == ["ADD"] + ["UPDATE"] * CROWD
    for earlier, later in itertools.pairwise(history):
        assert later["old_memory"] == earlier["new_memory"]
    assert {row["new_memory"] for row in history[1:]} == {f"text of {n}" for n in range(CROWD)}
    assert found(quiet.get_all(filters=ANN)) == [history[-1]["new_memory"]]


@pytest.mark.usefixtures("consistent")
def test_of_an_update_and_a_deletion_one_comes_too_late_or_first(
    storm: Storm, quiet: Memory
) -> None:
    ids = [
        quiet.add(f"fact {n}", user_id="ann", infer=False)["results"][0]["id"]
        for n in range(CROWD // 2)
    ]
    jobs: list[Callable[[Any], Any]] = []
    for id_ in ids:
        jobs += [
            lambda memory, id_=id_: memory.update(id_, f"changed {id_}"),  # type: ignore[misc]
            lambda memory, id_=id_: memory.delete(id_),  # type: ignore[misc]
        ]
    results = storm(jobs)
    for place, id_ in enumerate(ids):
        updated, deleted = results[2 * place], results[2 * place + 1]
        assert not isinstance(deleted, Exception)
        events = [row["event"] for row in quiet.history(id_)]
        if isinstance(updated, Exception):
            assert isinstance(updated, MemoryNotFound)
            assert events == ["ADD", "DELETE"]
        else:
            assert events == ["ADD", "UPDATE", "DELETE"]
    results = storm([lambda memory: memory.delete(ids[0])] * 2)
    assert all(isinstance(result, MemoryNotFound) for result in results)


SCOPES: list[dict[str, Any]] = [
    {"user_id": "ann"},
    {"user_id": "ann", "run_id": "r1"},
    {"user_id": "ann", "run_id": "r2"},
    {"user_id": "bob"},
]
NAMES = ("Ann", "Bob", "Rome", "Oslo")


def mixed(memory: Memory, rng: random.Random, step: str, known: list[str]) -> Any:
    """One operation, whichever comes; `known`: ids that were seen, also of what is gone now."""
    ids = memory.changes(top_k=5)["results"]
    scope = rng.choice(SCOPES)
    some = [item["id"] for item in memory.get_all(filters=scope, top_k=20)["results"]]
    if rng.random() < 0.5 or not some:
        some += rng.sample(known, min(5, len(known)))
    known.extend(some[:3])
    text = f"{rng.choice(NAMES)} and {rng.choice(NAMES)} say {rng.randrange(30)}"
    dice = rng.random()
    if dice < 0.35 or not some:
        return memory.add(text, **scope, infer=False)
    if dice < 0.45:
        rows = [
            {"text": f"{text} {n}", "entities": [{"name": rng.choice(NAMES)}], **rng.choice(SCOPES)}
            for n in range(5)
        ]
        rng.shuffle(rows)
        return memory.import_memories(rows)
    if dice < 0.60:
        return memory.update(rng.choice(some), f"{text}, changed in {step}")
    if dice < 0.75:
        return memory.delete(rng.choice(some))
    if dice < 0.87:
        return memory.restore(rng.choice(some), version=1)
    if dice < 0.95 and ids:
        return memory.undo(rng.choice(ids)["id"])
    return memory.delete_all(**rng.choice(SCOPES))


def test_operations_of_every_kind_meet_without_deadlock(
    live: str, tenant: str, endpoint: Any, sql: Any
) -> None:
    dsn = make_conninfo(live, application_name=tenant)
    config = Config(dsn=dsn, tenant=tenant, embedder=model(endpoint), max_size=CROWD)
    deadlocks = "select deadlocks from pg_stat_database where datname = current_database()"
    before = sql(deadlocks)

    def work(number: int) -> int:
        rng, done = random.Random(number), 0
        known: list[str] = []
        for step in range(OPERATIONS // 16):
            try:
                mixed(memory, rng, f"{number} {step}", known)
            except MemoryNotFound:  # another was faster
                continue
            done += 1
        return done

    with Memory(config) as memory, ThreadPoolExecutor(16) as pool:
        done = sum(pool.map(work, range(16)))
    print(f"{done} of {OPERATIONS} operations done")
    assert done > OPERATIONS // 3
    # A backend that ends has told what it counted.
    while sql("select from pg_stat_activity where application_name = %(tenant)s"):
        time.sleep(0.01)
    assert sql(deadlocks) == before
    problems = sql("select distinct problem from memlayer.verify(%(tenant)s)")
    assert {problem for (problem,) in problems} <= {"the memory waits for its vector"}


def test_what_postgres_gave_up_for_another_is_done_again(
    kind: str, make: Any, live: str, sql: Any, tenant: str
) -> None:
    memory = make(llm=None)
    [stored] = memory.add("one", user_id="ann")["results"]
    sql(
        "create or replace function deadlocks_once() returns trigger language plpgsql as $$"
        " begin if nextval('deadlock_attempts') < 3 then"
        " raise exception using errcode = tg_argv[0]; end if; return new; end $$"
    )
    for sqlstate in ("40P01", "40001"):
        sql("drop sequence if exists deadlock_attempts")
        sql("create sequence deadlock_attempts")
        sql(
            "create or replace trigger deadlocks_once before update on memlayer.memory for each row"
            f" when (new.tenant = '{tenant}') execute function deadlocks_once('{sqlstate}')"
        )
        try:
            memory.update(stored["id"], f"after {sqlstate}")
            assert memory.get(stored["id"])["memory"] == f"after {sqlstate}"
            assert sql("select last_value from deadlock_attempts") == [(3,)]
            sql("alter sequence deadlock_attempts restart")
            if kind == "sync":  # his transaction is his to repeat
                with psycopg.connect(live) as conn:
                    with pytest.raises(DatabaseError) as caught:
                        memory.update(stored["id"], "never", connection=conn)
                    assert caught.value.sqlstate == sqlstate
                assert sql("select last_value from deadlock_attempts") == [(1,)]
            sql("alter sequence deadlock_attempts minvalue -1000 restart with -1000")
            with pytest.raises(DatabaseError) as caught:  # some day it is enough
                memory.update(stored["id"], "never")
            assert caught.value.sqlstate == sqlstate
            assert sql("select last_value from deadlock_attempts") == [(-996,)]
        finally:
            sql("drop trigger deadlocks_once on memlayer.memory")
    assert len(memory.history(stored["id"])) == 3


FIRST = """
import sys
from memlayer_pg import Config, Endpoint, Memory, schema
dsn, url, number = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
schema.ensure(dsn)
model = Endpoint(model="scripted", base_url=url, api_key="k")
with Memory(Config(dsn=dsn, embedder=model)) as memory:
    memory.add(f"fact of {number}", user_id="ann", infer=False)
"""


def test_the_first_use_by_many_processes_lays_the_schema_once(empty: str, endpoint: Any) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", FIRST, empty, endpoint.base_url, str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(8)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    with psycopg.connect(empty) as conn:
        rows = conn.execute("select text from memlayer.memory order by text").fetchall()
        assert rows == [(f"fact of {n}",) for n in range(8)]
        assert conn.execute("select count(*) from memlayer.model").fetchall() == [(1,)]
        assert conn.execute("select * from memlayer.verify()").fetchall() == []
