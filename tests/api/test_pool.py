"""Connections: lent for a statement, replaced when dead, safe for threads, forks and errors."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from memlayer_pg import Config, ConfigError, DatabaseError, Memory, SchemaError, SchemaMissing
from memlayer_pg.errors import SchemaTooNew, SchemaTooOld
from tests.api.harness import Harness, model
from tests.api.test_reading import ANN, found, say

THREADS = pytest.mark.parametrize("kind", ["sync"])
"""For Memory alone; what tasks do is in test_async.py."""


@pytest.fixture
def blocking(live: str, tenant: str, endpoint: Any) -> Any:
    """A Memory with a pool of two."""
    config = Config(
        dsn=live, tenant=tenant, llm=model(endpoint), embedder=model(endpoint), max_size=2
    )
    with Memory(config) as memory:
        yield memory


def in_threads(jobs: list[Callable[[], Any]]) -> list[Any]:
    with ThreadPoolExecutor(len(jobs)) as threads:
        return [future.result() for future in [threads.submit(job) for job in jobs]]


@THREADS
def test_twenty_parallel_adds_of_one_fact_leave_one(make: Any, endpoint: Any) -> None:  # B071
    memory = make()
    endpoint.facts("Ann cycles to work")
    results = in_threads([lambda: memory.add("I cycle to work", user_id="ann")] * 20)
    assert sum(len(result["results"]) for result in results) == 1
    assert sum(len(result.get("skipped", [])) for result in results) == 19
    assert len(memory.get_all(filters=ANN)["results"]) == 1


@THREADS
def test_one_memory_serves_many_threads(make: Any, counts: Any) -> None:  # B078
    memory = make(max_size=6)

    def work(n: int) -> None:
        for round_ in range(3):
            [id_] = say(memory, f"marker {n} {round_}")
            memory.search("marker", filters=ANN)
            memory.update(id_, f"changed {n} {round_}")
            assert len(memory.history(id_)) == 2

    in_threads([lambda n=n: work(n) for n in range(32)])  # type: ignore[misc]
    assert counts()[:2] == (96, 192)
    texts = found(memory.get_all(filters=ANN, top_k=1000))
    assert sorted(texts) == sorted(f"changed {n} {r}" for n in range(32) for r in range(3))


def test_no_connection_is_held_while_a_model_is_at_work(
    blocking: Memory, endpoint: Any
) -> None:  # B074
    blocking.get_all(filters=ANN)
    inside, release = threading.Semaphore(0), threading.Event()

    def slow(request: Any) -> str:
        inside.release()
        release.wait(30)
        return '{"facts": []}'

    endpoint.chat = slow
    with ThreadPoolExecutor(10) as threads:
        adds = [threads.submit(blocking.add, "hello", user_id="ann") for _ in range(10)]
        for _ in adds:
            assert inside.acquire(timeout=30)
        # All ten wait for the language model; both connections are free.
        assert blocking.search("hello", filters=ANN) == {"results": []}
        release.set()
        for add in adds:
            assert add.result() == {"results": []}


def test_dead_connections_are_replaced_without_an_error(memory: Any, sql: Any) -> None:
    say(memory, "tea")
    for _ in range(2):
        ended = sql(
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
            " where application_name = 'memlayer' and pid <> pg_backend_pid()"
        )
        assert (True,) in ended
        assert found(memory.search("tea", filters=ANN)) == ["tea"]
        say(memory, "coffee")
        assert len(memory.history(say(memory, "x")[0])) == 1


def test_an_error_is_the_callers_own_and_the_next_call_works(make: Any, live: str) -> None:  # B077
    hurried = make(dsn=make_conninfo(live, options="-c statement_timeout=1ms"), max_size=1)
    messages = [{"role": "user", "content": "x " * 100_000}] * 10
    with pytest.raises(DatabaseError) as caught:
        hurried.add(messages, user_id="ann", infer=False)
    assert caught.value.sqlstate == "57014"
    memory = make(max_size=1)
    wrong: list[Callable[[], Any]] = [
        lambda: memory.get_all(filters={**ANN, "n": {"regex": "x"}}),
        lambda: memory.delete("00000000-0000-4000-8000-000000000000"),
        lambda: memory.get_all(filters=ANN, after="garbage"),
    ]
    for call in wrong:
        with pytest.raises(ValueError, match=r"operator|not found|cursor") as refused:
            call()
        assert getattr(refused.value, "sqlstate", None) != "25P02"
        assert memory.search("tea", filters=ANN) == {"results": []}


def test_a_pool_that_is_used_up_says_so(live: str, tenant: str, endpoint: Any) -> None:
    config = Config(
        dsn=live, tenant=tenant, embedder=model(endpoint), max_size=1, connect_timeout=0.05
    )
    with Memory(config) as memory:
        memory.scopes()
        with memory._pool.connection(live), pytest.raises(DatabaseError, match="all 1 connections"):
            memory.scopes()
        assert memory.scopes() == []


def test_a_server_that_is_not_there_is_reported_at_once_without_the_password(make: Any) -> None:
    memory = make(dsn="postgresql://ann:s3cret@127.0.0.1:1/d", connect_timeout=2)
    with pytest.raises(DatabaseError, match="connection") as caught:
        memory.scopes()
    assert "s3cret" not in str(caught.value) + repr(memory.memory) + memory.location


def test_a_dsn_that_cannot_be_read_is_not_shown(make: Any) -> None:
    memory = make(dsn="postgresql://ann:p@ss:w/rd@h/d")
    with pytest.raises(ConfigError, match="dsn") as caught:
        memory.scopes()
    assert "ss:w" not in str(caught.value)


def test_a_database_without_the_schema_says_what_to_run(make: Any, empty: str) -> None:
    memory = make(dsn=empty)
    with pytest.raises(SchemaMissing, match="memlayer db upgrade"):
        memory.add("x", user_id="ann", infer=False)


@pytest.mark.parametrize(
    ("revision", "breaking", "error", "advice"),
    [
        ("ml0000", False, SchemaTooOld, "memlayer db upgrade"),
        ("ml9999", True, SchemaTooNew, "pip install"),
    ],
)
def test_a_schema_of_another_age_is_refused_with_advice(
    make: Any, database: str, revision: str, breaking: bool, error: type[SchemaError], advice: str
) -> None:
    with psycopg.connect(database) as conn:
        conn.execute(
            "insert into memlayer.deployment (revision, breaking) values (%s, %s)",
            [revision, breaking],
        )
    memory = make(dsn=database)
    with pytest.raises(error, match=f"at revision {revision}") as caught:
        memory.scopes()
    assert advice in (caught.value.suggestion or "")


def test_a_newer_schema_that_breaks_nothing_is_fine_and_said_once(
    make: Any, database: str, caplog: pytest.LogCaptureFixture
) -> None:
    with psycopg.connect(database) as conn:
        conn.execute("insert into memlayer.deployment (revision) values ('ml9999')")
    memory = make(dsn=database)
    with caplog.at_level(logging.INFO, logger="memlayer_pg"):
        say(memory, "Ann likes tea")
        assert found(memory.get_all(filters=ANN)) == ["Ann likes tea"]
    assert "is at revision ml9999" in caplog.text
    assert caplog.text.count("ml9999") == 1


def test_closing_may_be_repeated_and_ends_all_use(make: Any, sql: Any, live: str) -> None:
    memory = make(dsn=make_conninfo(live, application_name="closed"))
    say(memory, "x")
    mine = "select count(*) from pg_stat_activity where application_name = 'closed'"
    assert sql(mine) == [(1,)]
    for _ in range(2):
        memory.memory.close()
    with psycopg.connect(live) as conn:
        for _ in range(100):
            if conn.execute(mine).fetchone() == (0,):
                break
            conn.execute("select pg_sleep(0.05), pg_stat_clear_snapshot()")
        else:
            pytest.fail("the connection is still open")
    with pytest.raises(DatabaseError, match="closed"):
        memory.scopes()


def test_a_memory_is_a_context_manager(live: str, tenant: str, endpoint: Any) -> None:
    config = Config(dsn=live, tenant=tenant, embedder=model(endpoint))
    with Memory(config) as memory:
        assert memory.scopes() == []
    with pytest.raises(DatabaseError, match="closed"):
        memory.scopes()


@THREADS
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_sockets_of_its_own(memory: Harness, sql: Any) -> None:  # B081
    say(memory, "before")
    child = os.fork()
    if child == 0:
        ok = 1
        try:
            say(memory, "in the child")
            memory.memory.close()
            ok = 0
        finally:
            os._exit(ok)
    assert os.waitpid(child, 0)[1] == 0
    say(memory, "after")
    assert len(found(memory.get_all(filters=ANN))) == 3


def test_the_wait_for_a_server_that_says_nothing_is_the_one_that_was_set(
    make: Any, live: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        dsn = f"host=127.0.0.1 port={port} dbname=app user=ann"
        for memory in (
            make(dsn=dsn, connect_timeout=2),
            make(dsn=f"{dsn} connect_timeout=2", connect_timeout=600),
        ):
            with pytest.raises(DatabaseError, match="timeout"):
                memory.scopes()


def test_settings_of_the_session_come_from_the_dsn(make: Any, live: str, kind: str) -> None:
    dsn = make_conninfo(live, options="-c statement_timeout=4321 -c lock_timeout=1234")
    memory = make(dsn=dsn, max_size=1)
    say(memory, "tea")
    [(_, conn)] = memory.memory._pool.kept
    query = "select current_setting('statement_timeout'), current_setting('lock_timeout')"
    if kind == "sync":
        assert conn.execute(query).fetchone() == ("4321ms", "1234ms")
        return

    async def ask() -> Any:
        return await (await conn.execute(query)).fetchone()

    assert memory.run(ask()) == ("4321ms", "1234ms")


def test_no_more_connections_are_opened_than_there_is_room_for(
    blocking: Memory, live: str, sql: Any
) -> None:
    jobs: list[Callable[[], Any]] = [lambda: blocking.add("x", user_id="ann", infer=False)] * 16
    ours = "select count(*) from pg_stat_activity where application_name = 'memlayer'"
    in_threads(jobs)
    assert 1 <= sql(ours)[0][0] <= 2
    assert len(blocking._pool.kept) <= 2  # type: ignore[union-attr]
