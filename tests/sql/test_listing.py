from __future__ import annotations

import pytest

from memlayer_pg import errors
from tests.sql.calls import Connection, add, call, consistent, count, scanned


def test_pages_are_disjoint_complete_and_survive_deletions(conn: Connection) -> None:
    stored = [add(conn, f"fact {n}")[0] for n in range(47)]
    seen: list[str] = []
    cursor = None
    while True:
        rows = call(conn, "get_all", user_id="ann", top_k=20, after=cursor)
        if not rows:
            break
        seen += [str(row["id"]) for row in rows]
        cursor = rows[-1]["cursor"]
        assert rows[-1]["has_more"] == (len(seen) < 47)
        call(conn, "delete", id=rows[-1]["id"])
    assert seen == stored[::-1]


def test_facts_of_the_same_moment_page_by_id(conn: Connection) -> None:
    conn.execute("select set_config('memlayer.now', '2026-01-01', true)")
    for n in range(9):
        add(conn, f"fact {n}")
    first = call(conn, "get_all", user_id="ann", top_k=4)
    rest = call(conn, "get_all", user_id="ann", after=first[-1]["cursor"])
    ids = [row["id"] for row in first + rest]
    assert ids == sorted(ids)
    assert len(ids) == 9


def test_the_total_is_counted_on_request_even_for_an_empty_page(conn: Connection) -> None:
    add(conn, *"abcde")
    add(conn, "gone", expires_on="2020-01-01")
    assert {row["total"] for row in call(conn, "get_all", user_id="ann", top_k=2)} == {None}
    rows = call(conn, "get_all", user_id="ann", top_k=2, with_total=True)
    assert [(row["total"], row["has_more"]) for row in rows] == [(5, True)] * 2
    last = call(conn, "get_all", user_id="ann")[-1]["cursor"]
    [row] = call(conn, "get_all", user_id="ann", after=last, with_total=True)
    assert (row["id"], row["total"], row["has_more"]) == (None, 5, False)


@pytest.mark.parametrize("cursor", ["", "x", "1", "1.2", "9" * 40, "1.' or true"])
def test_a_cursor_that_is_none_is_refused(conn: Connection, cursor: str) -> None:
    with pytest.raises(errors.FilterError, match="cursor"), conn.transaction():
        call(conn, "get_all", user_id="ann", after=cursor)


def test_a_scope_holds_all_that_carry_at_least_its_ids(conn: Connection) -> None:
    add(conn, "u")
    add(conn, "ua", agent_id="a")
    add(conn, "uar", agent_id="a", run_id="r")
    add(conn, "a", user_id=None, agent_id="a")
    add(conn, "other tenant", tenant="t2")

    def texts(**scope: str) -> list[str]:
        return [row["text"] for row in call(conn, "get_all", **scope)]

    assert texts(user_id="ann") == ["uar", "ua", "u"]
    assert texts(user_id="ann", agent_id="a") == ["uar", "ua"]
    assert texts(agent_id="a") == ["a", "uar", "ua"]
    assert texts(run_id="r") == ["uar"]
    assert texts(user_id="ann", run_id="x") == []
    assert call(conn, "delete_all", user_id="ann", agent_id="a") == [{"deleted": 2}]
    assert texts(user_id="ann") == ["u"]
    assert texts(agent_id="a") == ["a"]
    assert texts(user_id="ann", tenant="t2") == ["other tenant"]


def test_scopes_are_listed_with_how_many_memories_they_have(conn: Connection) -> None:
    add(conn, "u")
    add(conn, "ua", agent_id="a")
    add(conn, "b", user_id="bob")
    rows = [(row["kind"], row["id"], row["memories"]) for row in call(conn, "scopes")]
    assert rows == [("user", "ann", 2), ("user", "bob", 1), ("agent", "a", 1)]
    rows = [(row["kind"], row["id"], row["memories"]) for row in call(conn, "scopes", agent_id="a")]
    assert rows == [("user", "ann", 1), ("agent", "a", 1)]


def test_delete_all_takes_a_filter_and_whole_scopes_of_any_size(conn: Connection) -> None:
    add(conn, *(f"fact {n}" for n in range(250)))
    add(conn, *(f"fact {n}" for n in range(5)), user_id="bob", metadata={"k": 1})
    add(conn, "keep", user_id="bob", metadata={"k": 2})
    assert call(conn, "delete_all", user_id="bob", filters={"k": 1}) == [{"deleted": 5}]
    assert call(conn, "delete_all", user_id="ann") == [{"deleted": 250}]
    assert call(conn, "delete_all", user_id="ann") == [{"deleted": 0}]
    assert [row["text"] for row in call(conn, "get_all", user_id="bob")] == ["keep"]
    [events] = conn.execute("select count(*) from memlayer.history where event = 'DELETE'")
    assert events == (255,)


def test_ten_thousand_go_in_one_call_with_all_they_named(conn: Connection) -> None:  # B142
    for start in range(0, 10_000, 1000):
        numbers = range(start, start + 1000)
        facts = [{"text": f"fact {n}", "entities": [1, n - start + 2]} for n in numbers]
        entities = [{"name": "Ann"}, *({"name": f"Thing {n}"} for n in numbers)]
        add(conn, facts=facts, entities=entities)
    add(conn, facts=[{"text": "kept", "entities": [1]}], entities=[{"name": "Bob"}], user_id="bob")
    tables = ("memory", "entity", "mention", "link", "message")
    before = [scanned(conn, table) for table in tables]
    assert call(conn, "delete_all", user_id="ann") == [{"deleted": 10_000}]
    # Not once a row.
    assert sum(scanned(conn, table) for table in tables) - sum(before) < 10
    assert (count(conn, "memory"), count(conn, "entity"), count(conn, "mention")) == (1, 1, 1)
    assert count(conn, "history", "event = 'DELETE'") == 10_000
    assert count(conn, "change", "operation = 'delete_all' and deleted = 10000") == 1
    assert consistent(conn)
