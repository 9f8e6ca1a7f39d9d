"""What keeps a store small: vacuum_expired, prune_messages and prune_changes."""

from __future__ import annotations

import pytest

from memlayer_pg import errors
from tests.sql.calls import Connection, add, call, consistent, count, one
from tests.sql.test_prune import clock
from tests.sql.test_restore import store


def swept(conn: Connection, function: str, **args: object) -> int:
    [row] = call(conn, function, **args)
    return int(row[function])


def expiring(conn: Connection, text: str, day: str) -> str:
    [row] = call(
        conn, "add", user_id="ann", facts=[{"text": text, "entities": []}], embeddings=[[1.0, 2.0]],
        model="toy", expires_on=day,
    )  # fmt: skip
    return str(row["id"])


def test_what_expired_long_enough_ago_is_deleted_and_can_be_restored(conn: Connection) -> None:
    clock(conn, 0)  # 2026-06-01
    old, recent = expiring(conn, "old", "2026-04-01"), expiring(conn, "recent", "2026-05-30")
    expiring(conn, "today", "2026-06-01")
    store(conn, "for ever", "Rome")
    assert swept(conn, "vacuum_expired", dry_run=True) == 2
    clock(conn, -0.01)  # a quarter of an hour later
    assert swept(conn, "vacuum_expired", expired_for="30 days", actor="cron") == 1
    assert count(conn, "memory") == 3
    [done] = call(conn, "changes", top_k=1)
    assert (done["operation"], done["deleted"], done["actor"]) == ("vacuum_expired", 1, "cron")
    assert swept(conn, "vacuum_expired") == 1
    assert swept(conn, "vacuum_expired") == 0
    assert [r["event"] for r in call(conn, "history", id=recent)] == ["ADD", "DELETE"]
    call(conn, "restore", id=old)
    assert one(conn, f"select text from memlayer.memory where id = '{old}'") == "old"
    assert consistent(conn)


def test_a_batch_takes_the_oldest_first_and_the_names_nobody_else_speaks_of(
    conn: Connection,
) -> None:
    clock(conn, 0)
    for number in range(5):
        memory = store(conn, f"fact {number}", f"Name{number}")
        day = f"2026-05-0{number + 1}"
        conn.execute("update memlayer.memory set expires_on = %s where id = %s", [day, memory])
    assert swept(conn, "vacuum_expired", batch=2) == 2
    left = conn.execute("select name from memlayer.entity order by name").fetchall()
    assert left == [("Name2",), ("Name3",), ("Name4",)]
    assert [swept(conn, "vacuum_expired", batch=2) for _ in range(3)] == [2, 1, 0]
    assert count(conn, "entity") == 0
    assert consistent(conn)


def test_messages_of_idle_sessions_go_and_the_next_one_is_the_first_again(
    conn: Connection,
) -> None:
    said = [{"role": "user", "content": f"line {n}"} for n in range(12)]
    clock(conn, 40)
    add(conn, messages=said, user_id="ann")
    clock(conn, 10)
    add(conn, messages=said[:3], user_id="bob")
    clock(conn, 0)
    assert swept(conn, "prune_messages", keep="30 days", dry_run=True) == 10
    assert swept(conn, "prune_messages", keep="30 days") == 10
    assert swept(conn, "prune_messages", keep="30 days") == 0
    assert count(conn, "message") == 3
    assert consistent(conn)
    add(conn, messages=said[:2], user_id="ann")
    heard = call(conn, "messages", user_id="ann")
    assert [message["content"] for message in heard] == ["line 0", "line 1"]
    assert consistent(conn)


def test_the_record_of_a_call_stays_as_long_as_history_names_it(conn: Connection) -> None:
    clock(conn, 40)
    memory = store(conn, "in Rome", "Rome")
    add(conn, messages=[{"role": "user", "content": "hello"}], user_id="ann")
    clock(conn, 20)
    call(conn, "delete", id=memory)
    clock(conn, 0)
    assert count(conn, "change") == 3
    assert swept(conn, "prune_changes", keep="10 days", dry_run=True) == 1
    assert swept(conn, "prune_changes", keep="10 days") == 1
    call(conn, "prune_history", keep="10 days")
    assert swept(conn, "prune_changes", keep="10 days", batch=1) == 1
    assert swept(conn, "prune_changes", keep="10 days", batch=1) == 1
    assert swept(conn, "prune_changes", keep="10 days", batch=1) == 0
    assert consistent(conn)


@pytest.mark.parametrize("function", ["vacuum_expired", "prune_messages", "prune_changes"])
@pytest.mark.parametrize("wrong", [{"batch": 0}, {"span": "-1 day"}])
def test_a_span_or_a_batch_that_makes_no_sense_is_refused(
    conn: Connection, function: str, wrong: dict[str, object]
) -> None:
    span = "expired_for" if function == "vacuum_expired" else "keep"
    args = {span: wrong.get("span", "1 day"), "batch": wrong.get("batch", 1)}
    with pytest.raises(errors.FilterError):
        call(conn, function, **args)


def test_another_tenant_is_not_touched(conn: Connection) -> None:
    clock(conn, 40)
    add(conn, messages=[{"role": "user", "content": "hello"}], user_id="ann", tenant="other")
    clock(conn, 0)
    for function in ("prune_messages", "prune_changes"):
        assert swept(conn, function, keep="1 day") == 0
    assert count(conn, "message") == 1
