"""Faults that other memory layers were reported for, each done here as it was done there."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from psycopg.conninfo import make_conninfo

from memlayer_pg import AsyncMemory, Config, DatabaseError, Memory, MemoryNotFound
from tests.api.harness import model
from tests.api.operations import memory_of
from tests.api.test_reading import ANN, NOWHERE, found, say
from tests.endpoint import refusal

THREADS = pytest.mark.parametrize("kind", ["sync"], indirect=True)


def test_a_scoped_delete_leaves_the_table_as_it_is(memory: Any, sql: Any) -> None:  # B002
    table = (
        "select c.oid, c.relfilenode, c.relacl::text, array_agg(i.indexrelid order by 1)"
        " from pg_class c join pg_index i on i.indrelid = c.oid"
        " where c.oid = 'memlayer.memory'::regclass group by 1, 2, 3"
    )
    before = sql(table.replace("order by 1", "order by i.indexrelid"))
    say(memory, "1", user_id="alice", run_id="r1")
    say(memory, "2", user_id="alice", run_id="r2")
    say(memory, "3", user_id="bob")
    memory.delete_all(user_id="alice", run_id="r1")
    assert found(memory.get_all(filters={"user_id": "alice"})) == ["2"]
    assert found(memory.get_all(filters={"user_id": "bob"})) == ["3"]
    assert sql(table.replace("order by 1", "order by i.indexrelid")) == before


def test_a_very_long_conversation_is_looked_up_by_its_end(  # B012
    memory: Any, endpoint: Any
) -> None:
    def short_only(request: Any) -> Any:
        given = request["input"]
        texts = [given] if isinstance(given, str) else given
        return refusal(400, "too long") if any(len(text) > 8192 for text in texts) else None

    endpoint.embeddings = short_only
    endpoint.facts("The user likes tea")
    text = ("日本語のお茶 and green tea, " * 20_000)[:400_000]
    assert found(memory.add(text, user_id="ann")) == ["The user likes tea"]
    assert text in endpoint.prompts[-1]


def test_the_text_of_an_update_has_two_spellings_and_one_type(  # B017
    memory: Any, endpoint: Any, counts: Any
) -> None:
    [id_] = say(memory, "tea")
    before, asked = counts(), len(endpoint.requests)
    for given in ({"text": "x"}, 5, None):
        with pytest.raises((TypeError, ValueError), match="text"):
            memory.update(id_, given)
    with pytest.raises((TypeError, ValueError), match="text"):
        memory.update(id_)
    assert (counts(), len(endpoint.requests)) == (before, asked)
    memory.update(id_, data="by data")
    assert memory.get(id_)["memory"] == "by data"
    memory.update(id_, text="by text")
    assert memory.get(id_)["memory"] == "by text"


def test_a_blank_update_is_refused(memory: Any, endpoint: Any) -> None:  # B013
    [id_] = say(memory, "tea")
    asked = len(endpoint.requests)
    with pytest.raises(ValueError, match="text"):
        memory.update(id_, "  ")
    assert memory.get(id_)["memory"] == "tea"
    assert len(endpoint.requests) == asked


def test_what_never_was_is_not_deleted_and_leaves_no_history(  # B019
    memory: Any, counts: Any
) -> None:
    for _ in range(2):
        with pytest.raises(MemoryNotFound, match=NOWHERE):
            memory.delete(NOWHERE)
    assert counts() == (0, 0, 0, 0, 0)


def test_a_statement_said_three_times_stands_once(  # B014
    memory: Any, endpoint: Any
) -> None:
    endpoint.facts("Ann likes tea")
    told = [memory.add("I like tea", user_id="ann")["results"] for _ in range(3)]
    assert [len(results) for results in told] == [1, 0, 0]
    assert found(memory.get_all(filters=ANN)) == ["Ann likes tea"]


def test_what_a_model_says_with_characters_postgres_has_not_is_kept_without(  # B024, B025
    memory: Any, endpoint: Any
) -> None:
    endpoint.reply('{"facts": ["a\\u0000b", "x\\ud800y", "tea \\ud83c\\udf75"]}')
    stored = found(memory.add("hello", user_id="ann"))
    assert len(stored) == 3
    assert stored[2] == "tea 🍵"
    assert found(memory.get_all(filters=ANN))
    for text in stored:
        assert "\x00" not in text
        text.encode()


def test_times_are_utc_under_any_zone_of_host_and_session(  # B065
    make: Any, sql: Any, live: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/Los_Angeles")
    monkeypatch.setenv("PGTZ", "Asia/Kolkata")
    time.tzset()
    try:
        memory = make(dsn=make_conninfo(live, options="-c memlayer.now=2026-03-02T03:30:00Z"))
        [id_] = say(memory, "hello")
        memory.update(id_, "hello again")
        item = memory.get(id_)
        assert item["created_at"] == item["updated_at"] == "2026-03-02T03:30:00+00:00"
        for event in memory.history(id_):
            assert event["updated_at"] == "2026-03-02T03:30:00+00:00"
    finally:
        monkeypatch.undo()
        time.tzset()
    types = sql(
        "select distinct data_type from information_schema.columns"
        " where table_schema = 'memlayer' and column_name like '%%\\_at'"
    )
    assert types == [("timestamp with time zone",)]


def in_a_process(dsn: str, tenant: str, url: str, results: Any) -> None:
    with memory_of(dsn, tenant, url) as memory, ThreadPoolExecutor(5) as threads:
        for done in [threads.submit(memory.add, "I cycle to work", user_id="u") for _ in range(5)]:
            results.put(done.result())


def test_processes_and_threads_that_say_the_same_leave_one_row(  # B071
    live: str, tenant: str, endpoint: Any, counts: Any, sql: Any
) -> None:
    meeting = threading.Barrier(20)

    def together(request: Any) -> str:
        meeting.wait(300)  # all of them looked before any wrote
        return json.dumps({"facts": ["Cycles to work"]})

    endpoint.chat = together
    starter = multiprocessing.get_context("forkserver")
    results = starter.Queue()
    processes = [
        starter.Process(target=in_a_process, args=(live, tenant, endpoint.base_url, results))
        for _ in range(4)
    ]
    for process in processes:
        process.start()
    told = [results.get(timeout=300) for _ in range(20)]
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert sorted(len(answer["results"]) for answer in told) == [0] * 19 + [1]
    assert counts()[:2] == (1, 1)
    assert sql("select * from memlayer.verify(%(tenant)s)") == []


@THREADS
@pytest.mark.parametrize("infer", [True, False])
def test_fifty_adds_at_once_are_all_there(  # B073
    make: Any, endpoint: Any, counts: Any, infer: bool
) -> None:
    endpoint.chat = lambda request: json.dumps(
        {"facts": [request["messages"][-1]["content"].rpartition("<<")[2].partition(">>")[0]]}
    )
    memory = make(max_size=10, connect_timeout=60)
    with ThreadPoolExecutor(50) as threads:
        told = list(
            threads.map(
                lambda n: memory.add(f"<<marker{n}x>>", user_id="ann", infer=infer), range(50)
            )
        )
    assert sum(len(answer["results"]) for answer in told) == 50
    assert counts()[:2] == (50, 50)
    texts = found(memory.get_all(filters=ANN, top_k=100))
    assert {text.strip("<>") for text in texts} == {f"marker{n}x" for n in range(50)}
    for n in range(50):
        assert f"marker{n}x" in found(memory.search(f"marker{n}x", filters=ANN))[0]


def test_whatever_fails_the_only_connection_goes_on_working(  # B077
    make: Any, endpoint: Any
) -> None:
    memory = make(max_size=1)
    [id_] = say(memory, "tea")
    other = make(llm=None, max_size=1)
    failing: list[tuple[Any, str]] = [
        (lambda: say(other, "wrong size"), "ML004"),
        (lambda: other.search("wrong size", filters=ANN), "ML004"),
        (lambda: memory.update(id_, "wrong size"), "ML004"),
        (lambda: memory.update(id_, metadata={"a": 1}, expected_version=9), "ML006"),
        (lambda: memory.delete(id_, expected_version=9), "ML006"),
        (lambda: memory.delete(NOWHERE), "ML002"),
        (lambda: memory.restore(NOWHERE), "ML002"),
        (lambda: memory.restore(id_, version=9), "ML002"),
        (lambda: memory.undo(NOWHERE), "ML002"),
        (lambda: memory.get_all(filters={**ANN, "k": {"gt": []}}), "ML003"),
        (lambda: memory.changes_since("no cursor"), "ML003"),
        (lambda: memory.import_memories([{"text": "x" * 11_000_000, "user_id": "u"}]), "ML005"),
    ]
    for call, sqlstate in failing:
        endpoint.dimensions = 32 if sqlstate == "ML004" else 64
        with pytest.raises(DatabaseError) as caught:
            call()
        assert caught.value.sqlstate == sqlstate
        endpoint.dimensions = 64
        assert found(memory.search("tea", filters=ANN)) == ["tea"]
        assert found(other.search("tea", filters=ANN)) == ["tea"]


@THREADS
def test_one_memory_does_everything_for_many_threads_and_leaves_no_file(  # B078
    make: Any, counts: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    memory = make(max_size=8, connect_timeout=60)

    def work(n: int) -> None:
        for round_ in range(4):
            [id_] = say(memory, f"marker {n} {round_}")
            assert memory.search("marker", filters=ANN)["results"]
            memory.update(id_, f"changed {n} {round_}")
            assert [event["event"] for event in memory.history(id_)] == ["ADD", "UPDATE"]

    with ThreadPoolExecutor(32) as threads:
        for done in [threads.submit(work, n) for n in range(32)]:
            done.result()
    assert counts()[:2] == (128, 256)
    assert os.listdir(tmp_path) == []


def test_memories_are_made_anywhere(live: str, tenant: str, endpoint: Any) -> None:  # B081
    config = Config(dsn=live, tenant=tenant, embedder=model(endpoint))

    async def in_a_running_loop() -> None:
        with Memory(config) as memory:
            say(memory, "blocking, in a loop")
        async with AsyncMemory(config) as other:
            assert len((await other.get_all(filters=ANN))["results"]) == 2

    with Memory(config) as memory, ThreadPoolExecutor(1) as thread:
        thread.submit(say, memory, "in a thread").result()
        asyncio.run(in_a_running_loop())
        thread.submit(asyncio.run, in_a_running_loop_again(config)).result()


async def in_a_running_loop_again(config: Config) -> None:
    async with AsyncMemory(config) as memory:
        assert len((await memory.get_all(filters=ANN))["results"]) == 2
