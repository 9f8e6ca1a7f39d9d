"""Another embedding model for memories that are in use."""

from __future__ import annotations

from typing import Any

import pytest

from memlayer_pg import reembedding
from memlayer_pg.errors import EmbeddingError, EmbeddingMismatch
from tests.api.harness import model
from tests.api.test_reading import ANN, found, say
from tests.endpoint import refusal

pytestmark = pytest.mark.usefixtures("consistent")

MODELS = "select name, state from memlayer.model where tenant = %(tenant)s order by id"
SET_ASIDE = "select count(*) from memlayer.other_vector where tenant = %(tenant)s"
OLD, NEW = "scripted", "scripted@32"
INSERTED = """
insert into memlayer.memory (tenant, user_id, text) values (%(tenant)s, 'ann', %(text)s)
"""


@pytest.fixture
def newer(make: Any, endpoint: Any) -> Any:
    """A memory of the same tenant with another embedder."""
    return make(embedder=model(endpoint, dimensions=32))


def fill(memory: Any, sql: Any, size: int) -> None:
    for n in range(size):
        sql(INSERTED, text=f"fact {n}")
    memory.embed_pending()


def cosine(memory: Any, query: str) -> float:
    [first, *_] = memory.search(query, filters=ANN, explain=True)["results"]
    return float(first["score_details"]["cosine_similarity"])


def test_memories_and_entities_get_vectors_of_the_new_model(
    memory: Any, newer: Any, endpoint: Any, sql: Any
) -> None:
    say(memory, "I drink tea", "I play the cello with Eve", *(f"fact {n}" for n in range(10)))
    told: list[tuple[int, int]] = []
    endpoint.requests.clear()
    plan = newer.reembed(dry_run=True)
    assert endpoint.embedded == []
    assert (plan["model"], plan["dimensions"], plan["next_model"]) == (OLD, 64, None)
    assert (plan["memories"], plan["entities"], plan["remaining"]) == (12, 1, 13)
    assert plan["requests"] == 1
    assert plan["tokens"] == round(0.4 * plan["characters"])
    result = newer.reembed(on_progress=lambda *counts: told.append(counts))
    assert result["cut_over"]
    assert (result["embedded"], result["memories"], result["entities"]) == (13, 12, 1)
    assert result["embedding_tokens"] > 0
    assert told[-1] == (13, 13)
    assert sorted(text for texts in endpoint.embedded for text in texts) == sorted(
        ["I drink tea", "I play the cello with Eve", "Eve", *(f"fact {n}" for n in range(10))]
    )
    assert sql(MODELS) == [(OLD, "retired"), (NEW, "active")]
    assert cosine(newer, "tea") > 0.3
    assert found(newer.search("cello", filters=ANN))[0] == "I play the cello with Eve"
    [[size, of]] = sql(
        "select vector_dims(e.embedding), d.name from memlayer.entity e join memlayer.model d"
        " on d.tenant = e.tenant and d.id = e.embedding_model where e.tenant = %(tenant)s"
    )
    assert (size, of) == (32, NEW)
    # what unrelated texts have in common was estimated for it
    [[sample]] = sql(
        "select sample from memlayer.model where tenant = %(tenant)s and state = 'active'"
    )
    assert sample == 12
    say(newer, "I swim")
    assert found(newer.search("swim", filters=ANN))[0] == "I swim"


def test_a_client_of_the_other_model_is_told_both_and_what_to_do(
    memory: Any, newer: Any, endpoint: Any, sql: Any
) -> None:
    [id_, _] = say(memory, "tea", "coffee")
    endpoint.embeddings = lambda request: None if len(endpoint.embedded) < 2 else refusal(400, "no")
    endpoint.requests.clear()
    say(memory, "milk")
    with pytest.raises(EmbeddingError):
        newer.reembed()
    endpoint.embeddings = None
    newer_id = sql("select id from memlayer.model where tenant = %(tenant)s")
    assert len(newer_id) == 1  # it failed before the first vector
    fill(memory, sql, reembedding.BATCH)
    endpoint.requests.clear()
    endpoint.embeddings = lambda request: None if len(endpoint.embedded) < 2 else refusal(400, "no")
    with pytest.raises(EmbeddingError):
        newer.reembed()
    endpoint.embeddings = None
    for call in (
        lambda: newer.search("tea", filters=ANN),
        lambda: newer.add("milk", user_id="ann", infer=False),
        lambda: newer.update(id_, text="green tea"),
        lambda: newer.embed_pending() if sql(INSERTED, text="x") == [] else None,
    ):
        with pytest.raises(EmbeddingMismatch) as refused:
            call()
        assert "scripted (64 dimensions)" in refused.value.message
        assert "scripted@32 (32 dimensions)" in refused.value.message
        assert "until memlayer reembed is done, configure scripted" in str(refused.value.hint)
    assert newer.reembed()["cut_over"]
    with pytest.raises(EmbeddingMismatch) as refused:
        memory.search("tea", filters=ANN)
    assert "scripted@32 (32 dimensions)" in refused.value.message
    assert "configure scripted@32" in str(refused.value.hint)
    with pytest.raises(EmbeddingMismatch):
        memory.add("milk", user_id="ann", infer=False)
