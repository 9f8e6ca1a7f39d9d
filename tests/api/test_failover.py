"""A primary that stops for good, a server that restarts under load, connections that are ended."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from memlayer_pg import AsyncMemory, Config, DatabaseError, Memory
from memlayer_pg.cluster import PORT, Cluster
from tests.api.harness import KINDS, Harness, model
from tests.api.test_reading import ANN, found, say
from tests.conftest import lay, temporary_folder
from tests.servers import following, own

OURS = "from pg_stat_activity where application_name = 'memlayer'"
WORKERS = 4
PATIENCE = 60.0


@pytest.fixture
def primary(server: str) -> Iterator[Cluster]:
    """A server of the test's own, with the schema in its database postgres."""
    with temporary_folder() as folder, own(server, folder) as running:
        lay(running.dsn("postgres"))
        yield running


def settings(dsn: str, endpoint: Any, tenant: str, **more: Any) -> Config:
    return Config(dsn=dsn, tenant=tenant, llm=model(endpoint), embedder=model(endpoint), **more)


def eventually(true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def asked(dsn: str, query: str) -> Any:
    with psycopg.connect(dsn, autocommit=True) as conn:
        [value] = conn.execute(query.encode()).fetchone() or (None,)
        return value


def test_memories_go_on_at_the_standby_that_was_promoted(
    primary: Cluster, endpoint: Any, tenant: str
) -> None:
    with ExitStack() as stack:
        folder = stack.enter_context(temporary_folder())
        standby = stack.enter_context(following(primary, Path(folder)))
        dsn = make_conninfo(
            host=f"{primary.socket_folder()},{standby.socket_folder()}",
            port=f"{PORT},{PORT}",
            user="postgres",
            dbname="postgres",
            target_session_attrs="read-write",
        )
        memories = [Harness(kind, settings(dsn, endpoint, tenant)) for kind in KINDS]
        for memory in memories:
            stack.callback(memory.close)
        ids = [say(memory, f"tea of {memory.is_async}")[0] for memory in memories]
        before = memories[0].changes_since(None)
        primary_dsn, standby_dsn = primary.dsn("postgres"), standby.dsn("postgres")
        position = asked(primary_dsn, "select pg_current_wal_lsn()::text")
        replayed = f"select pg_last_wal_replay_lsn() >= '{position}'"
        eventually(lambda: bool(asked(standby_dsn, replayed)))

        primary.stop()
        for memory in memories:  # nobody takes writes: an error that says so, at once
            with pytest.raises(DatabaseError, match="read-only") as refused:
                say(memory, "lost")
            assert "promoted" in str(refused.value.suggestion)
        # A read is made again half a second after its connection was lost; the standby has it by
        # then, or the error is the caller's, who asks again.
        assert asked(standby_dsn, "select pg_promote()")
        for memory, id_ in zip(memories, ids, strict=True):
            assert memory.get(id_)["memory"].startswith("tea")
            assert memory.update(id_, f"coffee of {memory.is_async}")
            assert f"coffee of {memory.is_async}" in found(memory.search("coffee", filters=ANN))
            assert len(memory.history(id_)) == 2
        after = memories[0].changes_since(before["cursor"])["results"]
        assert [change["memory_id"] for change in after] == ids
        assert memories[0].changes_since(None)["results"] == [*before["results"], *after]
        assert asked(standby_dsn, f"select count(*) from memlayer.verify('{tenant}')") == 0


Step = tuple[str, tuple[Any, ...], dict[str, Any]]
"""A method of a memory and its arguments."""


@dataclass
class Worker:
    """What one caller was told; each memory is of a user of its own."""

    user: str
    stored: dict[str, str] = field(default_factory=dict)
    unsure: set[str] = field(default_factory=set)
    strays: set[str] = field(default_factory=set)
    """Texts of adds that were cut off: stored or not."""
    keyed: dict[str, str] = field(default_factory=dict)
    errors: list[tuple[str, DatabaseError]] = field(default_factory=list)

    def steps(self, number: int) -> Generator[Step, Any, None]:
        """Calls of one round; each is sent back its answer, or None for an error."""
        scope = {"user_id": self.user}
        text = f"{self.user} said {number}"
        answer = yield "add", (text,), scope | {"infer": False}
        if answer is None:
            self.strays.add(text)
        else:
            [stored] = answer["results"]
            self.stored[stored["id"]] = text
            changed = f"{text}, or not"
            updated = yield "update", (stored["id"], changed), {}
            if updated is None:
                self.unsure.add(stored["id"])
            else:
                self.stored[stored["id"]] = changed
        key = f"{self.user} {number}"
        arguments = scope | {"infer": False, "idempotency_key": key}
        while (answer := (yield "add", (f"{text} with a key",), arguments)) is None:
            pass  # safe to send again for as long as it takes
        self.keyed[answer["results"][0]["id"]] = f"{text} with a key"
        yield "search", (text,), {"filters": scope}

    def failed(self, operation: str, error: DatabaseError) -> None:
        self.errors.append((operation, error))

    def check(self, there: dict[str, str]) -> None:
        """Nothing lost, nothing doubled, nothing else than what was said."""
        for id_, text in (self.stored | self.keyed).items():
            if id_ in self.unsure:
                assert there[id_] in (text, f"{text}, or not")
            else:
                assert there[id_] == text
        others = [text for id_, text in there.items() if id_ not in self.stored | self.keyed]
        assert set(others) <= self.strays
        assert len(others) == len(set(others))


def blocking(memory: Memory, worker: Worker, stop: threading.Event) -> None:
    number = 0
    while not stop.is_set():
        steps, answer = worker.steps(number), None
        while True:
            try:
                operation, positional, named = steps.send(answer)
            except StopIteration:
                break
            try:
                answer = getattr(memory, operation)(*positional, **named)
            except DatabaseError as error:
                worker.failed(operation, error)
                answer = None
                time.sleep(0.1)
        number += 1


async def awaiting(memory: AsyncMemory, worker: Worker, stop: threading.Event) -> None:
    number = 0
    while not stop.is_set():
        steps, answer = worker.steps(number), None
        while True:
            try:
                operation, positional, named = steps.send(answer)
            except StopIteration:
                break
            try:
                answer = await getattr(memory, operation)(*positional, **named)
            except DatabaseError as error:
                worker.failed(operation, error)
                answer = None
                await asyncio.sleep(0.1)
        number += 1


def test_a_restart_under_load_loses_and_doubles_nothing(
    primary: Cluster, endpoint: Any, tenant: str
) -> None:
    dsn = primary.dsn("postgres")
    config = settings(dsn, endpoint, tenant, max_size=3)
    stop = threading.Event()
    in_threads = [Worker(f"thread{n}") for n in range(WORKERS)]
    in_tasks = [Worker(f"task{n}") for n in range(WORKERS)]
    workers = [*in_threads, *in_tasks]

    def busy(rounds: int) -> None:
        """Wait until everybody has done so many rounds more."""
        wanted = {worker.user: len(worker.keyed) + rounds for worker in workers}
        eventually(lambda: all(len(one.keyed) >= wanted[one.user] for one in workers))

    async def tasks(memory: AsyncMemory) -> None:
        await asyncio.gather(*(awaiting(memory, worker, stop) for worker in in_tasks))
        await memory.aclose()

    with Memory(config) as memory, ThreadPoolExecutor(WORKERS + 1) as pool:
        running = [pool.submit(blocking, memory, worker, stop) for worker in in_threads]
        running.append(pool.submit(asyncio.run, tasks(AsyncMemory(config))))
        try:
            busy(2)
            for _ in range(2):
                primary.stop()
                primary.ensure_running()
                busy(2)
        finally:
            stop.set()
        for one in running:
            one.result()
        # No more than the pool has room for, nobody in a transaction.
        assert asked(dsn, f"select count(*) {OURS}") <= config.max_size
        assert asked(dsn, f"select count(*) {OURS} and state <> 'idle'") == 0
    eventually(lambda: asked(dsn, f"select count(*) {OURS}") == 0)

    with psycopg.connect(dsn) as conn:
        rows = conn.execute(
            "select user_id, id::text, text from memlayer.memory where tenant = %s", [tenant]
        ).fetchall()
        assert conn.execute("select * from memlayer.verify(%s)", [tenant]).fetchall() == []
    for worker in workers:
        worker.check({id_: text for user, id_, text in rows if user == worker.user})
        for _, error in worker.errors:  # of the connection, and nothing else
            assert type(error) is DatabaseError
            assert error.sqlstate in (None, "57P01", "57P03", "57P02")


@pytest.mark.parametrize("kind", KINDS)
def test_idle_connections_that_the_server_ends_go_unnoticed(
    kind: str, live: str, endpoint: Any, tenant: str
) -> None:
    hasty = make_conninfo(live, options="-c idle_session_timeout=100", application_name=tenant)
    memory = Harness(kind, settings(hasty, endpoint, tenant))
    try:
        count = f"select count(*) from pg_stat_activity where application_name = '{tenant}'"
        for text in ("tea", "coffee", "water"):
            [id_] = say(memory, text)  # a write, which would not be made again
            eventually(lambda: asked(live, count) == 0)
            memory.update(id_, f"more {text}")
            eventually(lambda: asked(live, count) == 0)
        assert len(found(memory.get_all(filters=ANN))) == 3
    finally:
        memory.close()
