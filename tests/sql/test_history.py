from __future__ import annotations

import psycopg
import pytest

from memlayer_pg import errors
from tests.sql.calls import Connection, add, call, consistent, count, one


def events(conn: Connection, memory: str) -> list[tuple[str, str | None, str | None]]:
    rows = call(conn, "history", id=memory)
    return [(row["event"], row["old_memory"], row["new_memory"]) for row in rows]


def test_add_update_and_delete_are_told_in_order_and_outlive_the_memory(
    conn: Connection,
) -> None:  # B064
    [memory] = add(conn, "seat 12C")
    call(conn, "update", id=memory, text="seat 14A")
    call(conn, "delete", id=memory)
    assert events(conn, memory) == [
        ("ADD", None, "seat 12C"),
        ("UPDATE", "seat 12C", "seat 14A"),
        ("DELETE", "seat 14A", None),
    ]
    rows = call(conn, "history", id=memory)
    assert [row["is_deleted"] for row in rows] == [False, False, True]
    assert all(row["created_at"] <= row["updated_at"] for row in rows)
    assert all(row["change_id"] for row in rows)
    assert call(conn, "verify") == []


def test_a_statement_in_psql_is_recorded_like_a_call(conn: Connection) -> None:
    [memory] = add(conn, "blue", embeddings=[[1.0, 0.0]], model="toy", metadata={"a": 1})
    conn.execute(
        "update memlayer.memory set text = 'red', metadata = '{\"a\": 2}' where id = %s", [memory]
    )
    conn.execute("delete from memlayer.memory where id = %s", [memory])
    assert events(conn, memory) == [
        ("ADD", None, "blue"),
        ("UPDATE", "blue", "red"),
        ("DELETE", "red", None),
    ]
    rows = conn.execute(
        "select old_embedding::text, old_embedding_model is not null,"
        " old_state -> 'metadata', new_state -> 'metadata',"
        " change_id, database_role = session_user, application_name,"
        " transaction_id = pg_current_xact_id()"
        " from memlayer.history where event = 'UPDATE'"
    ).fetchall()
    assert rows == [
        (
            "[1,0]",
            True,
            {"a": 1},
            {"a": 2},
            None,
            True,
            conn.info.parameter_status("application_name") or "",
            True,
        )
    ]
    assert consistent(conn)


def test_no_setting_keeps_a_statement_out_of_history(conn: Connection) -> None:
    [first] = add(conn, "blue")
    for operation in ("INSERT", "UPDATE", "DELETE"):
        conn.execute("select set_config('memlayer.recorded', %s, true)", [operation])
        [memory] = conn.execute(
            "insert into memlayer.memory (user_id, text) values ('ann', %s) returning id::text",
            [operation],
        ).fetchone() or [""]
        conn.execute("update memlayer.memory set text = text || '!' where id = %s", [memory])
        conn.execute("delete from memlayer.memory where id = %s", [memory])
        assert [event for event, *_ in events(conn, memory)] == ["ADD", "UPDATE", "DELETE"]
    assert events(conn, first) == [("ADD", None, "blue")]
    assert consistent(conn)


def test_a_row_that_somebody_s_trigger_keeps_is_not_told_as_deleted(conn: Connection) -> None:
    kept, gone = add(conn, "keep me", "let me go")
    conn.execute(
        "create function pg_temp.keep() returns trigger language plpgsql as"
        " $$begin return case when old.text <> 'keep me' then old end; end$$;"
        "create trigger keep before delete on memlayer.memory"
        " for each row execute function pg_temp.keep()"
    )
    assert call(conn, "delete_all", user_id="ann") == [{"deleted": 1}]
    assert [event for event, *_ in events(conn, kept)] == ["ADD"]
    assert [event for event, *_ in events(conn, gone)] == ["ADD", "DELETE"]
    assert consistent(conn)


def test_after_a_call_a_plain_statement_is_not_ascribed_to_it(conn: Connection) -> None:
    [memory] = add(conn, "blue")
    conn.execute("update memlayer.memory set text = 'red' where id = %s", [memory])
    rows = conn.execute(
        "select event, change_id is null from memlayer.history order by seq"
    ).fetchall()
    assert rows == [("ADD", False), ("UPDATE", True)]


def test_a_new_text_without_a_new_vector_leaves_the_memory_pending(conn: Connection) -> None:
    [memory] = add(conn, "blue whale", embeddings=[[1.0, 0.0]], model="toy")
    conn.execute("update memlayer.memory set text = 'red fox' where id = %s", [memory])
    assert one(conn, "select embedding from memlayer.memory") is None
    [found] = call(conn, "search", query="fox", embedding=[0.0, 1.0], model="toy", user_id="ann")
    assert (str(found["id"]), found["score_details"]["semantic_score"]) == (memory, None)
    assert [row["problem"] for row in call(conn, "verify")] == ["the memory waits for its vector"]


def test_a_vector_may_be_set_to_the_same_value_with_a_new_text(conn: Connection) -> None:
    [memory] = add(conn, "blue", embeddings=[[1.0, 0.0]], model="toy")
    call(conn, "update", id=memory, text="red", embedding=[1.0, 0.0], model="toy")
    assert one(conn, "select embedding::text from memlayer.memory") == "[1,0]"


def test_what_changes_nothing_writes_nothing(conn: Connection) -> None:
    [memory] = add(conn, "blue", metadata={"a": 1})
    for args in ({"text": "blue"}, {"metadata": {"a": 1}}, {"clear_expiration": True}):
        [row] = call(conn, "update", id=memory, **args)
        assert row["version"] == 1
    conn.execute("update memlayer.memory set text = text")
    assert len(events(conn, memory)) == 1
    assert count(conn, "change") == 1


def test_metadata_is_merged_and_the_rest_stays(conn: Connection) -> None:
    [memory] = add(conn, "cello", metadata={"category": "music", "n": 3, "nested": {"a": [1, 2]}})
    before = call(conn, "get", id=memory)[0]
    [after] = call(conn, "update", id=memory, text="viola", metadata={"n": 4})
    assert after["metadata"] == {"category": "music", "n": 4, "nested": {"a": [1, 2]}}
    assert after["created_at"] == before["created_at"]
    assert (after["text"], after["version"]) == ("viola", 2)


def test_twenty_updates_in_one_transaction_keep_their_order(conn: Connection) -> None:  # B069
    [memory] = add(conn, "0")
    for n in range(1, 21):
        call(conn, "update", id=memory, text=str(n))
    told = events(conn, memory)
    assert [new for _, _, new in told] == [str(n) for n in range(21)]
    assert [old for _, old, _ in told[1:]] == [new for _, _, new in told[:-1]]


def test_two_memories_that_become_equal_are_no_error(conn: Connection) -> None:
    first, second = add(conn, "tea", "coffee")
    call(conn, "update", id=second, text="tea")
    assert count(conn, "memory") == 2
    assert add(conn, "tea") == [first]
    call(conn, "update", id=second, text="milk")
    assert add(conn, "milk") == [second]
    assert consistent(conn)


def test_the_expected_version_must_be_the_current_one(conn: Connection) -> None:
    [memory] = add(conn, "a")
    call(conn, "update", id=memory, text="b", expected_version=1)
    with pytest.raises(errors.VersionConflict, match="at version 2, not 1"), conn.transaction():
        call(conn, "update", id=memory, text="c", expected_version=1)
    assert call(conn, "get", id=memory)[0]["text"] == "b"


def test_ids_never_change_and_tables_are_not_truncated(conn: Connection) -> None:
    add(conn, "a")
    for column in ("user_id", "agent_id", "run_id", "tenant"):
        with pytest.raises(psycopg.Error, match="never change") as raised, conn.transaction():
            conn.execute(f"update memlayer.memory set {column} = 'other'")
        assert raised.value.sqlstate == "ML005"
    for table in ("memory", "history"):
        with pytest.raises(psycopg.errors.FeatureNotSupported), conn.transaction():
            conn.execute(f"truncate memlayer.{table} cascade")


@pytest.mark.parametrize("function", ["update", "delete", "similar_to"])
def test_an_unknown_memory_is_an_error_of_its_own(conn: Connection, function: str) -> None:
    name = "memory_id" if function == "similar_to" else "id"
    with pytest.raises(errors.MemoryNotFound), conn.transaction():
        call(conn, function, **{name: "00000000-0000-4000-8000-000000000000"})
    assert count(conn, "history") == 0


def test_a_memory_put_back_by_hand_goes_on_counting(conn: Connection) -> None:
    [memory] = add(conn, "a")
    call(conn, "delete", id=memory)
    conn.execute(
        "insert into memlayer.memory (id, user_id, text) values (%s, 'ann', 'a again')", [memory]
    )
    assert [row["version"] for row in call(conn, "history", id=memory)] == [1, 2, 3]
    assert consistent(conn)


def test_verify_names_what_was_tampered_with(conn: Connection) -> None:
    add(conn, "a", "b", "c", messages=[{"role": "user", "content": str(n)} for n in range(12)])
    conn.execute("alter table memlayer.memory disable trigger all")
    conn.execute("update memlayer.memory set metadata = '{\"x\": 1}' where text = 'a'")
    conn.execute("update memlayer.memory set hash = 'x' where text = 'b'")
    conn.execute("delete from memlayer.memory where text = 'c'")
    conn.execute("alter table memlayer.memory enable trigger all")
    conn.execute("insert into memlayer.entity (user_id, name) values ('ann', 'Nobody')")
    conn.execute("delete from memlayer.message where seq = 5")
    problems = {row["problem"] for row in call(conn, "verify")}
    assert problems >= {
        "history does not end at the current row",
        "a derived column is wrong",
        "history says the memory stands, and it does not",
        "no memory mentions the entity",
        "the message buffer is not the newest ten",
    }
    assert call(conn, "verify", tenant="other") == []


def test_reset_forgets_one_tenant_and_nothing_else(conn: Connection) -> None:
    message = [{"role": "user", "content": "x"}]
    for tenant in ("one", "two"):
        add(conn, "a", "b", tenant=tenant, messages=message, embeddings=[[1.0], [1.0]], model="m")
    oid = one(conn, "select 'memlayer.memory'::regclass::oid")
    assert call(conn, "reset", tenant="one") == [{"deleted": 2}]
    for table in ("memory", "history", "entity", "message", "session", "model"):
        assert count(conn, table, "tenant = 'one'") == 0
        assert table == "entity" or count(conn, table, "tenant = 'two'") > 0
    assert one(conn, "select operation from memlayer.change where tenant = 'one'") == "reset"
    assert one(conn, "select 'memlayer.memory'::regclass::oid") == oid
    add(conn, "a", tenant="one", embeddings=[[1.0, 2.0]], model="other")
