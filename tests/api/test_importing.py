"""Ready memories are stored by `import_memories`, sync and async alike."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from memlayer_pg import importing
from memlayer_pg.errors import EmbeddingError, EmbeddingMismatch, InputError
from tests.api.harness import model
from tests.api.test_reading import ANN, found

TEA = {"memory": "Ann drinks tea", "user_id": "ann"}


def test_memories_are_stored_as_get_all_gives_them(memory: Any, make: Any, sql: Any) -> None:
    memory.add("I drink tea with Bob", user_id="ann", infer=False, metadata={"k": 1})
    given = memory.get_all(filters=ANN)["results"]
    other = make(tenant=f"{memory.memory.config.tenant}-other")
    assert other.import_memories(given)["added"] == 1
    assert other.import_memories(given)["known"] == 1
    assert other.get_all(filters=ANN)["results"] == given
    assert [event["event"] for event in other.history(given[0]["id"])] == ["ADD"]


def test_what_is_missing_is_embedded_in_one_request_a_batch(
    memory: Any, endpoint: Any, sql: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "BATCH", 3)
    told: list[tuple[int, int | None]] = []
    rows = [{"memory": f"Ann met Eve {n} times", "user_id": "ann"} for n in range(5)]
    answer = memory.import_memories(rows, embed=True, on_progress=lambda *n: told.append(n))
    assert (answer["added"], answer["pending"]) == (5, 0)
    assert told == [(3, 5), (5, 5)]
    assert [len(texts) for texts in endpoint.embedded] == [5, 4]
    assert found(memory.search("Eve 4 times", filters=ANN, top_k=1)) == ["Ann met Eve 4 times"]
    spent = "select added, embedding_tokens > 0 from memlayer.change where tenant = %(tenant)s"
    assert sql(spent + " order by recorded_at") == [(3, True), (2, True)]
    assert sql("select * from memlayer.verify(%(tenant)s)") == []


def test_a_failing_embedder_keeps_the_batches_before(
    memory: Any, endpoint: Any, counts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "BATCH", 2)
    rows = [{**TEA, "memory": f"fact {n}"} for n in range(3)]

    def fails(request: Any) -> Any:
        if len(endpoint.embedded) > 1:
            return 400, {"error": {"message": "enough"}}
        return None

    endpoint.embeddings = fails
    with pytest.raises(EmbeddingError):
        memory.import_memories(rows, embed=True)
    assert counts()[0] == 2
    endpoint.embeddings = None
    answer = memory.import_memories(rows, embed=True)
    assert (answer["added"], answer["known"]) == (1, 2)


def test_an_import_can_be_part_of_the_callers_transaction(
    make: Any, kind: str, live: str, counts: Any
) -> None:
    if kind == "async":
        pytest.skip("the connection of this test is a blocking one")
    with psycopg.connect(live) as conn:
        make().import_memories([TEA], connection=conn)
        conn.rollback()
        assert counts()[0] == 0
        make().import_memories(iter([TEA]), connection=conn)
    assert counts()[0] == 1


def test_a_wrong_memory_is_named_by_its_place(memory: Any, counts: Any) -> None:
    with pytest.raises(InputError, match=r"^rows\[1\]: there is no text"):
        memory.import_memories([TEA, {"user_id": "ann"}])
    with pytest.raises(InputError, match="model must be a string"):
        memory.import_memories([TEA], model=1)
    assert counts() == (0, 0, 0, 0, 0)


def test_vectors_of_the_file_and_of_another_embedder_do_not_mix(
    make: Any, endpoint: Any, counts: Any
) -> None:
    memory = make(embedder=model(endpoint))
    rows = [{**TEA, "embedding": [1.0, 2.0], "embedding_model": "other"}, {**TEA, "memory": "x"}]
    with pytest.raises(EmbeddingMismatch, match=r"rows\[0\] is embedded with other, the embedder"):
        memory.import_memories(rows, embed=True)
    assert counts()[0] == 0


def test_the_vector_of_an_entity_is_not_lost_with_the_memory_that_brought_it(
    memory: Any, sql: Any
) -> None:
    eve = {"name": "Eve", "type": "person", "embedding": [1, 0, 0]}
    memory.import_memories([{**TEA, "embedding": [1, 2, 3]}], model="scripted")
    rows = [
        {**TEA, "embedding": [1, 2, 3], "entities": [eve], "created_at": "2024-01-01"},
        {**TEA, "memory": "x", "embedding": [1, 2, 3], "entities": [{"name": "Eve"}]},
    ]
    for batch in rows:  # the vector is known where it came before, in the same call
        answer = memory.import_memories([batch], model="scripted")
    assert (answer["added"], answer["duplicates"]) == (1, 0)
    answer = memory.import_memories(
        [{**row, "user_id": "bob"} for row in (rows[1], {**rows[1], "entities": [eve]}, rows[0])],
        model="scripted",
    )
    assert (answer["added"], answer["duplicates"]) == (2, 1)
    vectors = "select user_id, type, embedding is not null from memlayer.entity"
    assert sql(f"{vectors} where tenant = %(tenant)s order by 1") == [
        ("ann", None, False),
        ("bob", None, True),
    ]
