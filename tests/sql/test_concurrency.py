from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import psycopg

from memlayer_pg.errors import MemoryNotFound
from tests.sql.calls import Connection, add, call, count


def at_once(dsn: str, workers: int, work: Callable[[Connection, int], Any]) -> list[Any]:
    """What each of so many connections got, all working at the same time."""

    def on_a_connection(number: int) -> Any:
        with psycopg.connect(dsn, autocommit=True) as conn:
            return work(conn, number)

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(on_a_connection, range(workers)))


def test_twenty_parallel_adds_of_one_fact_leave_one_row(database: str) -> None:
    def work(conn: Connection, number: int) -> list[Any]:
        rows = [
            call(conn, "add", user_id="ann", facts=[{"text": f"fact {n}"}])[0] for n in range(5)
        ]
        return [(row["id"], row["event"]) for row in rows]

    answers = at_once(database, 20, work)
    with psycopg.connect(database) as conn:
        assert (count(conn, "memory"), count(conn, "history")) == (5, 5)
        assert call(conn, "verify", tenant="other") == []
    for fact in zip(*answers, strict=True):
        assert len({memory for memory, _ in fact}) == 1
        assert sorted(event for _, event in fact) == ["ADD"] + ["SKIP"] * 19


def test_the_first_vectors_of_a_tenant_agree_on_one_model(database: str) -> None:
    at_once(
        database,
        8,
        lambda conn, n: add(conn, f"fact {n}", user_id=f"u{n}", embeddings=[[1.0]], model="toy"),
    )
    with psycopg.connect(database) as conn:
        assert count(conn, "model") == 1
        assert count(conn, "memory", "embedding_model is not null") == 8


def test_one_idempotency_key_writes_once_however_many_ask(database: str) -> None:
    answers = at_once(
        database,
        10,
        lambda conn, _: call(
            conn,
            "add",
            user_id="ann",
            facts=[{"text": "x", "role": "user"}],
            idempotency_key="k",
            request_hash="h",
        ),
    )
    assert all(answer == answers[0] for answer in answers)
    with psycopg.connect(database) as conn:
        assert (count(conn, "memory"), count(conn, "change")) == (1, 1)


def test_writers_of_every_kind_meet_without_deadlock_or_loss(database: str) -> None:
    names = ["Ann", "Bob", "Rome", "Oslo"]

    def work(conn: Connection, number: int) -> int:
        rng = random.Random(number)
        added = 0
        for step in range(60):
            scope = rng.choice([{"user_id": "ann"}, {"user_id": "ann", "agent_id": "a"}])
            some = conn.execute(
                "select id from memlayer.memory order by random() limit 1"
            ).fetchone()
            entities = [{"name": name} for name in rng.sample(names, 2)]
            # Another may have deleted the memory meanwhile; anything else is a failure.
            with suppress(MemoryNotFound):
                if some is None or rng.random() < 0.6:
                    rows = call(
                        conn,
                        "add",
                        **scope,
                        facts=[
                            {
                                "text": f"{number} {step}",
                                "entities": [1, 2],
                                "links": [{"id": str(some[0])}] if some else [],
                            },
                            {"text": f"shared {step}", "entities": [2]},
                        ],
                        entities=entities,
                        messages=[{"role": "user", "content": f"{number} {step}"}],
                    )
                    added += sum(row["event"] == "ADD" for row in rows)
                elif rng.random() < 0.5:
                    call(conn, "update", id=some[0], text=f"u {number} {step}", entities=entities)
                elif rng.random() < 0.9:
                    call(conn, "delete", id=some[0])
                else:
                    call(conn, "delete_all", user_id="ann", agent_id="a")
        return added

    added = sum(at_once(database, 8, work))
    with psycopg.connect(database) as conn:
        assert count(conn, "history", "event = 'ADD'") == added
        assert {row["problem"] for row in call(conn, "verify")} <= {
            "the memory waits for its vector"
        }
        assert count(conn, "message") == 20


def test_plain_deletions_and_adds_that_share_an_entity_keep_every_mention(database: str) -> None:
    def work(conn: Connection, number: int) -> None:
        for step in range(40):
            if number % 2:
                call(
                    conn,
                    "add",
                    user_id="ann",
                    facts=[{"text": f"{number} {step}", "entities": [1]}],
                    entities=[{"name": "Ann"}],
                )
            else:
                conn.execute(
                    "delete from memlayer.memory"
                    " where id in (select id from memlayer.memory limit 1)"
                )

    at_once(database, 4, work)
    with psycopg.connect(database) as conn:
        assert count(conn, "memory") == count(conn, "mention")
