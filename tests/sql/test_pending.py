"""Memories that wait for a vector: their text was changed, or they were stored, without one."""

from __future__ import annotations

import pytest

from memlayer_pg import errors
from tests.sql.calls import Connection, add, call, consistent, count, one

VECTOR = [1.0, 0.0]


def waiting(conn: Connection, **args: object) -> list[str]:
    return [row["text"] for row in call(conn, "pending", **args)]


def test_a_text_changed_without_its_vector_waits_until_it_has_one(conn: Connection) -> None:
    [id_] = add(conn, "tea", embeddings=[VECTOR], model="toy")
    assert waiting(conn) == []
    conn.execute("update memlayer.memory set text = 'green tea'")
    [row] = call(conn, "pending")
    assert (str(row["id"]), row["text"], row["version"]) == (id_, "green tea", 2)
    with pytest.raises(errors.VersionConflict), conn.transaction():
        call(conn, "update", id=id_, text="green tea", embedding=VECTOR, expected_version=1)
    [updated] = call(conn, "update", id=id_, text="green tea", embedding=VECTOR, expected_version=2)
    assert (updated["pending"], updated["version"]) == (False, 3)
    assert waiting(conn) == []
    assert call(conn, "verify") == []
    events = [(row["event"], row["new_memory"]) for row in call(conn, "history", id=id_)]
    assert events == [("ADD", "tea"), ("UPDATE", "green tea"), ("UPDATE", "green tea")]


def test_pages_hold_each_once_by_id_and_the_total_when_asked(conn: Connection) -> None:
    stored = sorted(add(conn, *(f"fact {n}" for n in range(7)), expires_on="2020-01-01"))
    add(conn, "another tenant's", tenant="t2")
    add(conn, "has one", embeddings=[VECTOR], model="toy")
    first = call(conn, "pending", limit=4, with_total=True)
    rest = call(conn, "pending", limit=4, after=first[-1]["id"])
    assert [str(row["id"]) for row in first + rest] == stored
    assert {row["total"] for row in first} == {7}
    assert {row["total"] for row in rest} == {None}
    [row] = call(conn, "pending", limit=0, with_total=True)
    assert (row["id"], row["total"]) == (None, 7)
    assert call(conn, "pending", limit=0) == []
    with pytest.raises(errors.FilterError), conn.transaction():
        call(conn, "pending", limit=-1)


def test_the_context_comes_with_the_text(conn: Connection) -> None:
    add(conn, facts=[{"text": "Yes", "context": "Do you like tea?"}])
    assert [(row["text"], row["context"]) for row in call(conn, "pending")] == [
        ("Yes", "Do you like tea?")
    ]


def test_a_memory_that_waited_goes_on_naming_what_stands_in_it(conn: Connection) -> None:
    [id_] = add(
        conn,
        facts=[{"text": "Bob met Eve", "entities": [1, 2]}],
        embeddings=[VECTOR],
        model="toy",
        entities=[{"name": "Bob"}, {"name": "Eve"}],
    )
    conn.execute("update memlayer.memory set text = 'Bob met Ada'")
    given = {"id": id_, "text": "Bob met Ada", "embedding": VECTOR}
    call(conn, "update", **given, entities=[{"name": "Bob"}, {"name": "Ada"}])
    names = "select array_agg(name order by name) from memlayer.entity"
    assert one(conn, names) == ["Ada", "Bob"]
    assert count(conn, "mention") == 2
    # Nobody asks for the names again once it has its vector.
    call(conn, "update", **given)
    assert one(conn, names) == ["Ada", "Bob"]
    assert consistent(conn)
