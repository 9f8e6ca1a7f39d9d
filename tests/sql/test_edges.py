"""What must not slip through: what would break later reads, or speak for what is gone."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from memlayer_pg import errors
from tests.sql.calls import Connection, add, call, consistent, count, one


def test_a_vector_of_zeros_is_refused_and_merges_no_names(conn: Connection) -> None:
    for vector in ([0.0, 0.0], [1e-9, 0.0]):
        with pytest.raises(errors.EmbeddingMismatch, match="zeros"), conn.transaction():
            add(conn, "x", embeddings=[vector], model="toy")
    add(conn, "y", embeddings=[[1.0, 0.0]], model="toy")
    with pytest.raises(errors.EmbeddingMismatch, match="zeros"), conn.transaction():
        call(conn, "search", query="x", embedding=[0.0, 0.0], model="toy", user_id="ann")
    add(
        conn,
        facts=[{"text": "a", "entities": [1, 2]}],
        entities=[{"name": "Rome"}, {"name": "Oslo"}],
        entity_embeddings=[[0.0, 0.0], [0.0, 0.0]],
        model="toy",
    )
    assert count(conn, "entity") == 2


@pytest.mark.parametrize("threshold", ["NaN", 1.5, -2])
def test_a_threshold_is_a_cosine(conn: Connection, threshold: Any) -> None:
    with pytest.raises(errors.FilterError, match="threshold"), conn.transaction():
        call(conn, "search", query="x", user_id="ann", threshold=float(threshold))


def test_the_oldest_memory_has_no_recency_and_breaks_nothing(conn: Connection) -> None:
    add(conn, "old", embeddings=[[1.0, 0.0]], model="toy", observed_at="0200-01-01T00:00Z")
    ask = {"query": "?", "embedding": [1.0, 0.0], "model": "toy", "user_id": "ann"}
    [row] = call(conn, "search", **ask, recency_half_life=0.001)
    assert row["score_details"]["recency"] == pytest.approx(0)


@pytest.mark.parametrize(
    "change",
    [
        "expires_on = 'infinity'",
        "observed_at = '-infinity'",
        "created_at = 'infinity'",
        "created_at = '0044-03-15 BC'",
        "expires_on = '10000-01-01'",
    ],
)
def test_a_date_that_programs_cannot_read_is_refused(conn: Connection, change: str) -> None:
    add(conn, "x")
    with pytest.raises(psycopg.Error) as raised, conn.transaction():
        conn.execute(f"update memlayer.memory set {change}")
    assert raised.value.sqlstate == "ML005"


def test_a_fact_that_holds_again_is_superseded_no_more(conn: Connection) -> None:
    def live(text: str, after: str | None) -> str:
        links = [{"id": after, "kind": "updates"}] if after else []
        facts = [{"text": text, "links": links}]
        return add(conn, facts=facts, embeddings=[[1.0, 0.0]], model="toy")[0]

    lisbon = live("lives in Lisbon", None)
    porto = live("lives in Porto", lisbon)
    assert live("lives in Lisbon", porto) == lisbon
    rows = call(
        conn,
        "search",
        query="where?",
        embedding=[1.0, 0.0],
        model="toy",
        user_id="ann",
        include_superseded=False,
    )
    assert [row["text"] for row in rows] == ["lives in Lisbon"]
    assert one(conn, "select count(*) from memlayer.link") == 1


def test_what_was_deleted_or_corrected_is_no_context_any_more(conn: Connection) -> None:
    secret, answer, other = add(
        conn,
        facts=[
            {"text": "my animal is a zebra", "role": "user"},
            {"text": "noted", "role": "assistant", "context": "my animal is a zebra"},
            {"text": "and a lion", "role": "user", "context": "noted"},
        ],
    )
    assert len(call(conn, "keyword_search", query="zebra", user_id="ann")) == 2
    call(conn, "update", id=secret, text="my animal is a horse")
    assert call(conn, "keyword_search", query="zebra", user_id="ann") == []
    conn.execute("delete from memlayer.memory where id = %s", [answer])
    assert one(conn, "select context from memlayer.memory where id = %s", other) is None
    assert consistent(conn)


def test_vectors_are_an_array_from_1_up_of_at_most_4000_numbers(conn: Connection) -> None:
    for array in ("array[array['[1,0]']]::halfvec[]", "'[0:0]={\"[1,0]\"}'::halfvec[]"):
        with pytest.raises(psycopg.Error) as raised, conn.transaction():
            conn.execute(
                "select memlayer.add(p_user_id => 'ann', p_facts => '[{\"text\": \"x\"}]',"
                f" p_embeddings => {array}, p_model => 'toy')"
            )
        assert raised.value.sqlstate == "ML005"
    with pytest.raises(errors.EmbeddingMismatch, match="4,000"), conn.transaction():
        add(conn, "x", embeddings=[[1.0] * 4001], model="toy")


def test_similar_memories_come_by_cosine_even_where_one_is_superseded(conn: Connection) -> None:
    [mine] = add(conn, "a", embeddings=[[1.0, 0.0]], model="toy")
    [near] = add(conn, "near", embeddings=[[1.0, 0.1]])
    links = [{"id": near, "kind": "updates"}]
    add(conn, facts=[{"text": "far", "links": links}], embeddings=[[0.5, 0.8]])
    assert [row["text"] for row in call(conn, "similar_to", memory_id=mine)] == ["near", "far"]


@pytest.mark.parametrize("user_id", ["\u200b", "\ufeff", "a\x1fb", "a\tb"])
def test_an_id_can_be_seen(conn: Connection, user_id: str) -> None:
    with pytest.raises(errors.FilterError), conn.transaction():
        add(conn, "x", user_id=user_id)


@pytest.mark.parametrize("defaults", ['{"fusion": "best"}', '{"exact_threshold": "abc"}', "[]"])
def test_defaults_that_mean_nothing_are_refused(conn: Connection, defaults: str) -> None:
    with pytest.raises(psycopg.errors.CheckViolation), conn.transaction():
        conn.execute("insert into memlayer.setting (defaults) values (%s)", [defaults])
