from __future__ import annotations

from typing import Any

import pytest

from memlayer_pg import errors
from tests.sql.calls import Connection, add, call, consistent, count, one
from tests.sql.test_restore import UNKNOWN, named, row, store


def latest(conn: Connection, operation: str) -> str:
    """The id of the newest call of this kind."""
    query = "select id::text from memlayer.change where operation = %s order by recorded_at desc"
    return str(one(conn, f"{query} limit 1", operation))


def undo(conn: Connection, change: str, **args: Any) -> list[tuple[str, str | None]]:
    rows = call(conn, "undo", change_id=change, **args)
    return [(found["outcome"], found["event"]) for found in rows]


def everything(conn: Connection) -> list[Any]:
    """What stands, but for versions and the times of changes."""
    return conn.execute(
        "select m.id, m.user_id, m.text, m.metadata, m.embedding::text, m.expires_on, m.created_at,"
        "       array(select e.name from memlayer.mention n"
        "               join memlayer.entity e on e.id = n.entity_id"
        "              where n.memory_id = m.id order by 1),"
        "       array(select l.linked_id from memlayer.link l where l.memory_id = m.id order by 1)"
        "  from memlayer.memory m order by m.id"
    ).fetchall()


def test_what_one_call_added_goes_again_and_nothing_else(conn: Connection) -> None:
    store(conn, "Ann is here", "Ann")
    before = everything(conn)
    rows = call(
        conn, "add", user_id="ann", entities=[{"name": "Ann"}, {"name": "Bob"}],
        facts=[{"text": f"bad {n}", "entities": [1, 2]} for n in range(5)],
    )  # fmt: skip
    assert undo(conn, latest(conn, "add"), actor="desk") == [("undone", "DELETE")] * len(rows)
    assert everything(conn) == before
    assert [name for [name] in conn.execute("select name from memlayer.entity")] == ["Ann"]
    assert call(conn, "verify") == []
    told = conn.execute(
        "select c.actor, c.added, c.updated, c.deleted, u.operation from memlayer.change c"
        " join memlayer.change u on u.id = c.undoes where c.operation = 'undo'"
    ).fetchall()
    assert told == [("desk", 0, 0, 5, "add")]


def test_everything_that_was_deleted_stands_again(conn: Connection) -> None:
    for user in ("ann", "bob"):
        old = store(conn, "lives in Rome", "Rome", user_id=user, agent_id="a", metadata={"k": 1})
        store(conn, "Zoe lives in Oslo", "Oslo", "Zoe", user_id=user, expires_on="2000-01-01")
        add(conn, user_id=user, facts=[{"text": "now in Oslo", "links": [{"id": old}]}])
    before = everything(conn)
    call(conn, "delete_all", user_id="ann")
    assert count(conn, "memory") == 3
    assert undo(conn, latest(conn, "delete_all")) == [("undone", "ADD")] * 3
    assert everything(conn) == before
    assert consistent(conn)


def test_an_undo_is_undone_like_any_other_call(conn: Connection) -> None:
    memory = store(conn, "Ann met Bob", "Ann", "Bob")
    call(conn, "update", id=memory, text="Ann met Eve", embedding=[0.0, 1.0], model="toy",
         entities=[{"name": "Eve"}])  # fmt: skip
    after = everything(conn)
    assert undo(conn, latest(conn, "update")) == [("undone", "UPDATE")]
    assert (row(conn, memory)["text"], named(conn, memory)) == ("Ann met Bob", ["Ann", "Bob"])
    assert undo(conn, latest(conn, "undo")) == [("undone", "UPDATE")]
    assert everything(conn) == after
    call(conn, "restore", id=memory, version=1)
    assert undo(conn, latest(conn, "restore")) == [("undone", "UPDATE")]
    assert everything(conn) == after
    call(conn, "delete", id=memory)
    call(conn, "restore", id=memory)
    assert undo(conn, latest(conn, "restore")) == [("undone", "DELETE")]
    assert count(conn, "memory") == 0
    assert [h["version"] for h in call(conn, "history", id=memory)] == [*range(1, 10)]
    assert call(conn, "verify") == []


def test_what_was_changed_since_is_left_and_told_unless_forced(conn: Connection) -> None:
    first, second, third = add(conn, "a", "b", "c")
    change = latest(conn, "add")
    call(conn, "update", id=first, text="mine")
    call(conn, "delete", id=second)
    told = {str(r["id"]): (r["outcome"], r["text"]) for r in call(conn, "undo", change_id=change)}
    assert told == {
        first: ("changed since", "mine"),
        second: ("as before", "b"),
        third: ("undone", "c"),
    }
    assert [r[0] for r in conn.execute("select text from memlayer.memory")] == ["mine"]
    outcomes = {
        str(r["id"]): r["outcome"] for r in call(conn, "undo", change_id=change, force=True)
    }
    assert outcomes == {first: "undone", second: "as before", third: "as before"}
    assert count(conn, "memory") == 0
    assert consistent(conn)


def test_of_a_delete_all_what_was_restored_and_changed_since_is_left(conn: Connection) -> None:
    ids = [store(conn, f"fact {n}", f"Name{n}") for n in range(4)]
    call(conn, "delete_all", user_id="ann")
    change = latest(conn, "delete_all")
    call(conn, "restore", id=ids[0])
    call(conn, "update", id=ids[0], text="another fact")
    call(conn, "restore", id=ids[1])
    call(conn, "restore", id=ids[2])
    call(conn, "delete", id=ids[2])
    outcomes = {str(row["id"]): row["outcome"] for row in call(conn, "undo", change_id=change)}
    assert [outcomes[id_] for id_ in ids] == [
        "changed since",
        "as before",
        "changed since",
        "undone",
    ]
    forced = call(conn, "undo", change_id=change, force=True)
    assert {row["outcome"] for row in forced} == {"undone", "as before"}
    texts = {row["text"] for row in call(conn, "get_all", user_id="ann")}
    assert texts == {f"fact {n}" for n in range(4)}
    assert consistent(conn)


def test_an_undo_that_is_repeated_does_nothing_more(conn: Connection) -> None:
    memory = store(conn, "one")
    call(conn, "update", id=memory, metadata={"k": 1})
    change = latest(conn, "update")
    undo(conn, change)
    changes = count(conn, "change")
    assert undo(conn, change) == [("as before", None)]
    assert count(conn, "change") == changes
    assert row(conn, memory)["metadata"] == {}


def test_an_expired_fact_that_was_revived_is_expired_again(conn: Connection) -> None:
    [memory] = add(conn, "tea", expires_on="2000-01-01")
    add(conn, "tea", expires_on="2999-01-01")
    [change] = [row["id"] for row in call(conn, "changes") if row["updated"]]
    assert undo(conn, str(change)) == [("undone", "UPDATE")]
    assert str(call(conn, "get", id=memory)[0]["expires_on"]) == "2000-01-01"


def test_the_context_a_deletion_took_away_is_back_with_the_message(conn: Connection) -> None:
    question, answer = add(
        conn, facts=[{"text": "tea?", "role": "user"},
                     {"text": "yes", "role": "assistant", "context": "tea?"}],
    )  # fmt: skip
    call(conn, "delete", id=question)
    assert sorted(undo(conn, latest(conn, "delete"))) == [("undone", "ADD"), ("undone", "UPDATE")]
    found = call(conn, "keyword_search", query="tea", user_id="ann")
    assert {str(row["id"]) for row in found} == {question, answer}
    assert {outcome for outcome, _ in undo(conn, latest(conn, "add"))} == {"changed since"}
    undo(conn, latest(conn, "add"), force=True)
    assert count(conn, "memory") == 0
    assert consistent(conn)


def test_a_vector_of_a_retired_model_leaves_what_is_back_pending(conn: Connection) -> None:
    store(conn, "one")
    call(conn, "delete_all", user_id="ann")
    conn.execute("update memlayer.model set state = 'retired'")
    [back] = call(conn, "undo", change_id=latest(conn, "delete_all"))
    assert (back["outcome"], back["event"], back["pending"], back["version"]) == (
        "undone", "ADD", True, 3,
    )  # fmt: skip


def test_a_call_that_is_unknown_or_whose_history_is_gone_is_an_error(conn: Connection) -> None:
    with pytest.raises(errors.MemoryNotFound, match="no change"), conn.transaction():
        call(conn, "undo", change_id=UNKNOWN)
    add(conn, "a", "b")
    change = latest(conn, "add")
    with pytest.raises(errors.MemoryNotFound), conn.transaction():
        call(conn, "undo", change_id=change, tenant="other")
    conn.execute("delete from memlayer.history where new_state ->> 'text' = 'a'")
    with pytest.raises(errors.HistoryTooShort), conn.transaction():
        call(conn, "undo", change_id=change)
    call(conn, "reset")
    with pytest.raises(errors.HistoryTooShort), conn.transaction():
        call(conn, "undo", change_id=latest(conn, "reset"))


def test_changes_are_listed_newest_first_in_pages(conn: Connection) -> None:
    memory = store(conn, "one", usage={"embedding_tokens": 7}, actor="bot")
    for n in range(3):
        call(conn, "update", id=memory, metadata={"k": n}, actor="desk")
    add(conn, "other", user_id="bob", agent_id="a")
    call(conn, "delete_all", agent_id="a")
    rows = call(conn, "changes")
    assert [row["operation"] for row in rows] == ["delete_all", "add", *["update"] * 3, "add"]
    assert (rows[-1]["actor"], rows[-1]["added"], rows[-1]["embedding_tokens"]) == ("bot", 1, 7)
    assert not any(row["has_more"] for row in rows)
    paged: list[Any] = []
    while not paged or paged[-1]["has_more"]:
        after = {"after": paged[-1]["cursor"]} if paged else {}
        paged += call(conn, "changes", top_k=4, **after)
    assert [row["id"] for row in paged] == [row["id"] for row in rows]
    # One that named an agent alone is found by whose memories it deleted, too.
    of_bob = call(conn, "changes", user_id="bob")
    assert [row["operation"] for row in of_bob] == ["delete_all", "add"]
    assert [row["operation"] for row in call(conn, "changes", user_id="bob", agent_id="b")] == []


def test_another_vector_of_the_same_text_is_undone_while_its_model_is_in_use(
    conn: Connection,
) -> None:
    memory = store(conn, "one")
    call(conn, "update", id=memory, text="one", embedding=[0.0, 1.0], model="toy")
    change = latest(conn, "update")
    assert undo(conn, change) == [("undone", "UPDATE")]
    assert row(conn, memory)["embedding"] == "[1,0]"
    conn.execute("update memlayer.model set state = 'retired'")
    conn.execute("insert into memlayer.model (name, dimensions) values ('new', 3)")
    call(conn, "update", id=memory, text="one", embedding=[1.0, 0.0, 0.0], model="new")
    assert undo(conn, latest(conn, "update")) == [("as before", None)]
    assert row(conn, memory)["embedding"] == "[1,0,0]"


def test_an_import_is_undone_and_can_be_made_again(conn: Connection) -> None:
    add(conn, "kept")
    before = everything(conn)
    ids = [f"00000000-0000-4000-8000-00000000000{n}" for n in range(3)]
    given = {
        "memories": [
            {"id": id_, "user_id": "ann", "text": f"fact {id_}", "entities": [1]} for id_ in ids
        ],
        "entities": [{"name": "Bob"}],
    }
    assert [row["outcome"] for row in call(conn, "import_memories", **given)] == ["added"] * 3
    after = everything(conn)
    assert undo(conn, latest(conn, "import")) == [("undone", "DELETE")] * 3
    assert everything(conn) == before
    assert [row["outcome"] for row in call(conn, "import_memories", **given)] == ["added"] * 3
    assert [found[:3] for found in everything(conn)] == [found[:3] for found in after]
    assert consistent(conn)
