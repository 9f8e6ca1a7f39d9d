"""Another embedding model for memories that are in use."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from memlayer_pg import Config, Memory, reembedding
from memlayer_pg.errors import DatabaseError, EmbeddingError, EmbeddingMismatch, InputError
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


def interrupt(newer: Any, endpoint: Any, *, after: int) -> None:
    """Let the embedder fail after so many requests."""
    endpoint.requests.clear()
    endpoint.embeddings = lambda request: (
        None if len(endpoint.embedded) <= after else refusal(400, "no")
    )
    with pytest.raises(EmbeddingError):
        newer.reembed()
    endpoint.embeddings = None


def texts(endpoint: Any) -> list[str]:
    """What was embedded since the requests were cleared."""
    return [text for request in endpoint.embedded for text in request]


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
    fill(memory, sql, reembedding.BATCH)
    interrupt(newer, endpoint, after=1)
    calls: tuple[tuple[str, tuple[str, ...], dict[str, Any]], ...] = (
        ("search", ("tea",), {"filters": ANN}),
        ("add", ("milk",), {"user_id": "ann", "infer": False}),
        ("update", (id_, "green tea"), {}),
    )
    for name, args, given in calls:
        with pytest.raises(EmbeddingMismatch) as refused:
            getattr(newer, name)(*args, **given)
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


def test_a_reembedding_that_failed_goes_on_where_it_was(
    memory: Any, newer: Any, endpoint: Any, sql: Any
) -> None:
    fill(memory, sql, 2 * reembedding.BATCH + 5)
    interrupt(newer, endpoint, after=2)
    assert sql(MODELS) == [(OLD, "active"), (NEW, "next")]
    assert sql(SET_ASIDE) == [(2 * reembedding.BATCH,)]
    assert cosine(memory, "fact 3") > 0.9  # with the old vectors
    plan = newer.reembed(dry_run=True)
    assert (plan["next_model"], plan["remaining"], plan["requests"]) == (NEW, 5, 1)
    endpoint.requests.clear()
    assert newer.reembed()["embedded"] == 5
    assert len(texts(endpoint)) == 5
    assert cosine(newer, "fact 3") > 0.9


def test_what_is_written_meanwhile_has_the_old_vector_and_gets_the_new_one(
    memory: Any, newer: Any, endpoint: Any, sql: Any
) -> None:
    [changed, deleted, restored, described] = say(memory, "tea", "milk", "rum", "ale")
    fill(memory, sql, 2 * reembedding.BATCH)
    memory.update(restored, text="gin")
    interrupt(newer, endpoint, after=2)
    memory.update(changed, text="green tea")
    memory.update(described, metadata={"bitter": True})
    memory.delete(deleted)
    assert memory.restore(restored, version=1)["pending"] is False
    say(memory, "I swim")
    memory.import_memories([{"memory": "I ski", "user_id": "ann"}], embed=True)
    for query in ("green tea", "swim", "ski", "rum"):
        assert cosine(memory, query) > 0.4
    before = texts(endpoint)
    endpoint.requests.clear()
    assert newer.reembed()["cut_over"]
    paid = texts(endpoint)
    assert {"green tea", "I swim", "I ski"} <= set(paid)
    assert (
        not set(paid)
        & {text for text in before if text.startswith("fact")}
        & set(before[: 2 * reembedding.BATCH])
    )
    for query in ("green tea", "swim", "ski", "rum"):
        assert cosine(newer, query) > 0.4
    sizes = "select distinct vector_dims(embedding) from memlayer.memory where tenant = %(tenant)s"
    assert sql(sizes) == [(32,)]
    # a vector of the model before is not put back
    assert newer.restore(restored, version=2)["pending"] is True
    assert newer.embed_pending() == {"embedded": 1, "pending": 0}


def test_the_way_back_needs_no_model_and_the_way_forth_again_pays_for_nothing(
    memory: Any, newer: Any, endpoint: Any, sql: Any
) -> None:
    say(memory, "tea", "coffee", "I play the cello with Eve")
    with pytest.raises(InputError, match="nothing to go back to"):
        newer.reembed_rollback()
    newer.reembed()
    say(newer, "milk")
    endpoint.requests.clear()
    assert newer.reembed_rollback() == {"model": OLD, "memories": 4, "dropped": 0, "pending": 1}
    assert endpoint.embedded == []
    assert sql(MODELS) == [(OLD, "active"), (NEW, "retired")]
    assert cosine(memory, "coffee") > 0.9
    assert memory.embed_pending() == {"embedded": 1, "pending": 0}
    endpoint.requests.clear()
    result = newer.reembed()
    assert (result["cut_over"], result["embedded"]) == (True, 0)
    assert endpoint.embedded == []
    assert cosine(newer, "milk") > 0.9


def test_a_reembedding_is_given_up(memory: Any, newer: Any, endpoint: Any, sql: Any) -> None:
    fill(memory, sql, reembedding.BATCH + 1)
    interrupt(newer, endpoint, after=1)
    back = memory.reembed_rollback()
    assert back == {"model": OLD, "dropped": reembedding.BATCH, "memories": 0, "pending": 0}
    assert sql(SET_ASIDE) == [(0,)]
    assert sql(MODELS) == [(OLD, "active"), (NEW, "retired")]
    say(memory, "tea")


def test_the_vectors_before_are_kept_until_it_is_finished(
    make: Any, memory: Any, newer: Any, endpoint: Any, sql: Any
) -> None:
    say(memory, "tea", "coffee")
    newer.reembed()
    third = make(embedder=model(endpoint, dimensions=3072))
    with pytest.raises(EmbeddingMismatch, match=r"scripted \(64 dimensions.*are still kept"):
        third.reembed()
    assert sql(SET_ASIDE) == [(2,)]
    done = newer.reembed_finish()
    assert (done["model"], done["dimensions"], done["dropped"]) == (OLD, 64, 2)
    assert sql(SET_ASIDE) == [(0,)]
    assert newer.reembed_finish()["model"] is None
    with pytest.raises(InputError):
        newer.reembed_rollback()
    assert third.reembed()["cut_over"]
    assert cosine(third, "coffee") > 0.9


def test_another_model_than_the_one_on_its_way_is_refused(
    make: Any, memory: Any, newer: Any, endpoint: Any, sql: Any
) -> None:
    fill(memory, sql, reembedding.BATCH + 1)
    interrupt(newer, endpoint, after=1)
    third = make(embedder=model(endpoint, dimensions=16))
    endpoint.requests.clear()
    for other in (third, memory):
        with pytest.raises(EmbeddingMismatch, match="being re-embedded with scripted@32"):
            other.reembed()
    assert endpoint.embedded == []
    with pytest.raises(EmbeddingMismatch, match="still being re-embedded"):
        newer.reembed_finish()
    newer.reembed()


def test_the_same_model_or_a_tenant_without_vectors_has_nothing_to_do(
    memory: Any, sql: Any
) -> None:
    assert memory.reembed()["cut_over"] is False
    say(memory, "tea")
    assert memory.reembed()["cut_over"] is False
    assert sql(MODELS) == [(OLD, "active")]


def test_a_tenant_whose_memories_are_gone_changes_its_model(memory: Any, newer: Any) -> None:
    [id_] = say(memory, "tea")
    memory.delete(id_)
    assert newer.reembed()["cut_over"]
    assert newer.restore(id_)["pending"] is True
    newer.embed_pending()


def test_an_erasure_takes_the_vectors_set_aside_too(memory: Any, newer: Any, sql: Any) -> None:
    say(memory, "I play the cello with Eve", "tea")
    newer.reembed()
    assert sql(SET_ASIDE) == [(3,)]
    newer.erase(user_id="ann")
    assert sql(SET_ASIDE) == [(0,)]


@pytest.mark.parametrize("rate", [0, -1, "1", True, float("nan"), float("inf")])
def test_a_rate_is_a_number_above_0(newer: Any, rate: Any) -> None:
    with pytest.raises(InputError, match="rate"):
        newer.reembed(rate=rate)


def test_the_cut_over_waits_for_who_may_not_know_of_it(
    live: str, tenant: str, memory: Any, newer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(memory, "tea")
    with psycopg.connect(live) as late:
        late.execute("set transaction isolation level repeatable read")
        late.execute("select pg_current_xact_id()")  # its snapshot knows nothing of what follows
        with monkeypatch.context() as context:
            context.setattr(reembedding, "PATIENCE", 0.3)
            with pytest.raises(DatabaseError, match="has not ended"):
                newer.reembed()
        late.execute(
            "insert into memlayer.memory (tenant, user_id, text, embedding)"
            " select tenant, 'ann', 'late', embedding from memlayer.memory where tenant = %s",
            [tenant],
        )
    assert newer.reembed()["cut_over"]
    assert cosine(newer, "late") > 0.9


def test_a_stream_of_adds_and_searches_never_meets_two_models(
    live: str, tenant: str, endpoint: Any, sql: Any
) -> None:
    """What is done with the old model goes well until the cut-over, and is refused from then on;
    with the new model it is the other way round. Similarities are exactly those of one model."""
    over = threading.Event()

    def client(**settings: Any) -> Memory:
        return Memory(Config(dsn=live, tenant=tenant, embedder=model(endpoint, **settings)))

    def similar(of: Memory, size: int) -> None:
        query = endpoint.embed("alpha beta", size)
        for hit in of.search("alpha beta", filters=ANN, explain=True)["results"]:
            vector = endpoint.embed(hit["memory"], size)
            expected = max(sum(a * b for a, b in zip(query, vector, strict=True)), 0)
            got = hit["score_details"]["cosine_similarity"]
            assert got == pytest.approx(expected, abs=0.003), hit

    def stream(settings: dict[str, Any], size: int, number: int) -> list[bool]:
        """Whether each try went well, until some time after the cut-over."""
        went: list[bool] = []
        rest = 10
        with client(**settings) as of:
            while rest:
                rest -= over.is_set()
                for adds in (True, False):
                    try:
                        if adds:
                            said = f"alpha number {number} {len(went)}"
                            of.add(said, user_id="ann", infer=False)
                        else:
                            similar(of, size)
                    except EmbeddingMismatch:
                        went.append(False)
                    else:
                        went.append(True)
        return went

    with client() as first, client(dimensions=32) as last, ThreadPoolExecutor(4) as threads:
        for n in range(30):
            first.add(f"beta {n}", user_id="ann", infer=False)
        old = [threads.submit(stream, {}, 64, n) for n in range(2)]
        new = [threads.submit(stream, {"dimensions": 32}, 32, n) for n in (2, 3)]
        try:
            assert last.reembed()["cut_over"]
        finally:
            over.set()
        for future in old:
            went = future.result()
            assert went == sorted(went, reverse=True)
            assert not went[-1]
        for future in new:
            went = future.result()
            assert went == sorted(went)
            assert went[-1]
    [(rows, models, vectors)] = sql(
        "select count(*), count(distinct embedding_model), count(embedding)"
        " from memlayer.memory where tenant = %(tenant)s"
    )
    assert (vectors, models) == (rows, 1)


def test_a_change_of_the_model_leaves_ids_texts_and_times_as_they_were(
    memory: Any, newer: Any, endpoint: Any, sql: Any
) -> None:
    # Case B120.
    [id_, _] = say(memory, "tea", "I play the cello with Eve")
    memory.update(id_, text="green tea")
    rows = (
        "select id, text, metadata, created_at, updated_at, observed_at from memlayer.memory"
        " where tenant = %(tenant)s order by id"
    )
    mentions = "select * from memlayer.mention where tenant = %(tenant)s order by 1, 2, 3"
    before, named, history = sql(rows), sql(mentions), memory.history(id_)
    chats = len(endpoint.chats)
    newer.reembed()
    assert sql(rows) == before
    assert sql(mentions) == named
    assert newer.history(id_)[: len(history)] == history
    assert len(endpoint.chats) == chats
