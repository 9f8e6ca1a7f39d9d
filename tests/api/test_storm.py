"""Many at once: threads, tasks and processes that write the same."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from memlayer_pg import (
    AsyncMemory,
    Config,
    DatabaseError,
    HistoryTooShort,
    Memory,
    MemoryNotFound,
    retrying,
)
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
) -> None:  # B073
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


class Awaited:
    """A Memory with the methods of an AsyncMemory."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def __getattr__(self, name: str) -> Any:
        async def call(*args: Any, **given: Any) -> Any:
            return getattr(self._memory, name)(*args, **given)

        return call


class Worker:
    """One of those who write and read whatever comes, in scopes that all of them share."""

    def __init__(self, number: int, dsn: str, tenant: str) -> None:
        self.number, self.dsn, self.tenant = number, dsn, tenant
        self.rng = random.Random(number)
        self.known: list[str] = []  # also what is gone now
        self.done: Counter[str] = Counter()
        self.cursor: str | None = None
        self.read: dict[str, dict[str, Any]] = {}

    async def work(self, memory: Any, steps: int) -> Counter[str]:
        for step in range(steps):
            name, operation = await self.chosen(memory, f"{self.number} {step}")
            try:
                await operation
            except (MemoryNotFound, HistoryTooShort):  # another was faster
                name = "late"
            except DatabaseError as error:
                if (name, error.sqlstate) != ("erase", "55000"):  # others keep writing
                    raise
                name = "late"
            self.done[name] += 1
        return self.done

    async def chosen(self, memory: Any, step: str) -> tuple[str, Awaitable[Any]]:
        """An operation, its name first."""
        rng = self.rng
        scope = rng.choice(SCOPES)
        listed = await memory.get_all(filters=scope, top_k=20)
        some = [item["id"] for item in listed["results"]]
        if rng.random() < 0.5 or not some:
            some += rng.sample(self.known, min(5, len(self.known)))
        self.known.extend(some[:3])
        id_ = rng.choice(some or [str(uuid.uuid4())])
        text = f"{rng.choice(NAMES)} and {rng.choice(NAMES)} say {rng.randrange(30)}"
        rows = [
            {"text": f"{text} {n}", "entities": [{"name": rng.choice(NAMES)}], **rng.choice(SCOPES)}
            # An id of its own: one that is made of the text would begin anew where it was erased.
            | {"id": str(uuid.uuid4()), "links": [{"id": id_}]}
            for n in range(5)
        ]
        kinds: dict[str, tuple[int, Callable[[], Awaitable[Any]]]] = {
            "verbatim": (18, lambda: memory.add(text, **scope, infer=False)),
            "infer": (12, lambda: memory.add(text, **scope)),
            "import": (8, lambda: memory.import_memories(rows)),
            "update": (14, lambda: memory.update(id_, f"{text}, changed in {step}")),
            "delete": (12, lambda: memory.delete(id_)),
            "restore": (10, lambda: memory.restore(id_, version=1)),
            "undo": (8, lambda: self.undo(memory)),
            "search": (5, lambda: memory.search(text, filters=scope)),
            "feed": (6, lambda: self.read_on(memory)),
            "delete_all": (4, lambda: memory.delete_all(**rng.choice(SCOPES))),
            "erase": (1, lambda: memory.erase(**rng.choice(SCOPES))),
            "prune": (2, lambda: asyncio.to_thread(self.prune)),
        }
        [name] = rng.choices(list(kinds), [weight for weight, _ in kinds.values()])
        return name, kinds[name][1]()

    async def undo(self, memory: Any) -> None:
        changes = (await memory.changes(top_k=5))["results"]
        if changes:
            await memory.undo(self.rng.choice(changes)["id"])

    async def read_on(self, memory: Any) -> None:
        """Each change comes once, those of one memory in their order."""
        page = await memory.changes_since(self.cursor)
        self.cursor = page["cursor"]
        for change in page["results"]:
            before = self.read.get(change["memory_id"], {"version": 0})
            assert change["version"] > before["version"], (before, change)
            self.read[change["memory_id"]] = change

    def prune(self) -> None:
        with psycopg.connect(self.dsn) as conn:
            conn.execute(
                "select memlayer.prune_history(%s, %s)", [self.tenant, timedelta(seconds=1)]
            )


def facts_of(request: Any) -> str:
    """Two facts, one that many say, with the same names and links to what was shown."""
    text = request["messages"][-1]["content"][-40:]
    facts = [
        {
            "text": said,
            "entities": [{"name": name, "type": "person"} for name in names],
            "links": [{"id": 0, "kind": kind}],
        }
        for said, names, kind in (
            (f"fact of {text}", NAMES[:2], "related"),
            (f"{NAMES[len(text) % 4]} was there", NAMES[1:3], "updates"),
        )
    ]
    return json.dumps({"facts": facts})


def test_operations_of_every_kind_meet_without_deadlock(
    kind: str, live: str, tenant: str, endpoint: Any, sql: Any
) -> None:
    endpoint.chat = facts_of
    dsn = make_conninfo(live, application_name=tenant)
    config = Config(
        dsn=dsn,
        tenant=tenant,
        embedder=model(endpoint),
        llm=model(endpoint),
        max_size=CROWD,
        connect_timeout=120,
    )
    deadlocks = "select deadlocks from pg_stat_database where datname = current_database()"
    before = sql(deadlocks)
    [(log,)] = sql("select current_setting('data_directory') || '/server.log'")
    logged = Path(log).stat().st_size
    workers = [Worker(n, dsn, tenant) for n in range(CROWD if kind == "async" else 16)]
    steps = OPERATIONS // len(workers)

    async def tasks() -> list[Counter[str]]:
        async with AsyncMemory(config) as memory:
            return await asyncio.gather(*(worker.work(memory, steps) for worker in workers))

    def thread(memory: Memory, worker: Worker) -> Counter[str]:
        return asyncio.run(worker.work(Awaited(memory), steps))

    if kind == "async":
        counters = asyncio.run(tasks())
    else:
        with Memory(config) as memory, ThreadPoolExecutor(len(workers)) as pool:
            counters = list(pool.map(thread, [memory] * len(workers), workers))
    done: Counter[str] = sum(counters, Counter())
    print(f"of {OPERATIONS} operations: {dict(done)}")
    assert done["late"] < OPERATIONS // 2
    # A backend that ends has told what it counted.
    while sql("select 1 from pg_stat_activity where application_name = %(tenant)s"):
        time.sleep(0.01)
    assert sql(deadlocks) == before
    with open(log, "rb") as file:
        file.seek(logged)
        assert b"deadlock detected" not in file.read()
    problems = sql("select distinct problem from memlayer.verify(%(tenant)s)")
    assert {problem for (problem,) in problems} <= {"the memory waits for its vector"}


def test_what_postgres_gave_up_for_another_is_done_again(
    kind: str, make: Any, live: str, sql: Any, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses = (0.0,) * len(retrying.PAUSES)
    monkeypatch.setattr(retrying, "PAUSES", pauses)
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
            assert sql("select last_value + 1000 from deadlock_attempts") == [(len(pauses),)]
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
