"""Bad input is refused before a model is asked and before anything is written."""

from __future__ import annotations

import math
from typing import Any

import pytest

from memlayer_pg.errors import (
    FilterError,
    InputError,
    MemoryNotFound,
    NotStorable,
    ScopeMissing,
    ValidationError,
)

ANN = {"user_id": "ann"}
ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)
ADDS: list[tuple[dict[str, Any], str]] = [
    ({}, "At least one of 'user_id', 'agent_id', or 'run_id' must be provided"),
    ({"user_id": None}, "At least one of"),
    ({"user_id": ""}, "Invalid user_id: cannot be empty"),
    ({"agent_id": " "}, "Invalid agent_id: cannot be empty"),
    ({"run_id": "a b"}, "Invalid run_id: cannot contain whitespace"),
    ({"user_id": "*"}, "Invalid user_id"),
    ({"user_id": "x" * 256}, "255 bytes"),
    ({"user_id": "u\x00"}, "NUL"),
    ({"user_id": "u", "metadata": "x"}, "metadata must be a dictionary"),
    ({"user_id": "u", "metadata": {"k\x00": 1}}, "NUL"),
    ({"user_id": "u", "metadata": {"n": {"z": ["\x00"]}}}, "NUL"),
    ({"user_id": "u", "metadata": {"k": "\udfff"}}, "surrogate"),
    ({"user_id": "u", "metadata": {"k": object()}}, "metadata.k"),
    ({"user_id": "u", "metadata": {"k": math.nan}}, "metadata.k"),
    ({"user_id": "u", "metadata": {"k": "x" * 1_100_000}}, "larger than"),
    ({"user_id": "u", "timestamp": "garbage"}, "timestamp"),
    ({"user_id": "u", "expiration_date": "soon"}, "expiration_date must be a valid date"),
    ({"user_id": "u", "expiration_date": 5}, "expiration_date must be a date string"),
    ({"user_id": "u", "memory_type": "episodic_memory"}, "Invalid 'memory_type'"),
    ({"user_id": "u", "prompt": 5}, "prompt must be a string"),
    ({"user_id": "u", "idempotency_key": " "}, "idempotency_key"),
    ({"user_id": "u", "messages": None}, "messages must be str, dict, or list"),
    ({"user_id": "u", "messages": 5}, "messages must be str, dict, or list"),
    ({"user_id": "u", "messages": ["text"]}, "messages must be str, dict, or list"),
    ({"user_id": "u", "messages": [{"content": "x"}]}, "needs a role"),
    ({"user_id": "u", "messages": [{"role": "user", "content": 5}]}, r"messages\[0\].content"),
    ({"user_id": "u", "messages": "a\x00b"}, "NUL"),
    ({"user_id": True}, "user_id: must be a string"),
    ({"user_id": "u", "messages": [{"role": "user", "content": ENDLESS}]}, "levels deep"),
    ({"user_id": "u", "metadata": {"k": ENDLESS}}, "levels deep"),
    ({"user_id": "u", "messages": "x\ud800y"}, "surrogate"),
    ({"user_id": "u", "messages": "x" * 11_000_000}, "longer than"),
]
SEARCHES: list[tuple[dict[str, Any], str]] = [
    ({"filters": None}, "filters must contain at least one of: user_id, agent_id, run_id"),
    ({"filters": {}}, "filters must contain at least one of"),
    ({"filters": {"user_id": None}}, "filters must contain at least one of"),
    ({"filters": {"AND": [{"user_id": "ann"}]}}, "filters must contain at least one of"),
    ({"filters": {"user_id": ""}}, "Invalid user_id"),
    ({"filters": {"user_id": "*"}}, "Invalid user_id"),
    ({"filters": "user_id"}, "filters must be a dictionary"),
    ({"filters": {**ANN, 5: 1}}, "the key 5"),
    ({"filters": {**ANN, "k": object()}}, "filters.k"),
    ({"filters": {**ANN, "k": "\x00"}}, "NUL"),
    ({"user_id": "ann"}, r"Top-level entity parameters frozenset\({'user_id'}\) are not supported"),
    ({"top_k": -1}, "Invalid top_k: -1"),
    ({"top_k": True}, "top_k must be a valid integer"),
    ({"top_k": "5"}, "top_k must be a valid integer"),
    ({"top_k": 2.5}, "top_k must be a valid integer"),
    ({"reference_date": "soon"}, "reference_date"),
    ({"as_of": "Tuesday"}, "as_of must be a datetime"),
    ({"as_of": True}, "as_of must be a datetime"),
    ({"as_of": "2026-03-03", "reference_date": "2026-03-03"}, "exclude each other"),
]
QUERIES: list[tuple[dict[str, Any], str]] = [
    ({"query": ""}, "Invalid query"),
    ({"query": "  \n"}, "Invalid query"),
    ({"query": None}, "Invalid query: must be a non-empty string"),
    ({"query": "a\x00b"}, "NUL"),
    ({"query": "\ud83d"}, "surrogate"),
    ({"threshold": 1.5}, "Invalid threshold: 1.5"),
    ({"threshold": "0.5"}, "threshold must be a valid number"),
    ({"threshold": math.nan}, "Invalid threshold: nan"),
    ({"fallback": "vector"}, "fallback"),
]


@pytest.fixture
def untouched(endpoint: Any, counts: Any) -> Any:
    """At the end no model was asked and nothing is stored."""
    yield
    assert endpoint.requests == []
    assert counts() == (0, 0, 0, 0, 0)


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("infer", [True, False])
def test_bad_arguments_of_add(memory: Any, infer: bool) -> None:  # B024, B025
    for given, message in ADDS:
        with pytest.raises(ValueError, match=message):
            memory.add(given.get("messages", "hello"), infer=infer,
                       **{k: v for k, v in given.items() if k != "messages"})  # fmt: skip


@pytest.mark.usefixtures("untouched")
def test_bad_arguments_of_search(memory: Any) -> None:  # B024, B025
    for given, message in [*SEARCHES, *QUERIES]:
        with pytest.raises(ValueError, match=message):
            memory.search(**({"query": "tea", "filters": ANN} | given))


@pytest.mark.usefixtures("untouched")
def test_bad_arguments_of_get_all(memory: Any) -> None:
    for given, message in SEARCHES:
        with pytest.raises(ValueError, match=message):
            memory.get_all(**({"filters": ANN} | given))


def test_the_kind_of_error_is_mem0s(memory: Any) -> None:
    with pytest.raises(ValidationError) as refused:
        memory.add("x")
    assert refused.value.error_code == "VALIDATION_001"
    with pytest.raises(ScopeMissing):
        memory.search("x")
    with pytest.raises(NotStorable):
        memory.add("a\x00", user_id="u")


def test_other_keywords_of_a_reader_are_let_pass_as_in_mem0(memory: Any) -> None:
    assert memory.get_all(filters=ANN, limit=5) == {"results": []}
    assert memory.search("tea", filters=ANN, limit=5) == {"results": []}
    with pytest.raises(TypeError, match="filters"):
        memory.add("x", user_id="u", filters={})


def test_no_text_and_no_id_is_logged_below_debug(memory: Any, caplog: Any) -> None:
    with caplog.at_level("INFO"):
        [stored] = memory.add("a secret plan", user_id="somebody", infer=False)["results"]
        memory.update(stored["id"], "another plan", metadata={"user_id": "eve"})
        memory.search("plan", filters={"user_id": "somebody"})
        memory.delete(stored["id"])
    for word in ("plan", "somebody", "eve", stored["id"]):
        assert word not in caplog.text


def test_what_was_not_prepared_is_not_applied(memory: Any) -> None:
    with pytest.raises(InputError, match="prepared must be what prepare_add"):
        memory.apply(5)


def test_an_id_of_thousands_of_digits_is_unknown(memory: Any) -> None:
    assert memory.get(10**5000) is None
    for method in (memory.delete, memory.similar_to, lambda id_: memory.update(id_, "x")):
        with pytest.raises(MemoryNotFound):
            method(10**5000)


def test_a_message_of_which_nothing_can_be_seen_is_none(memory: Any, counts: Any) -> None:
    assert memory.add("\u200b\ufeff", user_id="u", infer=False) == {"results": []}
    assert counts()[0] == 0


def test_with_total_may_be_anything_that_is_true(memory: Any) -> None:
    assert memory.get_all(filters=ANN, with_total=1) == {"results": [], "total": 0}


def test_filters_in_64_groups_reach_the_database_and_more_are_refused_there(memory: Any) -> None:
    def grouped(levels: int) -> dict[str, Any]:
        found: dict[str, Any] = {"kind": "a"}
        for _ in range(levels):
            found = {"AND": [found]}
        return {**ANN, **found}

    assert memory.get_all(filters=grouped(64)) == {"results": []}
    with pytest.raises(FilterError, match="64 deep"):
        memory.get_all(filters=grouped(66))


def test_tokens_beyond_what_can_be_are_not_kept_as_they_are(
    memory: Any, endpoint: Any, sql: Any
) -> None:
    endpoint.chat = lambda request: (
        200,
        {
            "choices": [{"message": {"content": '{"facts": ["tea"]}'}}],
            "usage": {"prompt_tokens": 10**30, "completion_tokens": 10**5},
        },
    )
    assert len(memory.add("tea", user_id="u")["results"]) == 1
    assert sql(
        "select prompt_tokens, completion_tokens from memlayer.change where tenant = %(tenant)s"
    ) == [(2**40, 10**5)]
