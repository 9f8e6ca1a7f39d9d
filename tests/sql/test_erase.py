from __future__ import annotations

import threading
import time
from typing import Any

import psycopg
import pytest

from memlayer_pg import errors
from tests.sql.calls import Connection, add, call, consistent, count, one
from tests.sql.test_restore import store
from tests.sql.test_undo import everything

SECRET = "zanzibar"

TABLES = (
    "memory", "history", "message", "session", "entity", "mention", "link", "former_link", "change",
    "scope_statistic", "term_statistic", "receipt",
)  # fmt: skip


def traces(conn: Connection, *words: str) -> set[str]:
    """The tables that hold one of the words anywhere."""
    return {
        table
        for table in TABLES
        if any(count(conn, f"{table} t", f"t::text ilike '%{word}%'") for word in words)
    }


def lived(conn: Connection, user: str, **ids: Any) -> None:
    """A scope with something in every table that may hold content."""
    given = {"user_id": user, **ids}
    old = store(conn, f"{user} went to {SECRET}", f"{SECRET} {user}", **given)
    add(
        conn, **given, facts=[{"text": f"{user} left {SECRET}", "links": [{"id": old}]}],
        messages=[{"role": "user", "content": f"hello {SECRET}"}], idempotency_key=f"key-{user}",
        request_hash=user,
    )  # fmt: skip
    call(conn, "update", id=old, text=f"{user} is in {SECRET}")
    [gone] = add(conn, f"{user} forgets {SECRET}", f"a {SECRET}", **given)[:1]
    call(conn, "delete", id=gone, actor=user)
    store(conn, f"{user} met Omar", f"Omar of {SECRET}", **given)


def test_nothing_of_an_erased_scope_is_left_and_nothing_of_another_goes(conn: Connection) -> None:
    conn.execute("insert into memlayer.setting (defaults) values ('{\"exact_threshold\": 1}')")
    for user in ("ann", "bob"):
        lived(conn, user)
        lived(conn, f"{user}-too", agent_id="helper", run_id=f"{user}-run")
    call(conn, "refresh_statistics")
    assert traces(conn, SECRET) >= {"memory", "history", "message", "entity", "change"}
    assert "term_statistic" in traces(conn, SECRET)
    for user in ("bob", "bob-too"):
        call(conn, "erase", user_id=user)
    before = everything(conn)
    [receipt] = call(conn, "erase", user_id="ann", actor="desk")
    assert receipt["memories"] == 4
    assert everything(conn) == [row for row in before if row[1] != "ann"]
    assert consistent(conn)
    call(conn, "erase", run_id="ann-run")
    assert traces(conn, SECRET, "ann", "bob") == set()
    assert consistent(conn)


def test_what_was_linked_from_another_scope_keeps_no_id_of_what_was_erased(
    conn: Connection,
) -> None:
    erased = store(conn, "ann likes pomelo", "Pomelo", user_id="ann", agent_id="helper")
    kept = store(conn, "helpers grow quince", user_id=None, agent_id="helper")
    links = [{"id": erased, "kind": "updates"}, {"id": kept, "kind": "related"}]
    for text in ("helpers sell fruit", "helpers pack fruit"):
        add(conn, facts=[{"text": text, "links": links}], user_id=None, agent_id="helper")
    gone = str(one(conn, "select id from memlayer.memory where text = 'helpers sell fruit'"))
    assert count(conn, "link") == 4
    call(conn, "delete", id=gone)
    call(conn, "erase", user_id="ann")
    assert traces(conn, "pomelo", erased, "ann") == set()
    assert consistent(conn)
    call(conn, "restore", id=gone)
    assert count(conn, "link") == 2


def test_a_label_of_who_acted_on_another_scope_stays(conn: Connection) -> None:
    add(conn, "bob likes figs", user_id="bob", actor="ann")
    add(conn, "ann likes figs", user_id="ann", actor="ann")
    call(conn, "erase", user_id="ann")
    assert conn.execute("select user_id, actor from memlayer.change order by 1").fetchall() == [
        ("bob", "ann"),
        (None, None),
    ]


def test_the_receipt_counts_and_answers_whether_somebody_was_erased(conn: Connection) -> None:
    lived(conn, "ann")
    counted = {
        "memories": count(conn, "memory"), "history": count(conn, "history"),
        "messages": count(conn, "message"), "sessions": 1, "entities": count(conn, "entity"),
        "mentions": count(conn, "mention"), "changes": count(conn, "change"), "links": 1,
    }  # fmt: skip
    assert all(counted.values())
    [receipt] = call(conn, "erase", user_id="ann", actor="ann")
    assert {name: receipt[name] for name in counted} == counted
    assert receipt["actor"] is None
    asked = "select count(*) from memlayer.receipt where scope_digest = memlayer.scope_digest(%s)"
    assert [one(conn, asked, user) for user in ("ann", "bob")] == [1, 0]


def test_an_erasure_writes_no_history_and_a_setting_alone_keeps_none_from_being_written(
    conn: Connection,
) -> None:
    [mine] = add(conn, "tea")
    [other] = add(conn, "milk", user_id="bob")
    position = "select max(seq) from memlayer.history"
    newest = one(conn, position)
    call(conn, "erase", user_id="ann")
    assert one(conn, "select last_value from memlayer.history_seq_seq") == newest
    assert call(conn, "history", id=mine) == []
    receipt = one(conn, "select id::text from memlayer.receipt")
    conn.execute(
        "select set_config('memlayer.recorded', 'ERASE', true),"
        "       set_config('memlayer.change_id', %s, true)", [receipt]
    )  # fmt: skip
    conn.execute("delete from memlayer.memory where id = %s", [other])
    assert [row["event"] for row in call(conn, "history", id=other)] == ["ADD", "DELETE"]


def test_what_was_erased_is_neither_restored_nor_undone(conn: Connection) -> None:
    [memory] = add(conn, "tea")
    change = one(conn, "select id::text from memlayer.change")
    call(conn, "erase", user_id="ann")
    with pytest.raises(errors.MemoryNotFound), conn.transaction():
        call(conn, "restore", id=memory, version=1)
    with pytest.raises(errors.HistoryTooShort), conn.transaction():
        call(conn, "undo", change_id=change)
    assert call(conn, "changes_since") == []


def test_an_id_that_was_used_again_elsewhere_keeps_its_later_history(conn: Connection) -> None:
    [memory] = add(conn, "tea")
    call(conn, "delete", id=memory)
    conn.execute(
        "insert into memlayer.memory (id, user_id, text) values (%s, 'bob', 'milk')", [memory]
    )
    call(conn, "erase", user_id="ann")
    assert [row["event"] for row in call(conn, "history", id=memory)] == ["BASELINE"]
    assert consistent(conn)


def test_an_erasure_that_leaves_something_fails_as_a_whole(conn: Connection) -> None:
    lived(conn, "ann")
    before = everything(conn)
    conn.execute(
        "create function pg_temp.again() returns trigger language plpgsql as $$ begin"
        "  insert into memlayer.session (user_id) values (old.user_id); return null;"
        " end $$"
    )
    conn.execute(
        "create trigger again after delete on memlayer.session"
        " for each row execute function pg_temp.again()"
    )
    left = r"nothing was erased: .*\(session\)"
    with pytest.raises(psycopg.DatabaseError, match=left) as raised, conn.transaction():
        conn.execute("select memlayer.erase(p_user_id => 'ann')")
    assert raised.value.sqlstate == "55000"
    assert everything(conn) == before
    assert count(conn, "receipt") == 0


def test_an_erasure_names_somebody(conn: Connection) -> None:
    with pytest.raises(errors.ScopeMissing):
        call(conn, "erase")


@pytest.mark.parametrize("known", [True, False])
def test_an_add_at_the_same_time_is_erased_or_stands(database: str, known: bool) -> None:
    """The add commits after the erasure began and waits; a session that is new cannot be locked."""
    with psycopg.connect(database) as writer, psycopg.connect(database, autocommit=True) as eraser:
        add(writer, "first", user_id="ann", agent_id=None if known else "other")
        writer.commit()
        add(writer, "second", user_id="ann")
        done: list[Any] = []
        worker = threading.Thread(target=lambda: done.extend(call(eraser, "erase", user_id="ann")))
        worker.start()
        if known:
            wait_until_blocked(database, eraser.info.backend_pid)
        else:
            worker.join()
        writer.commit()
        worker.join()
        assert done[0]["memories"] == (2 if known else 1)
        assert count(writer, "memory") == (0 if known else 1)
        assert consistent(writer)


def test_an_add_that_waits_for_an_erasure_stands_afterwards(database: str) -> None:
    with psycopg.connect(database) as eraser, psycopg.connect(database, autocommit=True) as writer:
        said = [{"role": "user", "content": "hello"}]
        add(writer, "first", messages=said)
        call(eraser, "erase", user_id="ann")
        worker = threading.Thread(target=lambda: add(writer, "second", messages=said))
        worker.start()
        wait_until_blocked(database, writer.info.backend_pid)
        eraser.commit()
        worker.join()
        assert [row[2] for row in everything(writer)] == ["second"]
        assert count(writer, "message") == 1
        assert consistent(writer)


def wait_until_blocked(dsn: str, pid: int) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        for _ in range(1000):
            if one(conn, "select cardinality(pg_blocking_pids(%s))", pid):
                return
            time.sleep(0.01)
    raise AssertionError("it never waited")
