"""Memories that plain SQL left without a vector are given one."""

from __future__ import annotations

from typing import Any

import pytest

from memlayer_pg import pending
from memlayer_pg.errors import EmbeddingError, EmbeddingMismatch, InputError
from tests.api.harness import model
from tests.api.test_reading import ANN, found, say
from tests.endpoint import refusal

pytestmark = pytest.mark.usefixtures("consistent")

INSERTED = """
insert into memlayer.memory (tenant, user_id, text) values (%(tenant)s, 'ann', %(text)s)
"""


def test_a_text_changed_by_plain_sql_is_found_by_its_meaning_again(
    memory: Any, endpoint: Any, sql: Any
) -> None:
    [id_, _] = say(memory, "I drink tea", "I play the cello with Eve")
    sql("update memlayer.memory set text = 'I drink coffee with Bob' where id = %(id)s", id=id_)
    told: list[tuple[int, int]] = []
    endpoint.requests.clear()
    answer = memory.embed_pending(on_progress=lambda *counts: told.append(counts))
    assert answer == {"embedded": 1, "pending": 0}
    assert told == [(1, 1)]
    assert endpoint.embedded == [["I drink coffee with Bob", "Bob"]]
    [first, *_] = memory.search("coffee", filters=ANN, explain=True)["results"]
    assert first["id"] == id_
    assert first["score_details"]["cosine_similarity"] > 0.4
    assert [event["new_memory"] for event in memory.history(id_)] == [
        "I drink tea",
        "I drink coffee with Bob",
        "I drink coffee with Bob",
    ]
    names = sql("select name from memlayer.entity where tenant = %(tenant)s order by name")
    assert names == [("Bob",), ("Eve",)]
    usage = "select sum(embedding_tokens) from memlayer.change where tenant = %(tenant)s"
    assert sql(f"{usage} and operation = 'update'") == [(2,)]
    assert memory.embed_pending() == {"embedded": 0, "pending": 0}


def test_memories_inserted_by_plain_sql_are_embedded_in_few_requests(
    memory: Any, endpoint: Any, sql: Any
) -> None:
    for n in range(pending.BATCH + 2):
        sql(INSERTED, text=f"fact {n}")
    assert memory.embed_pending(limit=1) == {"embedded": 1, "pending": pending.BATCH + 1}
    endpoint.requests.clear()
    told: list[tuple[int, int]] = []
    answer = memory.embed_pending(on_progress=lambda *counts: told.append(counts))
    assert answer == {"embedded": pending.BATCH + 1, "pending": 0}
    assert told == [(n, pending.BATCH + 1) for n in range(1, pending.BATCH + 2)]
    assert [len(texts) for texts in endpoint.embedded] == [pending.BATCH, 1]
    assert len(memory.search("fact 7", filters=ANN, top_k=100)["results"]) == pending.BATCH + 2
    # A store that was filled by SQL knows what unrelated texts have in common, too.
    assert sql("select sample from memlayer.model where tenant = %(tenant)s")[0][0] >= 8


def test_the_vector_is_of_the_context_and_the_text(make: Any, endpoint: Any, sql: Any) -> None:
    memory = make(context="full")
    [id_] = say(memory, "Yes, daily")
    sql(
        "update memlayer.memory set context = 'Do you play the cello?', embedding = null"
        " where id = %(id)s",
        id=id_,
    )
    endpoint.requests.clear()
    memory.embed_pending()
    assert endpoint.embedded == [["Do you play the cello?\nYes, daily"]]
    assert found(memory.search("cello", filters=ANN)) == ["Yes, daily"]


def test_a_memory_that_changes_meanwhile_is_embedded_in_the_next_round(
    memory: Any, endpoint: Any, sql: Any
) -> None:
    sql(INSERTED, text="tea")

    def meanwhile(request: Any) -> None:
        endpoint.embeddings = None
        sql("update memlayer.memory set text = 'green tea' where tenant = %(tenant)s")

    endpoint.embeddings = meanwhile
    assert memory.embed_pending() == {"embedded": 1, "pending": 0}
    assert endpoint.embedded == [["tea"], ["green tea"]]


def test_a_memory_that_goes_on_changing_is_left(memory: Any, endpoint: Any, sql: Any) -> None:
    sql(INSERTED, text="tea")
    sql(INSERTED, text="coffee")

    def meanwhile(request: Any) -> None:
        sql(
            "update memlayer.memory set metadata = jsonb_build_object('n', version)"
            " where tenant = %(tenant)s and text = 'tea'"
        )

    endpoint.embeddings = meanwhile
    assert memory.embed_pending() == {"embedded": 1, "pending": 1}
    assert len(endpoint.embedded) == pending.ROUNDS
    endpoint.embeddings = None
    assert memory.embed_pending() == {"embedded": 1, "pending": 0}


def test_a_memory_that_is_deleted_meanwhile_is_none(memory: Any, endpoint: Any, sql: Any) -> None:
    sql(INSERTED, text="tea")

    def gone(request: Any) -> None:
        sql("delete from memlayer.memory where tenant = %(tenant)s")

    endpoint.embeddings = gone
    assert memory.embed_pending() == {"embedded": 0, "pending": 0}
    assert len(endpoint.embedded) == 1


def test_what_was_embedded_before_a_failure_stays(memory: Any, endpoint: Any, sql: Any) -> None:
    for n in range(pending.BATCH + 1):
        sql(INSERTED, text=f"fact {n}")
    endpoint.embeddings = lambda request: (
        None if len(request["input"]) == pending.BATCH else refusal(401, "not you")
    )
    with pytest.raises(EmbeddingError, match="not you"):
        memory.embed_pending()
    endpoint.embeddings = None
    assert memory.embed_pending() == {"embedded": 1, "pending": 0}


def test_another_model_than_that_of_the_store_is_refused(
    make: Any, memory: Any, endpoint: Any, sql: Any
) -> None:
    say(memory, "tea")
    sql(INSERTED, text="coffee")
    other = make(embedder=model(endpoint, dimensions=32))
    with pytest.raises(EmbeddingMismatch):
        other.embed_pending()
    assert memory.embed_pending() == {"embedded": 1, "pending": 0}


@pytest.mark.parametrize("limit", [0, -1, "1", True])
def test_a_limit_is_a_number_from_1_up(memory: Any, limit: Any) -> None:
    with pytest.raises(InputError, match="limit"):
        memory.embed_pending(limit=limit)
