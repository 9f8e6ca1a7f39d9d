from __future__ import annotations

from typing import Any

import pytest

from memlayer_pg import errors
from tests.sql.calls import Connection, add, call, count

NEAR = [1.0, 0.0]
FAR = [0.6, 0.8]


def replace(conn: Connection, old: str, text: str, vector: list[float], **args: Any) -> str:
    links = [{"id": old, "kind": args.pop("kind", "updates")}]
    facts = [{"text": text, "links": links}]
    [new] = add(conn, facts=facts, embeddings=[vector], model="toy", **args)
    return new


def hits(conn: Connection, **args: Any) -> list[tuple[str, str | None]]:
    given = {"query": "?", "embedding": NEAR, "model": "toy", "user_id": "ann", **args}
    rows = call(conn, "search", **given)
    return [
        (row["text"], str(row["superseded_by"]) if row["superseded_by"] else None) for row in rows
    ]


def test_the_newer_of_two_ranks_first_though_the_older_is_nearer(conn: Connection) -> None:
    [old] = add(conn, "lives in Beijing", embeddings=[NEAR], model="toy")
    new = replace(conn, old, "lives in Shanghai", FAR)
    assert hits(conn) == [("lives in Shanghai", None), ("lives in Beijing", new)]
    assert hits(conn, demote_superseded=False) == [
        ("lives in Beijing", new),
        ("lives in Shanghai", None),
    ]
    assert hits(conn, include_superseded=False) == [("lives in Shanghai", None)]
    assert count(conn, "memory") == 2


def test_the_demotion_is_a_part_of_the_score(conn: Connection) -> None:
    [old] = add(conn, "lives in Beijing", embeddings=[NEAR], model="toy")
    replace(conn, old, "lives in Shanghai", FAR, kind="contradicts")
    rows = call(conn, "search", query="?", embedding=NEAR, model="toy", user_id="ann")
    for row in rows:
        parts = row["score_details"]
        names = ("semantic_score", "bm25_score", "entity_boost", "recency", "superseded")
        assert sum(parts[name] for name in names) == pytest.approx(parts["raw_score"])
    assert [row["score_details"]["superseded"] < 0 for row in rows] == [False, True]


def test_a_chain_ends_at_its_newest_link(conn: Connection) -> None:
    [first] = add(conn, "one", embeddings=[NEAR], model="toy")
    second = replace(conn, first, "two", [0.8, 0.6])
    third = replace(conn, second, "three", FAR)
    assert hits(conn) == [("three", None), ("two", third), ("one", second)]


def test_what_is_only_related_or_gone_or_elsewhere_replaces_nothing(conn: Connection) -> None:
    [old] = add(conn, "one", embeddings=[NEAR], model="toy")
    replace(conn, old, "two", FAR, kind="related")
    gone = replace(conn, old, "three", FAR)
    call(conn, "delete", id=gone)
    replace(conn, old, "four", FAR, expires_on="2020-01-01")
    assert [by for _, by in hits(conn)] == [None, None]
    [shared] = add(conn, "five", embeddings=[NEAR], agent_id="a")
    new = replace(conn, shared, "six", FAR)
    assert ("five", new) in hits(conn)
    # The search of the agent does not see the user's memory, not even its id.
    assert hits(conn, user_id=None, agent_id="a") == [("five", None)]


def test_words_alone_show_it_too(conn: Connection) -> None:
    [old] = add(conn, "tea in the morning")
    new = replace(conn, old, "no more tea", NEAR)
    rows = call(conn, "keyword_search", query="tea", user_id="ann")
    assert [(row["text"], row["superseded_by"]) for row in rows][1][0] == "tea in the morning"
    assert str(rows[1]["superseded_by"]) == new


def test_a_list_shows_it_within_its_own_scope(conn: Connection) -> None:
    facts = [{"text": "lives in Beijing", "metadata": {"first": True}}]
    [old] = add(conn, facts=facts, embeddings=[NEAR], model="toy", agent_id="a")
    replace(conn, old, "lives in Nanjing", FAR)
    new = replace(conn, old, "lives in Shanghai", FAR, kind="contradicts")
    gone = replace(conn, old, "lives nowhere", FAR)
    call(conn, "delete", id=gone)

    def listed(**scope: object) -> dict[str, str | None]:
        rows = call(conn, "get_all", **scope)
        return {row["text"]: row["superseded_by"] and str(row["superseded_by"]) for row in rows}

    assert listed(user_id="ann") == {
        "lives in Shanghai": None,
        "lives in Nanjing": None,
        "lives in Beijing": new,
    }
    assert listed(user_id="ann", filters={"first": True}) == {"lives in Beijing": new}
    assert listed(agent_id="a") == {"lives in Beijing": None}


def test_recency_counts_only_when_asked_and_halves_with_age(conn: Connection) -> None:
    conn.execute("select set_config('memlayer.now', '2026-03-01T00:00Z', true)")
    for text, day in (("old", "2026-01-30"), ("new", "2026-02-28")):
        add(conn, text, embeddings=[NEAR], model="toy", observed_at=f"{day}T00:00Z")
    rows = call(
        conn, "search", query="?", embedding=NEAR, model="toy", user_id="ann", recency_half_life=30
    )
    parts = {row["text"]: row["score_details"] for row in rows}
    assert parts["old"]["recency"] == pytest.approx(0.25)
    assert parts["new"]["recency"] == pytest.approx(0.5 * 2 ** (-1 / 30))
    assert parts["new"]["max_possible_score"] == 1.5
    rows = call(conn, "search", query="?", embedding=NEAR, model="toy", user_id="ann")
    assert {row["score_details"]["recency"] for row in rows} == {0}
    with pytest.raises(errors.FilterError, match="half-life"), conn.transaction():
        call(conn, "search", query="?", user_id="ann", recency_half_life=0)


def test_a_search_explains_itself(conn: Connection) -> None:
    add(conn, "tea", "coffee", embeddings=[NEAR, FAR], model="toy", entities=[{"name": "Tea"}])
    [told] = call(conn, "explain_search", query="tea", embedding=NEAR, model="toy", user_id="ann")
    assert told["path"] == "exact"
    assert told["legs"] == {"nearest": 2, "wordiest": 1, "named": 0, "found": 2}
    assert told["plan"][0]["Plan"]["Actual Rows"] == 2
    assert "memlayer.memory" in told["statement"]
