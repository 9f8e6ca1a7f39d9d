"""Whoever dies in the middle of a write, program or backend: it was done wholly or not at all."""

from __future__ import annotations

import multiprocessing
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from memlayer_pg import DatabaseError
from tests.api.operations import OPERATIONS, REPEATABLE, STATE, in_a_process, memory_of, past
from tests.api.proxy import Proxy

FACT = {"text": "Ann likes tea", "entities": [{"name": "Ann", "type": "person"}]}
STARTER = multiprocessing.get_context("forkserver")
STARTER.set_forkserver_preload(["tests.api.operations"])
WHEN = ("before", "after")
EVERY = pytest.mark.parametrize("operation", OPERATIONS)


class Scene:
    """Tenants with a past, one for each death, and what must have become of them."""

    def __init__(self, dsn: str, url: str, tenant: str, operation: str) -> None:
        self.dsn, self.url, self.operation = dsn, url, operation
        self._tenant, self._number = tenant, 0
        self.admin = psycopg.connect(dsn, autocommit=True)
        self.begin()
        self.before = self.state()
        with Proxy(dsn) as proxy, memory_of(proxy.dsn, self.tenant, url) as memory:
            OPERATIONS[operation](memory, self.known)
            # The first shakes hands, which is the same for all.
            self.steps = range(1 if operation == "add" else 2, proxy.round_trips + 1)
        self.after = self.state()
        assert self.before != self.after

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

    def check(self) -> str:
        """All or nothing is there, and doing it again leads to all of it; which it was."""
        found = self.state()
        assert found in (self.before, self.after)
        assert self.sql("select * from memlayer.verify(%(tenant)s)") == []
        if found == self.before or self.operation in REPEATABLE:
            with memory_of(self.dsn, self.tenant, self.url) as memory:
                OPERATIONS[self.operation](memory, self.known)
        assert self.state() == self.after
        assert self.sql("select * from memlayer.verify(%(tenant)s)") == []
        return "nothing" if found == self.before else "all"

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
        with pytest.raises(DatabaseError):
            doing.result(30)


@EVERY
def test_a_backend_ended_with_the_work_nearly_done_leaves_nothing_of_it(scene: Scene) -> None:
    in_the_middle(scene, lambda pid: scene.end_backends())
    assert scene.check() == "nothing"
