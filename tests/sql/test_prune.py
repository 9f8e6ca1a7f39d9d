from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memlayer_pg import errors
from tests.sql.calls import Connection, add, call, consistent, count, one
from tests.sql.test_restore import row, store

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def clock(conn: Connection, days_ago: float) -> None:
    moment = (NOW - timedelta(days=days_ago)).isoformat()
    conn.execute("select set_config('memlayer.now', %s, true)", [moment])


def versions(conn: Connection, memory: str) -> list[tuple[int, str]]:
    return [(row["version"], row["event"]) for row in call(conn, "history", id=memory)]


def aged(conn: Connection) -> str:
    """A memory changed 40, 30, 20 and 10 days ago, with a vector each time."""
    clock(conn, 40)
    memory = store(conn, "in Rome", "Rome")
    for number, days in enumerate((30, 20, 10), 2):
        clock(conn, days)
        call(
            conn, "update", id=memory, text=f"town {number}", model="toy",
            embedding=[float(number), 1.0], entities=[{"name": f"Town{number}"}],
        )  # fmt: skip
    clock(conn, 0)
    return memory


def prune(conn: Connection, keep: str | None = "15 days", **args: Any) -> tuple[int, int]:
    [told] = call(conn, "prune_history", keep=keep, **args)
    return told["memories"], told["removed"]


def test_older_rows_are_folded_into_one_that_keeps_its_place(conn: Connection) -> None:
    memory = aged(conn)
    place = (
        "select (h.seq, h.feed_position, h.recorded_at, h.new_state)::text"
        f" from memlayer.history h where h.memory_id = '{memory}' and h.version = 3"
    )
    before = one(conn, place)
    assert prune(conn, dry_run=True) == (1, 2)
    assert len(versions(conn, memory)) == 4
    assert prune(conn) == (1, 2)
    assert versions(conn, memory) == [(3, "BASELINE"), (4, "UPDATE")]
    assert one(conn, place) == before
    assert consistent(conn)
    assert [event["event"] for event in call(conn, "changes_since")] in ([], ["BASELINE", "UPDATE"])
    assert prune(conn) == (0, 0)


def test_what_is_left_is_restored_with_its_vector_and_what_went_is_refused(
    conn: Connection,
) -> None:
    memory = aged(conn)
    change = one(conn, "select change_id::text from memlayer.history where version = 2")
    prune(conn)
    for back in ({"version": 2}, {"as_of": NOW - timedelta(days=25)}):
        with pytest.raises(errors.HistoryTooShort), conn.transaction():
            call(conn, "restore", id=memory, **back)
    with pytest.raises(errors.HistoryTooShort), conn.transaction():
        call(conn, "undo", change_id=change)
    with pytest.raises(errors.HistoryTooShort), conn.transaction():
        call(conn, "as_of", at=NOW - timedelta(days=25), user_id="ann")
    [then] = conn.execute(
        "select text, embedding::text from memlayer.as_of('default', %s, 'ann')",
        [NOW - timedelta(days=12)],
    ).fetchall()
    assert then == ("town 3", "[3,1]")
    call(conn, "restore", id=memory, version=3)
    assert row(conn, memory)["text"] == "town 3"
    assert one(conn, "select embedding::text from memlayer.memory") == "[3,1]"
    assert consistent(conn)


def test_of_a_memory_deleted_before_nothing_is_left_and_one_deleted_since_can_be_restored(
    conn: Connection,
) -> None:
    clock(conn, 40)
    early, late, again = add(conn, "early", "late", "again")
    clock(conn, 30)
    call(conn, "update", id=late, text="later")
    call(conn, "delete", id=early)
    call(conn, "delete", id=again)
    clock(conn, 5)
    call(conn, "delete", id=late)
    call(conn, "restore", id=again)
    clock(conn, 0)
    assert prune(conn) == (3, 5)
    assert versions(conn, early) == []
    assert versions(conn, late) == [(2, "BASELINE"), (3, "DELETE")]
    assert versions(conn, again) == [(3, "BASELINE")]
    with pytest.raises(errors.HistoryTooShort), conn.transaction():
        call(conn, "as_of", at=NOW - timedelta(days=35), user_id="ann")
    call(conn, "restore", id=late)
    assert row(conn, late)["text"] == "later"
    assert consistent(conn)


def test_nothing_is_gone_that_nobody_lost_and_as_of_says_when_all_was_taken(
    conn: Connection,
) -> None:
    """Without a BASELINE row too: the only memory was deleted, and its history with it."""
    clock(conn, 40)
    [memory] = add(conn, "tea", idempotency_key="k", request_hash="h")
    clock(conn, 30)
    call(conn, "delete", id=memory)
    clock(conn, 0)
    assert prune(conn) == (1, 2)
    assert count(conn, "change", "result is not null or idempotency_key is not null") == 0
    assert call(conn, "as_of", at=NOW - timedelta(days=14), user_id="ann") == []
    with pytest.raises(errors.HistoryTooShort):
        call(conn, "as_of", at=NOW - timedelta(days=35), user_id="ann")


def test_retention_is_a_setting_of_the_tenant_and_there_is_none_by_default(
    conn: Connection,
) -> None:
    memory = aged(conn)
    with pytest.raises(errors.FilterError), conn.transaction():
        prune(conn, None)
    conn.execute("insert into memlayer.setting (history_retention) values ('25 days')")
    assert prune(conn, None) == (1, 1)
    assert versions(conn, memory)[0] == (2, "BASELINE")


def test_batches_go_on_where_the_last_one_ended(conn: Connection) -> None:
    clock(conn, 40)
    for memory in add(conn, *(f"fact {n}" for n in range(5))):
        call(conn, "update", id=memory, text=f"changed {memory}")
    clock(conn, 0)
    after, removed = None, []
    while True:
        [told] = call(conn, "prune_history", keep="15 days", batch=2, after=after)
        removed.append(told["removed"])
        after = told["next"]
        if after is None:
            break
    assert removed == [2, 2, 1]
    assert count(conn, "history", "event = 'BASELINE'") == count(conn, "history") == 5
    assert consistent(conn)
    assert count(conn, "change", "operation = 'prune_history'") == 1  # of one run


def test_who_took_history_away_is_recorded(conn: Connection) -> None:
    memory = aged(conn)
    prune(conn, dry_run=True)
    assert count(conn, "change", "operation = 'prune_history'") == 0
    prune(conn)
    prune(conn)
    [change] = [
        row for row in call(conn, "changes", top_k=100) if row["operation"] == "prune_history"
    ]
    assert (change["added"], change["updated"], change["deleted"]) == (0, 0, 0)
    assert change["database_role"] == conn.info.user
    assert call(conn, "undo", change_id=change["id"]) == []
    assert versions(conn, memory) == [(3, "BASELINE"), (4, "UPDATE")]
