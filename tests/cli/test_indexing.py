"""`memlayer db ann-index`, `refresh-statistics` and `recall-check`."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from memlayer_pg.cli import building
from tests.cli.running import Shell, on_a_terminal, program
from tests.sql.calls import add, one

THRESHOLD = 50


def fill(shell: Shell, size: int, **scope: str) -> None:
    """Memories with random vectors, and a threshold that they pass."""
    rng = random.Random(size)
    with psycopg.connect(shell.dsn) as conn:
        conn.execute(
            "insert into memlayer.setting (tenant, defaults) values (%s, %s) "
            "on conflict do nothing",
            [shell.tenant, f'{{"exact_threshold": {THRESHOLD}}}'],
        )
        add(
            conn,
            *(f"fact {n} of {size}" for n in range(size)),
            embeddings=[[rng.gauss(0, 1) for _ in range(16)] for _ in range(size)],
            model="toy",
            tenant=shell.tenant,
            **scope,
        )


def ann_index(shell: Shell) -> str:
    """The name of the tenant's vector index."""
    with psycopg.connect(shell.dsn) as conn:
        query = "select id from memlayer.model where tenant = %s and state = 'active'"
        return f"memory_ann_{one(conn, query, shell.tenant)}"


def state(shell: Shell) -> bool | None:
    """Whether that index is valid; None when there is none."""
    with psycopg.connect(shell.dsn) as conn:
        query = "select indisvalid from pg_index where indexrelid = to_regclass(%s)"
        row = conn.execute(query, [f"memlayer.{ann_index(shell)}"]).fetchone()
        return None if row is None else bool(row[0])


@contextmanager
def blocked(shell: Shell) -> Iterator[None]:
    """A writer that does not end: the build of an index has to wait for it."""
    with psycopg.connect(shell.dsn) as writer:
        writer.execute("lock table memlayer.memory in row exclusive mode")
        yield


def builder(shell: Shell) -> int:
    """The server's process that waits in the middle of a build."""
    query = (
        "select pid from pg_stat_progress_create_index"
        " where datname = current_database() and phase like 'waiting for writers%'"
    )
    with psycopg.connect(shell.dsn, autocommit=True) as conn:
        return int(until(lambda: conn.execute(query).fetchone())[0])


def until(found: Callable[[], Any]) -> Any:
    """What a function gives as soon as it gives something."""
    for _ in range(600):
        if answer := found():
            return answer
        time.sleep(0.05)
    raise AssertionError("it never came")


def started(shell: Shell, *args: str) -> subprocess.Popen[str]:
    return program("db", "ann-index", *args, **shell.env)


def test_an_index_is_made_measured_and_dropped(shell: Shell) -> None:
    fill(shell, 120, user_id="big", agent_id="bot")
    fill(shell, 30, user_id="small")
    made = shell.well("db", "ann-index", "--memory", "32MB", "--json").json
    assert (made["index"], made["made"]) == (ann_index(shell), True)
    assert made["seconds"] >= 0
    assert made["bytes"] > 0
    assert [(row["kind"], row["scope_id"], row["memories"]) for row in made["statistics"]] == [
        ("agent", "bot", 120),
        ("user", "big", 120),
    ]
    assert (made["recall"]["kind"], made["recall"]["samples"]) == ("agent", 20)
    assert made["recall"]["recall"] > 0.9
    assert state(shell) is True

    again = shell.well("db", "ann-index")
    assert f"{ann_index(shell)}: is there already" in again.out
    assert "agent bot, 120 memories: recall " in again.out
    assert again.err == ""

    dropped = shell.well("db", "ann-index", "--drop", "--json").json
    assert dropped == {"index": ann_index(shell), "dropped": True}
    assert state(shell) is None
    assert "has no vector index" in shell.well("db", "ann-index", "--drop").out


def test_an_index_that_no_scope_needs_is_said_to_be_one(shell: Shell) -> None:
    fill(shell, 10, user_id="small")
    assert "no scope has more than 50 memories" in shell.well("db", "ann-index").err


def test_a_tenant_without_a_model_has_nothing_to_make_an_index_of(shell: Shell) -> None:
    ran = shell("db", "ann-index")
    assert ran.code == 1
    error, hint = ran.err.splitlines()
    assert error == f"error: tenant {shell.tenant} has no embedding model yet"
    assert hint == "hint: Add a memory first."
    assert "has no vector index" in shell.well("db", "ann-index", "--drop").out


def test_memory_that_is_no_size_is_an_error(shell: Shell) -> None:
    fill(shell, 10, user_id="small")
    ran = shell("db", "ann-index", "--memory", "much")
    assert ran.code == 1
    assert "maintenance_work_mem" in ran.err
    assert state(shell) is None


def test_a_build_whose_backend_was_killed_is_completed_by_the_next(alone: Shell) -> None:
    fill(alone, 60, user_id="big")
    with blocked(alone), started(alone) as running:
        with psycopg.connect(alone.dsn, autocommit=True) as admin:
            assert one(admin, "select pg_terminate_backend(%s)", builder(alone))
        _, err = running.communicate()
    assert running.returncode == 1
    assert "the index was not made" in err
    assert "hint: run it again" in err
    assert state(alone) is False

    ran = alone.well("db", "ann-index")
    assert "left unfinished by an interrupted build: dropped" in ran.err
    assert "recall " in ran.out
    assert state(alone) is True


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_build_that_is_interrupted_ends_on_the_server_too(
    alone: Shell, number: signal.Signals, code: int
) -> None:
    fill(alone, 60, user_id="big")
    with blocked(alone), started(alone) as running:
        pid = builder(alone)
        running.send_signal(number)
        _, err = running.communicate()
        with psycopg.connect(alone.dsn, autocommit=True) as conn:
            gone = "select not exists (select from pg_stat_activity where pid = %s)"
            assert until(lambda: one(conn, gone, pid))
    assert running.returncode == code
    assert "interrupted; run it again" in err
    assert "Traceback" not in err
    alone.well("db", "ann-index", "--drop")
    assert state(alone) is None


def test_two_builds_do_not_get_into_each_others_way(alone: Shell) -> None:
    fill(alone, 60, user_id="big")
    with started(alone, "--json") as running:
        with blocked(alone):
            pid = builder(alone)
            for args in ((), ("--drop",)):
                ran = alone("db", "ann-index", *args)
                assert ran.code == 1
                assert f"{ann_index(alone)} is being made by process {pid}" in ran.err
        out, err = running.communicate()
    assert running.returncode == 0, err
    assert '"made": true' in out


def test_the_bar_says_what_the_build_is_at(alone: Shell) -> None:
    fill(alone, 60, user_id="big")
    code, shown = on_a_terminal("db", "ann-index", **alone.env)
    assert code == 0
    assert f"making {ann_index(alone)}" in shown


@pytest.mark.parametrize(
    ("row", "stage"),
    [
        ({"phase": "initializing"}, ("initializing", 0, 0)),
        (
            {"phase": "building", "tuples_done": 12345, "blocks_done": 3, "blocks_total": 10},
            ("building, 12,345 vectors", 3, 10),
        ),
        (
            {"phase": "waiting", "lockers_done": 1, "lockers_total": 2, "current_locker_pid": 77},
            ("waiting, for process 77", 1, 2),
        ),
    ],
)
def test_a_stage_is_told_in_words_and_numbers(row: dict[str, Any], stage: Any) -> None:
    nothing = dict.fromkeys(
        ["blocks_done", "blocks_total", "tuples_done", "lockers_done", "lockers_total"], 0
    )
    assert building.stage({**nothing, "current_locker_pid": 0, **row}) == stage


def test_statistics_are_counted_of_large_scopes_alone(shell: Shell) -> None:
    fill(shell, 30, user_id="small")
    assert "No scope has more than 50 memories" in shell.well("db", "refresh-statistics").out
    assert shell.well("db", "refresh-statistics", "--json").json == []
    fill(shell, 60, user_id="big")
    [row] = shell.well("db", "refresh-statistics", "--json").json
    assert (row["kind"], row["scope_id"], row["memories"]) == ("user", "big", 60)
    assert "big" in shell.well("db", "refresh-statistics").out


def test_the_recall_of_a_scope_is_measured(shell: Shell) -> None:
    fill(shell, 60, user_id="big")
    check = ("db", "recall-check", "--user", "big", "--samples", "5")
    ran = shell(*check)
    assert ran.code == 1
    assert "memlayer db ann-index" in ran.err
    shell.well("db", "ann-index")
    found = shell.well(*check, "--json").json
    assert found["samples"] == 5
    assert found["recall"] > 0.9
    assert "of 5 samples" in shell.well(*check).out
    nobody = ("db", "recall-check", "--user", "nobody")
    assert shell.well(*nobody, "--json").json["recall"] is None
    assert "nothing to measure" in shell.well(*nobody).out
    assert shell("db", "recall-check").code == 2
