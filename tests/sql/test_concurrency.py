from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import psycopg
import pytest

from memlayer_pg.errors import DatabaseError, HistoryTooShort, MemoryNotFound, VersionConflict
from tests.sql.calls import Connection, add, call, consistent, count


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


def test_restores_undos_and_updates_at_once_leave_one_history(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        ids = [
            memory
            for n in range(4)
            for memory in add(
                conn,
                facts=[{"text": f"fact {n}", "entities": [1]}],
                entities=[{"name": f"Name {n}"}],
                user_id="ann",
                agent_id="a" if n % 2 else None,
            )
        ]

    def work(conn: Connection, number: int) -> None:
        rng = random.Random(number)
        for step in range(40):
            memory = rng.choice(ids)
            with suppress(MemoryNotFound):
                kind = rng.random()
                if kind < 0.3:
                    names = [{"name": f"Name {rng.randrange(4)}"}]
                    call(conn, "update", id=memory, text=f"{number} {step}", entities=names)
                elif kind < 0.4:
                    call(conn, "delete", id=memory)
                elif kind < 0.45:
                    call(conn, "delete_all", user_id="ann")
                elif kind < 0.7:
                    call(conn, "restore", id=memory, version=1)
                else:
                    [change] = conn.execute(
                        "select id from memlayer.change order by random() limit 1"
                    ).fetchone() or [None]
                    call(conn, "undo", change_id=change, force=rng.random() < 0.5)

    at_once(database, 6, work)
    with psycopg.connect(database) as conn:
        assert {row["problem"] for row in call(conn, "verify")} <= {
            "the memory waits for its vector"
        }
        assert count(conn, "history", "event = 'ADD'") > len(ids)


def waits(conn: Connection, pid: int) -> None:
    """Until the backend waits for a lock."""
    query = "select wait_event_type = 'Lock' from pg_stat_activity where pid = %s"
    for _ in range(1000):
        [waiting] = conn.execute(query, [pid]).fetchone() or [False]
        if waiting:
            return
        conn.execute("select pg_sleep(0.01)")
    raise AssertionError("it never waited")


def one_after_the_other(
    dsn: str,
    first: Callable[[Connection], Any],
    then: Callable[[Connection], Any],
    last: Callable[[Connection], Any] = lambda one: None,
) -> Any:
    """What the second gets, which begins while the first has not committed.

    `last`: what the first does while the second waits.
    """
    with (
        psycopg.connect(dsn) as one,
        psycopg.connect(dsn) as other,
        psycopg.connect(dsn, autocommit=True) as watch,
        ThreadPoolExecutor(1) as pool,
    ):
        first(one)
        answer = pool.submit(then, other)
        waits(watch, other.info.backend_pid)
        last(one)
        one.commit()
        return answer.result()


def test_a_restore_waits_for_an_update_and_builds_on_it(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        [memory] = add(conn, "one")
        [restored] = one_after_the_other(
            database,
            lambda one: call(one, "update", id=memory, text="two"),
            lambda other: call(other, "restore", id=memory, version=1),
        )
        assert (restored["text"], restored["version"]) == ("one", 3)
        with pytest.raises(VersionConflict):
            one_after_the_other(
                database,
                lambda one: call(one, "update", id=memory, text="three"),
                lambda other: call(other, "restore", id=memory, version=2, expected_version=3),
            )
        assert [row["new_memory"] for row in call(conn, "history", id=memory)] == [
            "one", "two", "one", "three",
        ]  # fmt: skip


def test_an_undo_that_an_update_overtakes_leaves_its_memory(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        first, second = add(conn, "one", "two")
        [change] = call(conn, "changes")
        rows = one_after_the_other(
            database,
            lambda one: call(one, "update", id=first, text="mine"),
            lambda other: call(other, "undo", change_id=change["id"]),
        )
        assert {str(row["id"]): row["outcome"] for row in rows} == {
            first: "changed since",
            second: "undone",
        }


def test_an_update_that_an_undo_overtakes_finds_no_memory(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        [memory] = add(conn, "one")
        [change] = call(conn, "changes")
        with pytest.raises(MemoryNotFound):
            one_after_the_other(
                database,
                lambda one: call(one, "undo", change_id=change["id"]),
                lambda other: call(other, "update", id=memory, text="two"),
            )


def test_two_restores_of_a_deleted_memory_at_once_bring_back_one(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        [memory] = add(conn, "one")
        call(conn, "delete", id=memory)
        [second] = one_after_the_other(
            database,
            lambda one: call(one, "restore", id=memory),
            lambda other: call(other, "restore", id=memory, version=1),
        )
        assert (second["event"], second["version"]) == (None, 3)
        assert count(conn, "memory") == 1


def test_a_restore_leaves_out_references_to_what_is_deleted_at_that_moment(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        [old] = add(conn, "lives in Rome")
        link = {"id": old, "kind": "updates"}
        [new] = add(conn, user_id="bob", facts=[{"text": "lives in Oslo", "links": [link]}])
        conn.execute(
            "insert into memlayer.link (memory_id, linked_id) values (%s, %s)"
            " on conflict do nothing",
            [new, old],
        )
        call(conn, "delete", id=new)
        [restored] = one_after_the_other(
            database,
            lambda one: call(one, "delete", id=old),
            lambda other: call(other, "restore", id=new),
        )
        assert restored["event"] == "ADD"
        assert count(conn, "link") == 0
        call(conn, "restore", id=old)
        assert count(conn, "link") == 1
        assert consistent(conn)


def test_two_undos_of_one_call_at_once_are_one(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        add(conn, "one", "two")
        [change] = call(conn, "changes")
        rows = one_after_the_other(
            database,
            lambda one: call(one, "undo", change_id=change["id"]),
            lambda other: call(other, "undo", change_id=change["id"]),
        )
        assert [row["outcome"] for row in rows] == ["as before"] * 2
        assert (count(conn, "memory"), count(conn, "change")) == (0, 2)


def test_two_forced_undos_at_once_happen_one_after_the_other(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        [memory] = add(conn, "one")
        calls = []
        for text in ("two", "three", "four"):
            call(conn, "update", id=memory, text=text)
            calls.append(call(conn, "changes")[0]["id"])
        [second] = one_after_the_other(
            database,
            lambda one: call(one, "undo", change_id=calls[0], force=True),
            lambda other: call(other, "undo", change_id=calls[1], force=True),
        )
        assert (second["outcome"], second["text"], second["version"]) == ("undone", "two", 6)
        assert [row["new_memory"] for row in call(conn, "history", id=memory)] == [
            "one", "two", "three", "four", "one", "two",
        ]  # fmt: skip
        [same] = one_after_the_other(
            database,
            lambda one: call(one, "undo", change_id=calls[2], force=True),
            lambda other: call(other, "undo", change_id=calls[2], force=True),
        )
        assert (same["outcome"], same["text"], same["version"]) == ("as before", "three", 7)
        assert consistent(conn)


@pytest.mark.parametrize(("function", "scope"), [("erase", {"user_id": "ann"}), ("reset", {})])
def test_a_pruning_waits_for_who_takes_all_away_and_holds_nothing_he_needs(
    database: str, function: str, scope: dict[str, Any]
) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        [memory] = add(conn, "one", idempotency_key="k", request_hash="h")
        call(conn, "update", id=memory, text="two")
        one_after_the_other(
            database,
            lambda one: call(one, "update", id=memory, text="three"),
            lambda other: call(other, "prune_history", keep="0"),
            last=lambda one: call(one, function, **scope),
        )
        assert (count(conn, "memory"), count(conn, "history")) == (0, 0)
        assert consistent(conn)


def test_prunings_and_writers_wait_for_one_another(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        [memory] = add(conn, "one")
        call(conn, "update", id=memory, text="two")
        one_after_the_other(  # a change that comes while it waits stays
            database,
            lambda one: call(one, "update", id=memory, text="three"),
            lambda other: call(other, "prune_history", keep="0"),
        )
        history = [(row["version"], row["event"]) for row in call(conn, "history", id=memory)]
        assert history[-1][0] == 3
        assert history[0][1] == "BASELINE"
        assert consistent(conn)
        call(conn, "update", id=memory, text="four")
        one_after_the_other(
            database,
            lambda one: call(one, "prune_history", keep="0"),
            lambda other: call(other, "update", id=memory, text="five"),
        )
        history = [(row["version"], row["event"]) for row in call(conn, "history", id=memory)]
        assert history == [(4, "BASELINE"), (5, "UPDATE")]
        with pytest.raises(HistoryTooShort):  # what it was to restore went while it waited
            one_after_the_other(
                database,
                lambda one: call(one, "prune_history", keep="0"),
                lambda other: call(other, "restore", id=memory, version=4),
            )
        assert consistent(conn)


def referred(conn: Connection) -> tuple[str, str]:
    """A memory of ann, and one of her agent alone that refers to it."""
    [old] = add(conn, "Ann likes figs", agent_id="x")
    link = {"id": old, "kind": "updates"}
    [new] = add(
        conn, user_id=None, agent_id="x", facts=[{"text": "figs are sold out", "links": [link]}]
    )
    return old, new


def test_an_erasure_and_a_pruning_of_what_referred_to_it_wait_for_one_another(
    database: str,
) -> None:
    """Each takes away what the other one rewrites: the reference, and the history that tells it."""
    with (
        psycopg.connect(database, autocommit=True) as conn,
        psycopg.connect(database, autocommit=True) as eraser,
        ThreadPoolExecutor(1) as pool,
    ):
        old, new = referred(conn)
        call(conn, "delete", id=new)
        add(conn, "tea", user_id="bob", idempotency_key="k", request_hash="h")
        erased: list[Any] = []

        def begin(one: Connection) -> None:
            one.execute("select from memlayer.change where idempotency_key = 'k' for update")

        def meet(one: Connection) -> None:
            erased.append(pool.submit(call, eraser, "erase", user_id="ann"))
            waits(conn, eraser.info.backend_pid)

        # The pruning has the reference, and waits for the call's record; the erasure comes.
        [pruned] = one_after_the_other(
            database, begin, lambda other: call(other, "prune_history", keep="0"), last=meet
        )
        assert pruned["removed"] == 2
        [receipt] = erased[0].result()
        assert receipt["memories"] == 1
        assert count(conn, "former_link") == 0
        assert count(conn, "history", f"history::text like '%{old}%'") == 0
        assert consistent(conn)


def test_a_deletion_that_waits_for_an_erasure_keeps_no_id_of_it(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        old, new = referred(conn)
        one_after_the_other(
            database,
            lambda one: call(one, "erase", user_id="ann"),
            lambda other: call(other, "delete", id=new),
        )
        assert count(conn, "history", f"history::text like '%{old}%'") == 0
        assert count(conn, "former_link") == 0
        assert consistent(conn)


def test_two_erasures_that_meet_in_one_agent_both_end(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        old, new = referred(conn)
        [bobs] = add(conn, "Bob likes figs", user_id="bob", agent_id="x")
        conn.execute(
            "insert into memlayer.link (memory_id, linked_id, kind) values (%s, %s, 'related')",
            [new, bobs],
        )
        call(conn, "delete", id=new)
        [receipt] = one_after_the_other(
            database,
            lambda one: call(one, "erase", user_id="ann"),
            lambda other: call(other, "erase", user_id="bob"),
        )
        assert (receipt["memories"], receipt["links"]) == (1, 1)
        assert count(conn, "receipt") == 2
        left = "select old_links from memlayer.history where memory_id = %s and event = 'DELETE'"
        assert conn.execute(left, [new]).fetchall() == [(None,)]
        assert count(conn, "history", f"history::text ~ '{old}|{bobs}'") == 0
        assert consistent(conn)


def test_administrators_and_writers_of_one_agent_meet_without_deadlock(database: str) -> None:
    users = [None, "ann", "bob", "cyd"]
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute(
            """insert into memlayer.setting (defaults) values ('{"exact_threshold": 2}')"""
        )

    def work(conn: Connection, number: int) -> None:
        rng = random.Random(number)
        for step in range(50):
            some = [
                str(row[0])
                for row in conn.execute(
                    "select id from memlayer.memory order by random() limit 2"
                ).fetchall()
            ]
            kind = rng.random() if some else 0
            # What others took away meanwhile is not there; anything else is a failure.
            with suppress(MemoryNotFound, HistoryTooShort):
                if kind < 0.5:
                    fact = {"text": f"{number} {step}", "links": [{"id": id_} for id_ in some]}
                    scope = {"user_id": rng.choice(users), "run_id": rng.choice([None, "r"])}
                    add(
                        conn, **scope, agent_id="x", facts=[fact],
                        idempotency_key=f"{number} {step}", request_hash="h",
                    )  # fmt: skip
                elif kind < 0.75:
                    call(conn, "delete", id=some[0])
                elif kind < 0.9:
                    call(conn, "erase", user_id=rng.choice(users[1:]))
                elif kind < 0.93:
                    call(conn, "refresh_statistics")
                else:
                    keep, batch = rng.choice(["0", "1 second"]), rng.choice([None, 3])
                    call(conn, "prune_history", keep=keep, batch=batch)

    at_once(database, 8, work)
    with psycopg.connect(database) as conn:
        assert count(conn, "receipt") > 8
        assert consistent(conn)


def test_an_import_that_waited_for_an_erasure_is_to_begin_anew(database: str) -> None:
    id_ = "0b3c8f3e-3a55-4c3f-8f5e-000000000001"
    facts = {"memories": [{"id": id_, "text": "tea", "user_id": "ann", "entities": [1]}]}
    named = {"entities": [{"name": "Ann"}]}
    with (
        psycopg.connect(database, autocommit=True) as admin,
        psycopg.connect(database) as eraser,
        psycopg.connect(database, autocommit=True) as importer,
        ThreadPoolExecutor(1) as pool,
    ):
        add(admin, "coffee")
        eraser.execute("select from memlayer.session for update")  # its first step
        importing = pool.submit(call, importer, "import_memories", **facts, **named)
        waits(admin, importer.info.backend_pid)
        call(eraser, "erase", user_id="ann")
        eraser.commit()
        with pytest.raises(DatabaseError) as caught:
            importing.result()
        assert caught.value.sqlstate == "40001"
        assert count(admin, "memory") == 0
        assert call(importer, "import_memories", **facts, **named)[0]["outcome"] == "added"


def test_a_pruning_that_waited_for_an_erasure_prunes_what_is_left(database: str) -> None:
    with (
        psycopg.connect(database, autocommit=True) as admin,
        psycopg.connect(database) as eraser,
        psycopg.connect(database, autocommit=True) as pruner,
        ThreadPoolExecutor(1) as pool,
    ):
        for user in ("ann", "bob"):
            [memory] = add(admin, "tea", user_id=user)
            call(admin, "update", id=memory, text="coffee")
        eraser.execute("select from memlayer.session where user_id = 'ann' for update")
        pruning = pool.submit(call, pruner, "prune_history", keep="0 days")
        waits(admin, pruner.info.backend_pid)
        call(eraser, "erase", user_id="ann")
        eraser.commit()
        [told] = pruning.result()
        assert told["removed"] == 1
        assert count(admin, "history") == 1
        assert count(admin, "session", "user_id = 'ann'") == 0
