"""Whose a memory is, and what values its metadata may have."""

from __future__ import annotations

import pytest

from memlayer_pg import errors
from tests.sql.calls import Connection, add, call

NOBODYS = "00000000-0000-4000-8000-000000000000"


def belongs(conn: Connection, id_: str, **ids: str) -> bool:
    [row] = call(conn, "belongs_to", id=id_, **ids)
    return bool(row["belongs_to"])


def test_a_memory_belongs_to_whose_ids_it_carries(conn: Connection) -> None:
    [id_] = add(conn, "tea", agent_id="cook")
    assert belongs(conn, id_, user_id="ann")
    assert belongs(conn, id_, user_id="ann", agent_id="cook")
    for ids in (
        {"user_id": "bob"},
        {"run_id": "r"},
        {"user_id": "ann", "run_id": "r"},
        {"user_id": "ann", "tenant": "other"},
    ):
        assert not belongs(conn, id_, **ids)
    assert not belongs(conn, NOBODYS, user_id="ann")


def test_a_memory_that_was_deleted_belongs_to_whose_it_was(conn: Connection) -> None:
    [id_] = add(conn, "tea")
    call(conn, "delete", id=id_)
    assert belongs(conn, id_, user_id="ann")
    assert not belongs(conn, id_, user_id="bob")


def test_an_id_that_was_anothers_belongs_to_neither(conn: Connection) -> None:
    """B144: what it was to the other would show in its history."""
    for other in ({"user_id": "bob"}, {"user_id": None, "agent_id": "cook"}):
        [id_] = add(conn, f"tea of {other}", **other)
        call(conn, "delete", id=id_)
        call(conn, "import_memories", memories=[{"id": id_, "text": "tea", "user_id": "ann"}])
        assert not belongs(conn, id_, user_id="ann")


def test_whose_it_is_asks_for_somebody(conn: Connection) -> None:
    [id_] = add(conn, "tea")
    with pytest.raises(errors.ScopeMissing):
        belongs(conn, id_)


def test_the_values_of_a_key_are_counted_in_a_scope(conn: Connection) -> None:
    values = ["food", "food", "drink", ["a", "b"], ["a", "b"], ["b"], {"k": 1}, None, 7, True]
    for number, value in enumerate(values):
        add(conn, f"fact {number}", metadata={"topic": value, "n": number})
    add(conn, "no topic")
    add(conn, "gone", metadata={"topic": "food"}, expires_on="2020-01-01")
    add(conn, "of another", user_id="bob", metadata={"topic": "food"})

    def found(key: str = "topic", **given: object) -> list[tuple[object, int]]:
        rows = call(conn, "metadata_values", key=key, user_id="ann", **given)
        return [(row["value"], row["memories"]) for row in rows]

    assert found()[:2] == [("food", 2), (["a", "b"], 2)]
    assert len(found()) == 8
    assert ("food", 3) in found(show_expired=True)
    assert found(filters={"n": {"lt": 2}}) == [("food", 2)]
    assert found("nothing") == []
    assert found("' or true --") == []
