"""Whoever dies in the middle of a write, program or backend: it was done wholly or not at all."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from memlayer_pg import DatabaseError, Memory, embedded
from tests.api.operations import OPERATIONS, REPEATABLE, STATE, in_a_process, memory_of, past
from tests.api.proxy import Proxy
from tests.conftest import lay, temporary_folder

FACT = {"text": "Ann likes tea", "entities": [{"name": "Ann", "type": "person"}]}
STARTER = multiprocessing.get_context("forkserver")
STARTER.set_forkserver_preload(["tests.api.operations"])
WHEN = ("before", "after")
IMPORTS = ("import", "re-run")
EVERY = pytest.mark.parametrize("operation", OPERATIONS)


class Scene:
    """Tenants with a past, one for each death, and what must have become of them."""

    def __init__(self, dsn: str, url: str, tenant: str, operation: str) -> None:
        self.dsn, self.url, self.operation = dsn, url, operation
        self._tenant, self._number = tenant, 0
        self.admin = psycopg.connect(dsn, autocommit=True)
        self.begin()
        self.before = self.state()
        # An import is a transaction a batch, and one more for the links.
        self.states = [self.before]
        with Proxy(dsn) as proxy, memory_of(proxy.dsn, self.tenant, url) as memory:

            def note(number: int) -> None:
                if (state := self.state()) != self.states[-1]:
                    self.states.append(state)

            proxy.after = note
            OPERATIONS[operation](memory, self.known)
            # The first shakes hands, which is the same for all.
            self.steps = range(1 if operation == "add" else 2, proxy.round_trips + 1)
        self.after = self.state()
        assert self.after == self.states[-1]
        assert len(self.states) == (3 if operation in IMPORTS else 2)

    @property
    def tenant(self) -> str:
        return f"{self._tenant}-{self._number}"

    def begin(self) -> None:
        """Another tenant, with the same past."""
        self._number += 1
        with memory_of(self.dsn, self.tenant, self.url) as memory:
            self.known = past(memory)

    def sql(self, query: str, **given: Any) -> list[Any]:
        return self.admin.execute(query, {"tenant": self.tenant, **given}).fetchall()

    def state(self) -> Any:
        return self.sql(STATE)[0]

    def check(self, survivor: Memory | None = None) -> str:
        """All or nothing is there, and doing it again leads to all of it; which it was.

        `survivor`: who does it again, instead of a new program.
        """
        found = self.state()
        assert found in self.states
        assert self.problems() == []
        if found == self.before or self.operation in REPEATABLE:
            with memory_of(self.dsn, self.tenant, self.url) as another:
                OPERATIONS[self.operation](survivor or another, self.known)
        assert self.state() == self.after
        assert self.problems() == []
        return "nothing" if found == self.before else "all"

    def problems(self) -> list[Any]:
        """What verify finds, but that what was imported without vectors waits for them."""
        return self.sql(
            "select * from memlayer.verify(%(tenant)s)"
            " where problem <> 'the memory waits for its vector'"
        )

    def end_backends(self) -> None:
        """End those of this tenant's memory, and wait until they are gone."""
        self.sql(
            "select pg_terminate_backend(pid, 10000) from pg_stat_activity"
            " where application_name = %(tenant)s"
        )

    def named(self, dsn: str) -> str:
        return make_conninfo(dsn, application_name=self.tenant)


@pytest.fixture
def scene(live: str, tenant: str, endpoint: Any, operation: str) -> Iterator[Scene]:
    endpoint.facts(FACT)
    scene = Scene(live, endpoint.base_url, tenant, operation)
    yield scene
    scene.admin.close()


@EVERY
def test_a_program_killed_at_any_statement_leaves_all_or_nothing(scene: Scene) -> None:
    ended = set()
    for step in scene.steps:
        for when in WHEN:
            scene.begin()
            with Proxy(scene.dsn) as proxy:
                process = STARTER.Process(
                    target=in_a_process,
                    args=(
                        scene.named(proxy.dsn),
                        scene.tenant,
                        scene.url,
                        scene.operation,
                        scene.known,
                    ),
                )

                dead = threading.Event()

                def kill(
                    reached: int, process: Any = process, step: int = step, dead: Any = dead
                ) -> None:
                    if reached == step:
                        process.kill()
                        dead.wait(60)

                setattr(proxy, when, kill)
                process.start()
                process.join(60)
                dead.set()
                assert process.exitcode == -signal.SIGKILL
            scene.end_backends()  # what it was told before the program died it may still be doing
            ended.add(scene.check())
    assert "all" in ended  # what was sent before the program died is done


@EVERY
def test_a_backend_ended_at_any_statement_leaves_all_or_nothing(scene: Scene) -> None:
    ended = set()
    for step in scene.steps:
        for when in WHEN:
            scene.begin()
            with Proxy(scene.dsn) as proxy:
                reached: list[int] = []

                def end(number: int, step: int = step, reached: list[int] = reached) -> None:
                    if number == step and not reached:
                        reached.append(number)
                        scene.end_backends()

                setattr(proxy, when, end)
                with memory_of(scene.named(proxy.dsn), scene.tenant, scene.url) as memory:
                    try:
                        OPERATIONS[scene.operation](memory, scene.known)
                    except DatabaseError:  # it may have been done all the same
                        ended.add("error")
                assert reached
            ended.add(scene.check())
    assert ended == {"all", "nothing", "error"}


REPEATED = ("add",)
"""What the client does again by itself: it carries an idempotency key."""


def in_the_middle(scene: Scene, end: Callable[[int], None]) -> None:
    """Do the operation, and end its backend when all is written but the last row."""
    scene.begin()
    with (
        memory_of(scene.named(scene.dsn), scene.tenant, scene.url) as memory,
        ThreadPoolExecutor(1) as thread,
        psycopg.connect(scene.dsn) as blocking,
    ):
        # Every operation ends with its row here.
        blocking.execute("lock table memlayer.change in share mode")
        doing = thread.submit(OPERATIONS[scene.operation], memory, scene.known)
        waiting = (
            "select pid from pg_stat_activity"
            " where application_name = %(tenant)s and wait_event_type = 'Lock'"
        )
        while not (found := scene.sql(waiting)):
            assert not doing.done()
            time.sleep(0.01)
        end(found[0][0])
        if scene.operation in REPEATED:
            blocking.rollback()
            doing.result(30)
            return
        with pytest.raises(DatabaseError):
            doing.result(30)


@EVERY
def test_a_backend_ended_with_the_work_nearly_done_leaves_nothing_or_it_is_done_again(
    scene: Scene,
) -> None:
    in_the_middle(scene, lambda pid: scene.end_backends())
    assert scene.check() == ("all" if scene.operation in REPEATED else "nothing")


@pytest.fixture(scope="module")
def crashing(server: str) -> Iterator[str]:
    """The dsn of a server of its own: when a backend is killed Postgres throws out everybody."""
    with psycopg.connect(server) as conn:
        version = conn.info.server_version // 10000
    with temporary_folder() as folder, embedded.start(folder, version=version) as running:
        with psycopg.connect(running.dsn, autocommit=True) as admin:
            # For the crash of a process, which this is, the files need not have reached the disk.
            admin.execute("alter system set fsync = off")
            admin.execute("select pg_reload_conf()")
        lay(running.dsn)
        yield running.dsn


def crash(scene: Scene, pid: int) -> None:
    """Kill a backend, and see Postgres throw out everybody else."""
    os.kill(pid, signal.SIGKILL)
    with suppress(psycopg.OperationalError):
        while True:
            scene.admin.execute("select")


def back(scene: Scene) -> None:
    """Wait until Postgres has recovered."""
    scene.admin.close()
    while True:
        try:
            scene.admin = psycopg.connect(scene.dsn, autocommit=True)
        except psycopg.OperationalError:
            time.sleep(0.01)
        else:
            return


@EVERY
def test_a_crash_of_postgres_at_any_statement_leaves_all_or_nothing(
    crashing: str, tenant: str, endpoint: Any, operation: str
) -> None:
    endpoint.facts(FACT)
    scene = Scene(crashing, endpoint.base_url, tenant, operation)
    ended = set()
    for step in scene.steps:
        for when in WHEN:
            scene.begin()
            with Proxy(scene.dsn) as proxy:
                begun: list[int] = []
                crashed = threading.Event()

                def kill(
                    number: int,
                    step: int = step,
                    begun: list[int] = begun,
                    crashed: threading.Event = crashed,
                ) -> None:
                    if number == step and not begun:
                        begun.append(number)
                        [(pid,)] = scene.sql(
                            "select pid from pg_stat_activity where application_name = %(tenant)s"
                        )
                        crash(scene, pid)
                        crashed.set()

                setattr(proxy, when, kill)
                with memory_of(scene.named(proxy.dsn), scene.tenant, scene.url) as memory:
                    try:
                        OPERATIONS[operation](memory, scene.known)
                    except DatabaseError:  # it may have been done all the same
                        ended.add("error")
                    assert crashed.wait(30)
                    back(scene)
                    ended.add(scene.check(survivor=memory))
    scene.admin.close()
    assert ended == {"all", "nothing", "error"}


@EVERY
def test_a_crash_of_postgres_with_the_work_nearly_done_leaves_nothing_or_it_is_done_again(
    crashing: str, tenant: str, endpoint: Any, operation: str
) -> None:
    endpoint.facts(FACT)
    scene = Scene(crashing, endpoint.base_url, tenant, operation)
    with pytest.raises(psycopg.OperationalError):  # of the connection that blocks
        in_the_middle(scene, lambda pid: crash(scene, pid))
    back(scene)
    # The client's second attempt may find the server up again, or not yet.
    assert scene.check() in {"nothing", *(["all"] if operation in REPEATED else [])}
    scene.admin.close()


@pytest.mark.usefixtures("consistent")
def test_what_is_safe_to_repeat_is_repeated_once_when_its_connection_is_lost(
    live: str, tenant: str, endpoint: Any, counts: Any
) -> None:
    endpoint.facts(FACT)
    with Proxy(live) as proxy, memory_of(proxy.dsn, tenant, endpoint.base_url) as memory:
        lost: list[str] = []

        def drop(number: int) -> None:
            last = ["", *proxy.functions][-1]
            if last in ("add", "search", "get_all", "history", "update") and last not in lost:
                lost.append(last)
                raise OSError("the wire was cut")

        proxy.after = drop
        told = memory.add("I am Ann and like tea", user_id="ann", idempotency_key="k")
        [item] = told["results"]
        assert len(memory.search("tea", filters={"user_id": "ann"})["results"]) == 1
        assert len(memory.get_all(filters={"user_id": "ann"})["results"]) == 1
        assert len(memory.history(item["id"])) == 1
        with pytest.raises(DatabaseError):  # nobody knows whether it was done
            memory.update(item["id"], "Ann likes coffee")
        assert lost == ["add", "search", "get_all", "history", "update"]
    assert counts()[:2] == (1, 2)
    assert len(endpoint.chats) == 1
