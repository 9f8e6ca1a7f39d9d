"""Searches that nobody would write: odd queries, odd numbers, and every switch at once."""
# Full-width letters are meant.
# ruff: noqa: RUF001

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memlayer_pg.errors import FilterError, InputError

ANN = {"user_id": "ann"}
QUERIES = {
    "an open phrase": '"green tea',
    "an odd number of quotes": '"green" tea "',
    "only a minus": "-tea",
    "only minuses": "- -- -",
    "only stop words": "the of and is",
    "punctuation": "?!.,;:()[]{}",
    "very long": "tea and milk " * 8_000,
    "emoji": "🍵👩‍👩‍👧",
    "arabic": "ماذا تشرب آن؟",
    "hebrew": "מה אן שותה?",
    "thai": "แอนดื่มอะไร",
    "korean": "앤은 무엇을 마시나요",
    "full-width": "ｇｒｅｅｎ ｔｅａ",
    "zero width": "gre\u200ben\u2060 tea\ufeff",
    "right to left": "\u202egreen tea\u202c",
    "a lone combining mark": "\u0301",
}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_a_query_of_any_kind_is_answered(memory: Any, query: str) -> None:
    memory.import_memories(
        [{"memory": "Ann drinks green tea", **ANN}, {"memory": "the river", **ANN}], embed=True
    )
    for answer in (
        memory.search(query, filters=ANN, threshold=0, explain=True),
        memory.search(query, filters=ANN, threshold=0, fusion="additive"),
        memory.keyword_search(query, filters=ANN),
    ):
        assert len(answer["results"]) <= 2
        assert all(0 <= item["score"] <= 1 for item in answer["results"])


@pytest.mark.parametrize(
    "given",
    [
        {"threshold": float("nan")},
        {"threshold": float("inf")},
        {"threshold": -0.1},
        {"threshold": 10**400},
        {"threshold": "0.5"},
        {"top_k": -1},
        {"top_k": 2.0},
        {"top_k": True},
        {"recency_half_life": float("nan")},
        {"recency_half_life": 0},
        {"fallback": "words"},
        {"as_of": "2026-01-01", "reference_date": "2026-01-01"},
        {"reference_date": "soon"},
    ],
    ids=str,
)
def test_a_number_or_day_that_is_none_is_refused_before_a_model_is_asked(
    memory: Any, endpoint: Any, given: Any
) -> None:
    with pytest.raises(InputError):
        memory.search("tea", filters=ANN, **given)
    assert endpoint.requests == []


@pytest.mark.parametrize("query", ["", " \n", "\u200b", None, 7])
def test_a_query_of_which_nothing_can_be_seen_is_refused(memory: Any, query: Any) -> None:
    with pytest.raises(InputError, match="Invalid query"):
        memory.search(query, filters=ANN)


@pytest.mark.parametrize("operator", ["gte ", "GT", "$gt", "=", "like", "equals", "not_in", ""])
def test_a_misspelt_operator_is_named_with_those_there_are(memory: Any, operator: str) -> None:
    with pytest.raises(FilterError, match="unknown operator") as caught:
        memory.search("tea", filters={**ANN, "n": {operator: 1}})
    assert "gte" in str(caught.value.hint)


@pytest.mark.parametrize("fusion", ["calibrated", "additive"])
@pytest.mark.parametrize("back", ["now", "reference_date", "as_of"])
def test_the_parts_sum_to_the_score_with_every_switch_on(
    memory: Any, fusion: str, back: str
) -> None:
    older, newer, other = (f"00000000-0000-4000-8000-00000000000{n}" for n in "123")
    past = datetime.now(UTC) - timedelta(days=30)
    memory.import_memories(
        [
            {"id": older, "memory": "Ann lives in Rome", "observed_at": past},
            {"id": newer, "memory": "Ann lives in Oslo now",
             "links": [{"id": older, "kind": "updates"}]},
            {"id": other, "memory": "Ann likes Rome", "observed_at": past},
        ],
        embed=True,
        **ANN,
    )  # fmt: skip
    now = datetime.now(UTC)
    moments: dict[str, Any] = {
        "now": {},
        "reference_date": {"reference_date": now.date()},
        "as_of": {"as_of": now},
    }

    class Backwards:
        def rerank(self, query: str, documents: list[Any], top_k: int) -> list[Any]:
            return documents[::-1]

    memory.memory.reranker = Backwards()
    asked: dict[str, Any] = {
        "query": "Ann lives in Rome", "filters": ANN, "threshold": 0, "fusion": fusion,
        "explain": True, "recency_half_life": 10, **moments[back],
    }  # fmt: skip
    found = memory.search(**asked, rerank=True)["results"]
    plain = memory.search(**asked)["results"]  # its scores are a moment older
    assert [item["id"] for item in found[::-1]] == [item["id"] for item in plain]
    assert {item["id"] for item in found} == {older, newer, other}
    for item in found:
        parts = item["score_details"]
        names = ("semantic_score", "bm25_score", "entity_boost", "recency", "superseded")
        assert sum(parts[name] for name in names) == pytest.approx(parts["raw_score"])
        most = parts["max_possible_score"]
        assert item["score"] == pytest.approx(min(max(parts["raw_score"] / most, 0), 1))
    details = {item["id"]: item["score_details"] for item in found}
    assert details[newer]["recency"] > details[other]["recency"] > 0
    assert {item["superseded_by"] for item in found if item["id"] == older} == {newer}
    left = memory.search(**asked, include_superseded=False)["results"]
    assert {item["id"] for item in left} == {newer, other}
