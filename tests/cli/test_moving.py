"""`memlayer import mem0` on tables such as mem0 writes, their defects included."""

from __future__ import annotations

import json
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.cli.running import Shell, program
from tests.cli.test_importing import query
from tests.mem0_store import BEGIN, Mem0Store, fill

ID = "0b0e0d0c-0000-4000-8000-0000000000{:02}"
ANN: Any = {"user_id": "ann"}
MODEL = ("--model", "m", "--json")


@pytest.fixture
def store(database: str, tmp_path: Path) -> Mem0Store:
    """An empty store of mem0, beside ours."""
    return Mem0Store(database, tmp_path / "history.db")


@pytest.fixture
def shell(database: str) -> Shell:
    return Shell(database, "acme")


def move(shell: Shell, store: Mem0Store, *options: str) -> Any:
    return shell.well(*command(store, *options)).json


def command(store: Mem0Store, *options: str) -> list[str]:
    named = ("--vector-dsn", store.dsn, "--history-db", str(store.file), *MODEL, *options)
    return ["import", "mem0", "--collection", store.collection, *named]


def defects(report: Any) -> dict[str, int]:
    return {found["defect"]: found["count"] for found in report["defects"]}


def problems(shell: Shell) -> set[str]:
    return {found["problem"] for found in shell("verify", "--json").json}


def everything(shell: Shell) -> list[Any]:
    tables = ("memory", "history", "entity", "mention", "message", "session", "change")
    rows = "select {0}::text from memlayer.{0} where tenant = %(tenant)s order by 1"
    return [query(shell, rows.format(table)) for table in tables]


def rich(store: Mem0Store) -> None:
    later = "2026-01-02T09:00:00+00:00"
    store.memory(
        ID.format(1), "Ann drinks tea with Eve", [0.5, 0.25, 1], recorded=False, **ANN,
        updated_at=later, topic="food", expiration_date="2999-12-31", attributed_to="user",
        linked={"a": [1, None]},
    )  # fmt: skip
    store.event(ID.format(1), "ADD", None, "Ann drinks coffee", BEGIN.isoformat())
    store.event(
        ID.format(1), "UPDATE", "Ann drinks coffee", "Ann drinks tea with Eve",
        BEGIN.isoformat(), later,
    )  # fmt: skip
    store.memory(ID.format(2), "Yes", [1, 0, 0], **ANN, agent_id="tutor", role="user", actor_id="A")
    store.memory(
        ID.format(3), "did this, then that", [0, 1, 0], agent_id="tutor",
        memory_type="procedural_memory",
    )  # fmt: skip
    store.memory(ID.format(4), "Ann likes 茶", [0.5, 0.5, 1], **ANN)
    store.entity("Eve", [ID.format(1), ID.format(2)], [0, 0, 1], **ANN)
    for number in range(3):
        store.message("agent_id=tu%26tor&user_id=ann", "user", f"said {number}")
    store.message("user_id=ann", "assistant", "hello")


def test_a_store_moves_with_ids_times_vectors_entities_history_and_messages(
    shell: Shell, store: Mem0Store
) -> None:
    rich(store)
    report = move(shell, store)
    assert (report["memories"], report["added"], report["left_out"]) == (4, 4, 0)
    assert (report["pending"], report["defects"]) == (0, [])
    assert report["messages"] == {"scopes": 2, "messages": 4, "stored": 4}
    checked = report["verification"]
    assert (checked["compared"], checked["same"]) == (4, 4)
    assert checked["checksums"]["mem0"] == checked["checksums"]["here"]
    assert checked["search"]["agreement"] == 1.0
    first = shell.well("get", ID.format(1), "--json").json
    assert first["metadata"] == {"topic": "food", "linked": {"a": [1, None]}}
    assert first["created_at"] == BEGIN.isoformat()
    assert first["updated_at"] == "2026-01-02T09:00:00+00:00"
    assert (first["expiration_date"], first["version"]) == ("2999-12-31", 2)
    events = shell.well("history", ID.format(1), "--json").json
    assert [(e["event"], e["old_memory"], e["new_memory"], e["updated_at"]) for e in events] == [
        ("ADD", None, "Ann drinks coffee", "2026-01-01T00:00:00+00:00"),
        ("UPDATE", "Ann drinks coffee", "Ann drinks tea with Eve", "2026-01-02T09:00:00+00:00"),
    ]  # fmt: skip
    assert query(
        shell,
        "select e.user_id, e.agent_id, e.name, e.type, e.embedding::text from memlayer.entity e"
        " where tenant = %(tenant)s order by 2 nulls first",
    ) == [("ann", None, "Eve", "proper", "[0,0,1]"), ("ann", "tutor", "Eve", "proper", "[0,0,1]")]
    said = shell.well("messages", "--user", "ann", "--agent", "tu&tor", "--json").json
    assert [message["content"] for message in said] == ["said 0", "said 1", "said 2"]
    assert problems(shell) == set()


def test_what_was_known_on_a_day_before_the_move_is_known_still(
    shell: Shell, store: Mem0Store
) -> None:
    rich(store)
    move(shell, store)
    with psycopg.connect(shell.dsn) as conn:
        stood = conn.execute(
            "select text from memlayer.as_of('acme', '2026-01-01 12:00+00', 'ann') order by 1"
        ).fetchall()
    assert [text for (text,) in stood] == ["Ann drinks coffee", "Ann likes 茶", "Yes"]


def test_a_second_run_changes_nothing(shell: Shell, store: Mem0Store) -> None:
    rich(store)
    store.event(ID.format(50), "ADD", None, "gone", BEGIN.isoformat())
    store.event(ID.format(50), "DELETE", "gone", None, BEGIN.isoformat(), BEGIN.isoformat())
    move(shell, store)
    before = everything(shell)
    report = move(shell, store)
    assert (report["added"], report["known"], report["messages"]["stored"]) == (0, 4, 0)
    assert everything(shell) == before


def test_a_memory_deleted_here_since_is_not_brought_back(shell: Shell, store: Mem0Store) -> None:
    rich(store)
    move(shell, store)
    shell.well("delete", ID.format(4))
    ran = shell(*command(store))
    assert ran.code == 1
    assert (ran.json["added"], ran.json["known"]) == (0, 4)
    assert ran.json["verification"]["differences"] == [
        {"id": ID.format(4), "columns": ["it is not there"]}
    ]


def test_a_dry_run_reports_and_writes_nothing(shell: Shell, store: Mem0Store) -> None:
    rich(store)
    before = everything(shell)
    report = move(shell, store, "--dry-run")
    assert (report["added"], report["messages"]["stored"]) == (4, 0)
    assert "verification" not in report
    assert everything(shell) == before


def test_defects_are_counted_and_nothing_is_lost_silently(shell: Shell, store: Mem0Store) -> None:
    day = BEGIN.isoformat()
    store.memory(ID.format(1), "Ann drinks tea", [1, 0, 0], **ANN)
    store.memory(ID.format(2), "Ann drinks tea", [1, 0, 0], **ANN, topic="again")
    store.memory(ID.format(3), "no day", [1, 1, 0], **ANN, expiration_date="soon")
    store.memory(ID.format(4), "nobody's", [1, 1, 0])
    store.memory(ID.format(5), "  ", [1, 1, 0], **ANN)
    store.memory(ID.format(6), "no record", [0, 1, 0], recorded=False, **ANN)
    store.memory(ID.format(7), "naive", [0, 1, 0], **ANN, created_at="2026-01-01T02:00:00")
    store.memory(ID.format(8), "reserved", [0, 1, 0], **ANN, created_at="long ago", role=7, id="x")
    store.memory(ID.format(9), "no vector", None, **ANN)
    store.memory(ID.format(10), "zeros", [0, 0, 0], **ANN)
    store.memory(ID.format(11), "said anew", [0, 1, 1], recorded=False, **ANN, hash="0" * 32)
    store.event(ID.format(11), "ADD", None, "said first", day)
    store.memory(ID.format(12), "stands", [0, 1, 1], **ANN)
    store.event(ID.format(12), "DELETE", "stands", None, day, day)
    store.memory(ID.format(13), "half", [0, 1, 1], recorded=False, **ANN)
    store.event(ID.format(13), "UPDATE", "whole", "half", day, day)
    store.event(ID.format(50), "ADD", None, "gone", day)
    store.event(ID.format(50), "DELETE", "gone", None, day, day)
    store.event(ID.format(51), "ADD", None, "lost\0 " + "x", day)
    store.lite(
        "insert into history (id, memory_id, event, new_memory, created_at)"
        " values ('k', ?, 'ADD', cast(x'61ff62' as text), ?)",
        ID.format(52),
        day,
    )
    store.event("no uuid", "ADD", None, "x", day)
    store.event(ID.format(53), "MERGE", None, "x", day)
    store.insert("mem0", ID.format(14), [1, 0, 0], None)
    store.entity("Eve", [ID.format(1), ID.format(99), "rubbish"], [0, 1, 0], **ANN)
    store.entity("Orphan", [ID.format(98)], [0, 1, 0], **ANN)
    store.entity("x" * 500, [ID.format(1)], [0, 1, 0], **ANN)
    store.message("user_id=ann", "user", None)
    store.message("session", "user", "whose?")
    report = move(shell, store)
    assert defects(report) == {
        "no text": 2,
        "nobody's": 1,
        "no vector": 1,
        "vector not usable": 1,
        "expiration_date is no date": 1,
        "created_at is no time": 1,
        "time without a zone": 1,
        "hash is not of the text": 1,
        "key of another type": 1,
        "characters Postgres does not keep": 2,
        "fact stands twice": 1,
        "no history": 1,
        "history with a gap": 2,
        "history says deleted, and it stands": 1,
        "history of a deleted memory": 3,
        "history ends without a deletion": 2,
        "history of what is no UUID": 1,
        "event unknown": 1,
        "entity without a usable name": 1,
        "link to a memory that is not there": 3,
        "message without text": 1,
        "messages of a scope that cannot be read": 1,
    }
    assert (report["memories"], report["added"], report["left_out"]) == (14, 11, 3)
    assert report["pending"] == 2
    assert report["verification"]["same"] == 11
    assert shell.well("get", ID.format(2), "--json").json["metadata"] == {"topic": "again"}
    assert query(
        shell,
        "select metadata, role, created_at from memlayer.memory"
        " where tenant = %(tenant)s and text = 'reserved'",
    ) == [({"created_at": "long ago", "role": 7, "id": "x"}, None, BEGIN)]
    assert query(
        shell,
        "select metadata, expires_on from memlayer.memory"
        " where tenant = %(tenant)s and text = 'no day'",
    ) == [({"expiration_date": "soon"}, None)]
    steps = shell.well("history", ID.format(11), "--json").json
    assert [step["new_memory"] for step in steps] == ["said first", "said anew"]
    steps = shell.well("history", ID.format(52), "--json").json
    assert [(s["event"], s["old_memory"], s["new_memory"]) for s in steps] == [
        ("ADD", None, "a\ufffdb"), ("DELETE", "a\ufffdb", None)
    ]  # fmt: skip
    assert problems(shell) == {"the memory waits for its vector"}


def test_memories_of_nobody_are_given_to_whom_the_options_name(
    shell: Shell, store: Mem0Store
) -> None:
    store.memory(ID.format(1), "whose?", [1, 0, 0])
    store.event(ID.format(50), "ADD", None, "gone", BEGIN.isoformat())
    assert move(shell, store, "--user", "zoe")["added"] == 1
    assert query(
        shell, "select distinct user_id from memlayer.history where tenant = %(tenant)s"
    ) == [("zoe",)]


def test_missing_tables_are_said_and_are_no_error(shell: Shell, store: Mem0Store) -> None:
    store.memory(ID.format(1), "Ann drinks tea", [1, 0, 0], **ANN)
    with psycopg.connect(store.dsn) as conn:
        conn.execute("drop table mem0_entities")
    store.lite("drop table history")
    store.lite("drop table messages")
    report = move(shell, store)
    assert defects(report) == {
        "no table of entities": 1, "no table of history": 1, "no table of messages": 1,
    }  # fmt: skip
    assert report["added"] == 1
    assert problems(shell) == set()


def test_collections_are_moved_one_by_one_and_named_where_one_is_missing(
    shell: Shell, store: Mem0Store
) -> None:
    other = Mem0Store(store.dsn, store.file, 3, 'my "shop"')
    store.memory(ID.format(1), "Ann drinks tea", [1, 0, 0], **ANN)
    other.memory(ID.format(2), "Ann buys tea", [1, 0, 0], **ANN)
    assert move(shell, other)["added"] == 1
    assert query(shell, "select text from memlayer.memory where tenant = %(tenant)s") == [
        ("Ann buys tea",)
    ]
    ran = shell("import", "mem0", "--vector-dsn", store.dsn, "--collection", "mem1", *MODEL)
    assert ran.code == 2
    assert 'There are: mem0, my "shop"' in ran.err


def test_a_file_or_database_that_is_not_there_is_wrong_use(shell: Shell, store: Mem0Store) -> None:
    ran = shell(*command(store, "--history-db", "nowhere.db"))
    assert (ran.code, "cannot be read" in ran.err) == (2, True)
    ran = shell("import", "mem0", "--json")
    assert (ran.code, "either --vector-dsn or --dump" in ran.err) == (2, True)
    Path(store.file).write_bytes(b"this is no database at all, " * 50)
    ran = shell(*command(store))
    assert (ran.code, "cannot be read" in ran.err) == (2, True)


def test_a_file_of_the_name_mem0_is_still_imported(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "mem0"
    path.write_text(json.dumps({"memory": "tea", **ANN}), "utf-8")
    assert shell.well("import", str(path), "--json").json["added"] == 1


def test_a_move_that_was_killed_is_taken_up(shell: Shell, store: Mem0Store) -> None:
    fill(store, 4000, 3)
    running = program(*command(store), "--tenant", shell.tenant, "--dsn", shell.dsn)
    count = "select count(*) from memlayer.memory where tenant = %(tenant)s"
    while not (stored := query(shell, count)[0][0]):
        time.sleep(0.02)
    running.send_signal(signal.SIGKILL)
    running.communicate()
    stored = query(shell, count)[0][0]
    assert 0 < stored < 4000
    report = move(shell, store)
    assert (report["added"], report["known"]) == (4000 - stored, stored)
    assert report["verification"]["same"] == 4000
    assert query(
        shell, "select count(*) from memlayer.history where tenant = %(tenant)s"
    ) == [(4400,)]  # fmt: skip
    assert problems(shell) == set()


def test_an_older_file_of_mem0_is_asked_to_be_brought_up_to_date(
    shell: Shell, store: Mem0Store
) -> None:
    store.memory(ID.format(1), "Ann drinks tea", [1, 0, 0], **ANN)
    with closing(sqlite3.connect(store.file)) as lite, lite:
        lite.execute("alter table history rename column new_memory to new_value")
    ran = shell(*command(store))
    assert (ran.code, "has no new_memory" in ran.err) == (2, True)


def test_a_dump_of_get_all_is_moved_whatever_store_it_is_of(shell: Shell, tmp_path: Path) -> None:
    hosted = {
        "id": "not-a-uuid", "memory": "Ann drinks tea", **ANN, "hash": "x", "categories": ["food"],
        "metadata": {"data": "kept", "k": 1}, "created_at": "2025-07-01T10:00:00-07:00",
        "updated_at": "2025-07-02T10:00:00-07:00", "expiration_date": None, "score": 0.3,
    }  # fmt: skip
    point = {"id": ID.format(1), "payload": {"data": "Ann likes jazz", **ANN, "topic": "music"}}
    path = tmp_path / "dump.json"
    path.write_text(json.dumps({"results": [hosted, point, {"memory": None}]}), "utf-8")
    report = shell.well("import", "mem0", "--dump", str(path), "--json").json
    assert (report["memories"], report["added"], report["pending"], report["left_out"]) == (
        3,
        2,
        2,
        1,
    )
    assert shell.well("import", "mem0", "--dump", str(path), "--json").json["known"] == 2
    found = {
        one["memory"]: one for one in shell.well("list", "--user", "ann", "--json").json["results"]
    }
    tea = found["Ann drinks tea"]
    assert tea["metadata"] == {
        "categories": ["food"],
        "data": "kept",
        "k": 1,
        "mem0_id": "not-a-uuid",
    }
    assert (tea["created_at"], tea["updated_at"]) == (
        "2025-07-01T17:00:00+00:00", "2025-07-02T17:00:00+00:00",
    )  # fmt: skip
    assert found["Ann likes jazz"]["metadata"] == {"topic": "music"}
    assert problems(shell) == {"the memory waits for its vector"}
