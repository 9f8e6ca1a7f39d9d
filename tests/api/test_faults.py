"""What a database does to its clients: other isolation, prepared transactions, restarts, and
administrators who write by hand."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from memlayer_pg import Config, DatabaseError, Memory, embedded
from tests.api.harness import model
from tests.api.test_reading import ANN, found, say
from tests.conftest import lay, temporary_folder


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_under_any_default_isolation_all_writers_get_through(
    live: str, tenant: str, endpoint: Any, sql: Any, level: str
) -> None:
    escaped = level.replace(" ", "\\ ")
    dsn = make_conninfo(live, options=f"-c default_transaction_isolation={escaped}")
    config = Config(dsn=dsn, tenant=tenant, embedder=model(endpoint))

    def work(number: int) -> None:
        for step in range(4):
            [id_] = say(memory, f"Ann says {number} {step}")
            memory.update(id_, f"Bob says {number} {step}")
            say(memory, f"Ann and Bob {step}")
            memory.search("Bob", filters=ANN)

    with Memory(config) as memory:
        assert memory.changes_since()["results"] == []
        with ThreadPoolExecutor(6) as threads:
            list(threads.map(work, range(6)))
        texts = found(memory.get_all(filters=ANN, top_k=100))
    assert {f"Bob says {n} {s}" for n in range(6) for s in range(4)} <= set(texts)
    assert len(texts) == 48
    assert sql("select count(*), max(last_seq) from memlayer.session where tenant = %(tenant)s") \
        == [(1, 48)]  # fmt: skip
    assert sql("select * from memlayer.verify(%(tenant)s)") == []


@pytest.mark.parametrize("loser", ["program", "administrator"])
def test_of_a_program_and_an_administrator_who_meet_crosswise_one_is_undone_wholly(
    live: str, tenant: str, endpoint: Any, sql: Any, loser: str
) -> None:
    # Whoever has waited that long sees that he waits in a circle, and gives up.
    patience = {"program": "2s", "administrator": "10min"} if loser == "program" else (
        {"program": "10min", "administrator": "10ms"})  # fmt: skip
    dsn = make_conninfo(
        live, application_name=tenant, options=f"-c deadlock_timeout={patience['program']}"
    )
    config = Config(dsn=dsn, tenant=tenant, embedder=model(endpoint))
    with Memory(config) as memory, ThreadPoolExecutor(1) as thread:
        for run in ("r1", "r2"):
            say(memory, f"Ann in {run}", run_id=run)
        # As everybody does, the program locks the lower session first.
        (low, _), (high, _) = sql(
            "select run_id, id from memlayer.session where tenant = %(tenant)s order by id"
        )
        delete = "delete from memlayer.memory where tenant = %s and run_id = %s"
        with psycopg.connect(live) as admin:
            admin.execute(f"set deadlock_timeout = '{patience['administrator']}'")
            admin.execute(delete, [tenant, high])
            doing = thread.submit(memory.delete_all, "ann")
            while not sql(
                "select 1 from pg_stat_activity"
                " where application_name = %(tenant)s and wait_event_type = 'Lock'"
            ):
                time.sleep(0.01)
            if loser == "program":
                admin.execute(delete, [tenant, low])
                admin.commit()
            else:
                with pytest.raises(psycopg.errors.DeadlockDetected):
                    admin.execute(delete, [tenant, low])
                admin.rollback()
        # A call of ours that was given up is made again.
        assert doing.result(60) == {"message": "Memories deleted successfully!"}
        assert memory.get_all(filters=ANN)["results"] == []
    [(changed,)] = sql(
        "select deleted from memlayer.change where tenant = %(tenant)s and operation = 'delete_all'"
    )
    assert changed == (0 if loser == "program" else 2)
    events = sql("select event from memlayer.history where tenant = %(tenant)s order by seq")
    assert events == [("ADD",), ("ADD",), ("DELETE",), ("DELETE",)]
    assert sql("select * from memlayer.verify(%(tenant)s)") == []


def test_an_administrator_who_locks_the_sessions_first_meets_nobody_crosswise(
    live: str, tenant: str, endpoint: Any, sql: Any
) -> None:
    config = Config(dsn=make_conninfo(live, application_name=tenant), tenant=tenant,
                    embedder=model(endpoint))  # fmt: skip
    deadlocks = "select deadlocks from pg_stat_database where datname = current_database()"
    before = sql(deadlocks)
    with Memory(config) as memory, ThreadPoolExecutor(1) as thread:
        for run in ("r1", "r2"):
            say(memory, f"Ann in {run}", run_id=run)
        with psycopg.connect(live) as admin:
            admin.execute(
                "select from memlayer.session where tenant = %s order by id for no key update",
                [tenant],
            )
            admin.execute("delete from memlayer.memory where tenant = %s", [tenant])
            doing = thread.submit(say, memory, "Ann again", run_id="r1")
            while not sql(
                "select 1 from pg_stat_activity"
                " where application_name = %(tenant)s and wait_event_type = 'Lock'"
            ):
                time.sleep(0.01)
        doing.result(60)
        assert found(memory.get_all(filters=ANN)) == ["Ann again"]
    assert sql(deadlocks) == before
    assert sql("select * from memlayer.verify(%(tenant)s)") == []


def test_prepared_transactions_and_restarts_lose_and_repeat_nothing(
    server: str, tenant: str, endpoint: Any
) -> None:
    with psycopg.connect(server) as conn:
        version = conn.info.server_version // 10000
    with temporary_folder() as folder:
        with embedded.start(folder, version=version) as running:
            with psycopg.connect(running.dsn, autocommit=True) as admin:
                admin.execute("alter system set max_prepared_transactions = 4")
                admin.execute("alter system set fsync = off")
            lay(running.dsn)
        running = embedded.start(folder)
        with Memory(Config(dsn=running.dsn, tenant=tenant, embedder=model(endpoint))) as memory:
            say(memory, "before")
            seen = memory.changes_since()
            assert len(seen["results"]) == 1
            conn = psycopg.connect(running.dsn)
            conn.tpc_begin(conn.xid(1, "ours", "x"))
            memory.add("in two phases", user_id="ann", infer=False, connection=conn)
            conn.tpc_prepare()
            conn.close()
            say(memory, "after", user_id="bob")
            # What was prepared may still come before it.
            assert memory.changes_since(seen["cursor"])["results"] == []
            running.stop()
            running = embedded.start(folder)
            say(memory, "after the restart", user_id="bob")
            assert memory.changes_since(seen["cursor"])["results"] == []
            assert found(memory.get_all(filters=ANN)) == ["before"]
            with psycopg.connect(running.dsn, autocommit=True) as conn:
                [pending] = conn.tpc_recover()
                conn.tpc_commit(pending)
                rest = memory.changes_since(seen["cursor"])["results"]
                assert [change["new_memory"] for change in rest] == [
                    "in two phases", "after", "after the restart",
                ]  # fmt: skip
                assert conn.execute("select * from memlayer.verify()").fetchall() == []
        running.stop()


def test_a_call_that_meets_a_restart_fails_or_is_done_and_the_next_one_works(
    server: str, tenant: str, endpoint: Any
) -> None:
    with psycopg.connect(server) as conn:
        version = conn.info.server_version // 10000
    with temporary_folder() as folder:
        running = embedded.start(folder, version=version)
        lay(running.dsn)
        with Memory(Config(dsn=running.dsn, tenant=tenant, embedder=model(endpoint))) as memory:
            stored: list[str] = []
            restarts = 3

            def work() -> None:
                while restarts:
                    text = f"fact {len(stored)}"
                    try:
                        memory.add(text, user_id="ann", infer=False, idempotency_key=text)
                    except DatabaseError:  # the same again
                        continue
                    stored.append(text)

            with ThreadPoolExecutor(1) as thread:
                doing = thread.submit(work)
                while restarts:
                    enough = len(stored) + 5
                    while len(stored) < enough:
                        time.sleep(0.01)
                    running.stop()
                    running = embedded.start(folder)
                    restarts -= 1
                doing.result(60)
            assert set(found(memory.get_all(filters=ANN, top_k=1000))) == set(stored)
            with psycopg.connect(running.dsn) as conn:
                [(rows, different)] = conn.execute(
                    "select count(*), count(distinct text) from memlayer.memory"
                )
                assert rows == different == len(stored)
                assert conn.execute("select * from memlayer.verify()").fetchall() == []
        running.stop()
