from __future__ import annotations

import math

import pytest

from memlayer_pg import errors
from tests.sql.calls import Connection, add, call


def found(
    conn: Connection, query: str, vector: list[float] | None = None, **args: object
) -> list[str]:
    given = {"user_id": "ann", **args}
    if vector is not None:
        given |= {"embedding": vector, "model": "toy"}
    return [row["text"] for row in call(conn, "search", query=query, **given)]


@pytest.fixture
def three(conn: Connection) -> Connection:
    """Three memories at cosine similarity 1, 0.7 and 0.1 to (1, 0)."""
    vectors = [[1.0, 0.0], [0.7, math.sqrt(0.51)], [0.1, math.sqrt(0.99)]]
    add(conn, "same", "near", "far", embeddings=vectors, model="toy")
    return conn


def test_the_nearest_come_first_and_the_threshold_is_a_cosine(three: Connection) -> None:
    assert found(three, "?", [1.0, 0.0], threshold=0) == ["same", "near", "far"]
    assert found(three, "?", [1.0, 0.0], threshold=0.5) == ["same", "near"]
    assert found(three, "?", [1.0, 0.0], threshold=1.0) == ["same"]


def test_scores_lie_between_0_and_1_and_are_the_sum_of_their_parts(three: Connection) -> None:
    add(three, "near words near", embeddings=[[0.8, 0.6]], entities=[{"name": "Near"}])
    rows = call(
        three,
        "search",
        query="near far",
        embedding=[1.0, 0.0],
        model="toy",
        user_id="ann",
        threshold=0,
    )
    assert len(rows) == 4
    for row in rows:
        parts = row["score_details"]
        total = parts["semantic_score"] + parts["bm25_score"] + parts["entity_boost"]
        assert total == pytest.approx(parts["raw_score"])
        assert row["score"] == pytest.approx(
            min(parts["raw_score"] / parts["max_possible_score"], 1)
        )
        assert 0 <= row["score"] <= 1
        assert parts["threshold"] == 0


def test_a_memory_found_by_words_alone_enters_the_candidates(conn: Connection) -> None:
    # More neighbours than any leg fetches; the one with the word is the farthest.
    for n in range(80):
        add(conn, f"filler {n}", embeddings=[[1.0, n / 1000]], model="toy")
    add(conn, "the zeppelin", embeddings=[[0.5, 0.8]], model="toy")
    assert "the zeppelin" in found(conn, "zeppelin", [1.0, 0.0], top_k=5)
    assert "the zeppelin" not in found(conn, "zeppelin", [1.0, 0.0], top_k=5, threshold=0.9)


def test_words_in_every_memory_weigh_little_and_other_scopes_nothing(conn: Connection) -> None:
    for n in range(20):
        add(conn, f"user fact {n}")
        add(conn, f"zeppelin {n}", user_id="bob")
    add(conn, "user flies a zeppelin")
    rows = call(conn, "keyword_search", query="user zeppelin", user_id="ann")
    assert rows[0]["text"] == "user flies a zeppelin"
    assert rows[0]["score_details"]["bm25_score"] > 1.5 * rows[1]["score_details"]["bm25_score"]


def test_four_of_four_terms_beat_one_frequent_term(conn: Connection) -> None:
    add(conn, *(f"note {n} about a river gauge" for n in range(50)))
    add(conn, "river delta sediment model notes")
    rows = call(conn, "keyword_search", query="river delta sediment model", user_id="ann")
    assert rows[0]["text"] == "river delta sediment model notes"
    assert rows[1]["score"] < rows[0]["score"] / 2


def test_a_term_counts_more_in_a_short_text_and_the_more_often_it_stands(conn: Connection) -> None:
    filler = " ".join(f"w{n}" for n in range(200))
    add(conn, "gauge gauge gauge stands by the river in the old town", f"gauge {filler}", "nothing")
    first, second = call(conn, "keyword_search", query="gauge", user_id="ann")
    assert (first["text"][:11], second["text"][:8]) == ("gauge gauge", "gauge w0")
    assert first["score"] > second["score"] > 0


def test_phrases_must_match_and_a_minus_excludes(conn: Connection) -> None:
    add(conn, "red wine", "wine that is red", "red apples")

    def words(query: str) -> list[str]:
        return sorted(
            row["text"] for row in call(conn, "keyword_search", query=query, user_id="ann")
        )

    assert words("red wine") == ["red apples", "red wine", "wine that is red"]
    assert words('"red wine"') == ["red wine"]
    assert words("red -apples") == ["red wine", "wine that is red"]


def test_what_a_minus_excludes_is_not_found_by_its_meaning_either(conn: Connection) -> None:
    add(conn, "red wine", "red apples", embeddings=[[1.0, 0.2], [1.0, 0.0]], model="toy")
    assert found(conn, "red", [1.0, 0.0]) == ["red apples", "red wine"]
    assert found(conn, "red -apples", [1.0, 0.0]) == ["red wine"]
    assert found(conn, "-apples", [1.0, 0.0]) == ["red wine"]


def test_expired_memories_take_no_place_and_the_last_day_counts(conn: Connection) -> None:
    conn.execute("set local time zone 'Asia/Tokyo'")
    for n in range(70):
        add(conn, f"old {n}", embeddings=[[1.0, 0.0]], model="toy", expires_on="2026-03-01")
    add(conn, "today", embeddings=[[1.0, 0.2]], model="toy", expires_on="2026-03-02")
    add(conn, "always", embeddings=[[1.0, 0.4]], model="toy")
    for moment in ("2026-03-02 00:00:01Z", "2026-03-02 23:59:59Z"):
        conn.execute("select set_config('memlayer.now', %s, true)", [moment])
        assert found(conn, "?", [1.0, 0.0]) == ["today", "always"]
        assert len(call(conn, "get_all", user_id="ann")) == 2
    conn.execute("select set_config('memlayer.now', '2026-03-03 00:00:01Z', true)")
    assert found(conn, "?", [1.0, 0.0]) == ["always"]
    assert len(found(conn, "?", [1.0, 0.0], show_expired=True, top_k=100)) == 72


def test_a_past_day_shows_what_was_there_then(conn: Connection) -> None:
    conn.execute("select set_config('memlayer.now', '2026-01-10 12:00Z', true)")
    add(conn, "first", expires_on="2026-01-15")
    conn.execute("select set_config('memlayer.now', '2026-01-20 12:00Z', true)")
    add(conn, "second")

    def on(day: str) -> list[str]:
        return [row["text"] for row in call(conn, "get_all", user_id="ann", reference_date=day)]

    assert [on(f"2026-01-{day}") for day in ("09", "10", "16", "20")] == [
        [],
        ["first"],
        [],
        ["second"],
    ]


def test_equal_scores_put_the_newer_first_and_equal_calls_give_equal_answers(
    conn: Connection,
) -> None:
    for day, text in (("01", "works at A"), ("02", "works at B")):
        conn.execute("select set_config('memlayer.now', %s, true)", [f"2026-01-{day}"])
        add(conn, text, embeddings=[[1.0, 0.0]], model="toy")
    answers = [found(conn, "where?", [1.0, 0.0]) for _ in range(5)]
    assert answers == [["works at B", "works at A"]] * 5


def test_top_k_is_a_number_of_rows(three: Connection) -> None:
    assert found(three, "?", [1.0, 0.0], top_k=0) == []
    assert len(found(three, "?", [1.0, 0.0], threshold=0, top_k=2147483647)) == 3
    for function in ("search", "get_all"):
        with pytest.raises(errors.FilterError, match="top_k"), three.transaction():
            call(three, function, user_id="ann", top_k=-1)


@pytest.mark.parametrize(
    "query",
    [
        "speed > 3.2 (x|y) & !z:*",
        "it's",
        "foo:*",
        "'",
        "\\",
        "a <-> b",
        "100%",
        "!!!",
        "🙂",
        "the and of",
        "a " * 500,
        "x" * 50_000,
        '"',
        '""',
        "-",
        "- -",
    ],
)
def test_any_query_text_is_only_text(three: Connection, query: str) -> None:
    assert found(three, query, [1.0, 0.0], threshold=0)[0] == "same"
    call(three, "keyword_search", query=query, user_id="ann")


def test_deleted_and_rewritten_memories_are_found_no_more(conn: Connection) -> None:
    old, gone = add(conn, "blue zeppelin", "red zeppelin", embeddings=[[1.0, 0.0]] * 2, model="toy")
    call(conn, "update", id=old, text="green submarine", embedding=[0.9, 0.1], model="toy")
    call(conn, "delete", id=gone)
    assert found(conn, "zeppelin", [1.0, 0.0]) == ["green submarine"]
    assert call(conn, "keyword_search", query="zeppelin", user_id="ann") == []
    call(conn, "delete_all", user_id="ann")
    assert found(conn, "submarine", [1.0, 0.0]) == []


def test_similar_memories_are_of_the_same_scope_and_not_the_memory_itself(
    conn: Connection,
) -> None:
    [mine] = add(conn, "a", embeddings=[[1.0, 0.0]], model="toy")
    add(conn, "b", embeddings=[[1.0, 0.1]], model="toy")
    add(conn, "c", embeddings=[[1.0, 0.0]], user_id="bob", model="toy")
    [row] = call(conn, "similar_to", memory_id=mine)
    assert (row["text"], row["score"] > 0.99) == ("b", True)
    assert call(conn, "similar_to", memory_id=mine, top_k=0) == []


@pytest.mark.parametrize(
    "function",
    ["search", "keyword_search", "get_all", "delete_all", "add", "messages", "recall_context"],
)
def test_nobody_named_means_nothing_is_read_or_deleted(conn: Connection, function: str) -> None:
    add(conn, "a")
    with pytest.raises(errors.ScopeMissing), conn.transaction():
        call(conn, function)
    assert len(call(conn, "get_all", user_id="ann")) == 1


def test_the_usual_similarity_of_the_model_is_estimated_once_and_taken_off(
    conn: Connection,
) -> None:
    def vector(n: int) -> list[float]:
        return [3.0, math.sin(n), math.cos(n), math.sin(7 * n)]

    [before] = conn.execute("select max(calibration) from memlayer.model")
    add(
        conn,
        *(f"fact {n}" for n in range(80)),
        embeddings=[vector(n) for n in range(80)],
        model="m",
    )
    [set_once] = conn.execute("select calibration from memlayer.model")
    add(conn, "another", embeddings=[[0.0, 1.0, 0.0, 0.0]])
    assert conn.execute("select calibration from memlayer.model").fetchall() == [set_once]
    assert before == (None,)
    assert conn.execute("select sample from memlayer.model").fetchall() == [(64,)]
    assert 0.6 < set_once[0] < 0.9
    query = {"query": "?", "embedding": [3.0, 0.0, 0.0, 0.0], "model": "m", "user_id": "ann"}
    for row in call(conn, "search", **query):
        parts = row["score_details"]
        expected = (parts["cosine_similarity"] - set_once[0]) / (1 - set_once[0])
        assert parts["semantic_score"] == pytest.approx(max(expected, 0), abs=1e-6)


def test_the_estimate_is_renewed_until_it_rests_on_64_memories(conn: Connection) -> None:
    seen = []
    for n in range(80):
        add(conn, f"fact {n}", embeddings=[[2.0, math.sin(n), math.cos(n)]], model="m")
        [(calibration, sample)] = conn.execute("select calibration, sample from memlayer.model")
        assert sample == (n + 1 if 8 <= n + 1 <= 64 else 64 if n + 1 > 64 else 0)
        seen.append(calibration)
    assert seen[:7] == [None] * 7
    assert len(set(seen[63:])) == 1


def test_the_additive_fusion_is_the_formula_of_mem0(three: Connection) -> None:
    add(three, "zeppelin flight", embeddings=[[0.6, 0.8]], entities=[{"name": "Zeppelin"}])
    conn = three
    conn.execute('insert into memlayer.setting (defaults) values (\'{"fusion": "additive"}\')')
    rows = call(
        conn,
        "search",
        query="the zeppelin",
        embedding=[1.0, 0.0],
        model="toy",
        user_id="ann",
        threshold=0,
    )
    [hit] = [row for row in rows if row["text"] == "zeppelin flight"]
    # One term, which one of four texts has: of 2 words where 1 is average ("same" is none).
    idf = math.log(1 + (4 - 1 + 0.5) / 1.5)
    bm25 = idf * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2))
    parts = hit["score_details"]
    assert parts["bm25_score"] == pytest.approx(1 / (1 + math.exp(-0.7 * (bm25 - 5))))
    assert parts["semantic_score"] == pytest.approx(0.6, abs=1e-3)
    assert parts["max_possible_score"] == 2.0
    with pytest.raises(errors.FilterError, match="fusion"), conn.transaction():
        call(conn, "search", query="x", user_id="ann", fusion="best")
