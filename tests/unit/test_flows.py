"""The flows, answered by plain functions: no database, no network, no event loop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from typing import Any

import pytest

from memlayer_pg import flows, updating, writing
from memlayer_pg.checks import UNSET
from memlayer_pg.effects import Call, Embed, Embedded, Generate, Generated, Rerank, run, run_async
from memlayer_pg.errors import (
    ConfigError,
    EmbeddingError,
    LLMError,
    MemoryNotFound,
    ModelError,
    ValidationError,
    VersionConflict,
)
from memlayer_pg.flows import Store

ID = "00000000-0000-0000-0000-000000000001"
ROW = {
    "id": ID,
    "text": "tea",
    "hash": "h",
    "metadata": {},
    "created_at": datetime(2026, 1, 2, tzinfo=UTC),
    "updated_at": datetime(2026, 1, 2, tzinfo=UTC),
    "user_id": "ann",
    "agent_id": None,
    "run_id": None,
    "actor_id": None,
    "role": None,
    "attributed_to": None,
    "memory_type": None,
    "expires_on": None,
    "observed_at": datetime(2026, 1, 2, tzinfo=UTC),
    "version": 3,
    "pending": False,
    "context": None,
    "score": 0.5,
    "score_details": {},
}


class World:
    """Answers effects and keeps them: each text is embedded as its length."""

    def __init__(self, facts: Sequence[dict[str, Any]] = (), **calls: Any) -> None:
        self.seen: list[Any] = []
        self.reply = json.dumps({"facts": list(facts)})
        self.calls: dict[str, Any] = {
            "recall_context": [{"messages": None, "memories": None, "replay": None}],
            "add": [],
            "messages": [],
            **calls,
        }

    def __call__(self, effect: Any) -> Any:
        self.seen.append(effect)
        match effect:
            case Embed():
                return Embedded([[float(len(text))] for text in effect.texts], "e", tokens=2)
            case Generate():
                return Generated(self.reply, "m", prompt_tokens=11, completion_tokens=7)
            case Rerank():
                return [{**item, "rerank_score": 1.0} for item in reversed(effect.documents)]
        answer = self.calls[effect.function]
        if callable(answer):
            answer = answer(effect)
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def kinds(self) -> list[str]:
        """What was asked for, in order."""
        return [e.function if isinstance(e, Call) else type(e).__name__ for e in self.seen]

    def args(self, function: str) -> dict[str, Any]:
        """The arguments of the one call of a function."""
        [found] = [e for e in self.seen if isinstance(e, Call) and e.function == function]
        return dict(found.args)


def added(effect: Any) -> Any:
    return [
        {"fact": n, "id": f"id-{n}", "text": fact["text"], "event": "ADD", "reason": None}
        for n, fact in enumerate(effect.args["p_facts"], 1)
    ]


def add(world: Any, messages: Any, store: Any = None, **given: Any) -> Any:
    return run(writing.add(store or Store(), messages, **({"user_id": "ann"} | given)), world)


def search(world: Any, store: Any = None, **given: Any) -> Any:
    defaults: dict[str, Any] = {
        "top_k": 20,
        "filters": {"user_id": "ann"},
        "threshold": 0.1,
        "rerank_": False,
        "explain": False,
        "reference_date": None,
        "show_expired": False,
        "fusion": None,
        "include_superseded": True,
        "demote_superseded": True,
        "recency_half_life": None,
        "fallback": None,
        "as_of": None,
        "extra": {},
    }
    return run(flows.search(store or Store(), "does Ann like tea?", **(defaults | given)), world)


def update(
    world: Any,
    text: Any = None,
    metadata: Any = None,
    expiration_date: Any = UNSET,
    data: Any = None,
    store: Any = None,
) -> Any:
    return run(
        updating.update(
            store or Store(),
            ID,
            text=text,
            metadata=metadata,
            expiration_date=expiration_date,
            data=data,
        ),
        world,
    )


def test_an_add_looks_up_extracts_embeds_once_and_writes_once() -> None:
    facts = [
        {
            "text": "Ann likes tea",
            "entities": [{"name": "Ann", "type": "person"}, {"name": "Tea", "type": "thing"}],
        },
        {"text": "ann is from Oslo", "entities": [{"name": "ann", "type": "person"}]},
    ]
    world = World(facts, add=added)
    assert add(world, "I like tea") == {
        "results": [
            {"id": "id-1", "memory": "Ann likes tea", "event": "ADD"},
            {"id": "id-2", "memory": "ann is from Oslo", "event": "ADD"},
        ]
    }
    assert world.kinds == ["Embed", "recall_context", "Generate", "Embed", "add"]
    assert world.seen[0] == Embed(("user: I like tea",), "query")
    assert world.seen[3] == Embed(("Ann likes tea", "ann is from Oslo", "Ann", "Tea"), "document")
    args = world.args("add")
    assert [fact["entities"] for fact in args["p_facts"]] == [[1, 2], [1]]
    assert args["p_embeddings"] == [[13.0], [16.0]]
    assert args["p_entity_embeddings"] == [[3.0], [3.0]]
    assert args["p_messages"] == [{"role": "user", "content": "I like tea"}]
    assert (args["p_model"], args["p_llm"]) == ("e", "m")
    assert args["p_usage"] == {"prompt_tokens": 11, "completion_tokens": 7, "embedding_tokens": 4}


def test_an_answer_without_facts_is_written_for_its_messages_without_embedding() -> None:
    world = World([])
    assert add(world, "hello") == {"results": []}
    assert world.kinds == ["Embed", "recall_context", "Generate", "add"]
    assert "p_facts" not in world.args("add")
    assert world.args("add")["p_messages"]


def test_the_numbers_of_memories_become_their_ids_and_unknown_ones_are_dropped(caplog: Any) -> None:
    memories = [{"id": f"m{n}", "text": f"fact {n}", "source": "similar"} for n in range(2)]
    links = [
        {"id": 1, "kind": "updates"},
        {"id": 7, "kind": "related"},
        {"id": -1, "kind": "related"},
    ]
    world = World(
        [{"text": "x", "links": links}],
        recall_context=[{"messages": None, "memories": memories, "replay": None}],
        add=added,
    )
    add(world, "y")
    assert world.args("add")["p_facts"][0]["links"] == [{"id": "m1", "kind": "updates"}]
    assert "was not shown" in caplog.text
    prompt = world.seen[2].messages[1]["content"]
    assert "[0] fact 0" in prompt
    assert "m0" not in prompt


@pytest.mark.parametrize(
    ("given", "who"),
    [
        ({}, {}),
        ({"infer": False}, {"actor_id": None, "role": "user"}),
        ({"agent_id": "bot", "memory_type": "procedural_memory"}, {}),
    ],
)
def test_what_was_done_already_under_this_key_is_returned_without_asking_a_model(
    given: dict[str, Any], who: dict[str, Any]
) -> None:
    row = {"fact": 1, "id": "x", "text": "t", "event": "ADD", "reason": None}
    replay = [row | {"is_verbatim": bool(who)}]
    world = World(recall_context=[{"messages": None, "memories": None, "replay": replay}])
    result = add(world, "t", idempotency_key="k", **given)
    assert result == {"results": [{"id": "x", "memory": "t", "event": "ADD"} | who]}
    assert world.kinds == ["recall_context"]
    assert world.args("recall_context")["p_idempotency_key"] == "k"


def test_a_request_is_known_by_all_that_it_holds() -> None:
    def hashed(messages: Any = "t", **given: Any) -> Any:
        world = World()
        add(world, messages, idempotency_key="k", infer=False, **given)
        return world.args("add")["p_request_hash"]

    assert hashed() == hashed()
    others = [
        hashed("u"),
        hashed(user_id="bob"),
        hashed(run_id="r"),
        hashed(metadata={"a": 1}),
        hashed(timestamp="2026-01-01"),
        hashed(expiration_date="2026-01-01"),
        hashed(prompt="p"),
    ]
    assert len({hashed(), *others}) == 8


def test_the_day_of_observation_is_that_of_the_timestamp() -> None:
    for timestamp in (
        1637020800,
        "2021-11-16T05:00:00",
        datetime(2021, 11, 16),
        date(2021, 11, 16),
    ):
        world = World()
        add(world, "the roof was mended yesterday", timestamp=timestamp)
        assert "# Observation date\nTuesday 2021-11-16" in world.seen[2].messages[1]["content"]
        assert world.args("add")["p_observed_at"].date() == date(2021, 11, 16)


def test_the_prompt_argument_goes_in_place_of_the_configured_instructions() -> None:
    store = Store(instructions="Only food.")
    world = World()
    add(world, "x", store)
    assert "Only food." in world.seen[2].messages[0]["content"]
    world = World()
    add(world, "x", store, prompt="Only {hobbies} 100%.")
    assert "Only {hobbies} 100%." in world.seen[2].messages[0]["content"]
    assert "Only food." not in world.seen[2].messages[0]["content"]


def test_the_agents_view_is_taken_only_without_a_user() -> None:
    def view(**ids: Any) -> Any:
        world = World()
        add(world, "x", **ids)
        return "# Point of view" in world.seen[2].messages[0]["content"]

    assert view(user_id=None, agent_id="bot")
    assert not view(agent_id="bot")
    assert not view(user_id=None, run_id="r")


def test_messages_word_for_word_need_one_request_and_two_statements() -> None:
    world = World(add=added)
    messages = [
        {"role": "system", "content": "be nice"},
        {"role": "user", "content": "I live in Oslo", "name": "Ann"},
        {"role": "assistant", "content": "noted"},
    ]
    assert add(world, messages, infer=False) == {
        "results": [
            {
                "id": "id-1",
                "memory": "I live in Oslo",
                "event": "ADD",
                "actor_id": "Ann",
                "role": "user",
            },
            {
                "id": "id-2",
                "memory": "noted",
                "event": "ADD",
                "actor_id": None,
                "role": "assistant",
            },
        ]
    }
    assert world.kinds == ["messages", "Embed", "add"]
    assert world.seen[1].purpose == "document"
    assert [m["role"] for m in world.args("add")["p_messages"]] == ["system", "user", "assistant"]
    assert world.args("add")["p_entities"] == [{"name": "Oslo", "type": "thing"}]


def test_without_a_language_model_messages_are_stored_word_for_word() -> None:
    world = World(add=added)
    result = add(world, "I like tea", Store(extracts=False))
    assert result["results"][0]["role"] == "user"
    assert world.kinds == ["messages", "Embed", "add"]


def test_facts_that_were_known_stand_apart_with_the_reason() -> None:
    rows = [
        {"fact": 1, "id": "a", "text": "x", "event": "SKIP", "reason": "duplicate"},
        {"fact": 2, "id": "b", "text": "y", "event": "ADD", "reason": None},
    ]
    world = World([{"text": "x"}, {"text": "y"}], add=rows)
    assert add(world, "z") == {
        "results": [{"id": "b", "memory": "y", "event": "ADD"}],
        "skipped": [{"id": "a", "memory": "x", "reason": "duplicate"}],
    }


@pytest.mark.parametrize(
    "messages", ["", "  \n", [], [{"role": "user", "content": ""}], {"role": "user"}]
)
def test_blank_talk_asks_nobody_and_writes_nothing(messages: Any) -> None:
    world = World()
    assert add(world, messages) == {"results": []}
    assert world.seen == []


def test_messages_that_are_none_or_of_another_type_are_an_error() -> None:
    for messages in (None, 5, ("a",), ["a"], [None]):
        with pytest.raises(ValidationError) as caught:
            add(World(), messages)
        assert caught.value.error_code == "VALIDATION_003"


def test_only_procedural_is_a_memory_type() -> None:
    with pytest.raises(ValidationError) as caught:
        add(World(), "x", memory_type="semantic_memory")
    assert caught.value.error_code == "VALIDATION_002"


def test_a_procedural_memory_is_one_record_of_what_an_agent_did() -> None:
    world = World(add=added)
    world.reply = "<think>hm</think>1. opened the page"
    result = add(world, "opened the page", agent_id="bot", memory_type="procedural_memory")
    assert result == {"results": [{"id": "id-1", "memory": "1. opened the page", "event": "ADD"}]}
    assert world.kinds == ["Generate", "Embed", "add"]
    assert world.args("add")["p_facts"] == [
        {"text": "1. opened the page", "memory_type": "procedural_memory"}
    ]
    assert "p_messages" not in world.args("add")


def test_a_procedural_memory_needs_an_agent_and_a_language_model() -> None:
    world = World()
    add(world, "x", memory_type="procedural_memory")
    assert "recall_context" in world.kinds
    with pytest.raises(ConfigError, match="llm"):
        add(World(), "x", Store(extracts=False), agent_id="bot", memory_type="procedural_memory")


def test_the_expiration_may_stand_among_the_metadata_as_in_mem0() -> None:
    world = World()
    add(world, "x", infer=False, metadata={"expiration_date": "2026-05-01", "k": 1})
    assert world.args("add")["p_expires_on"] == date(2026, 5, 1)
    assert world.args("add")["p_metadata"] == {"k": 1}
    with pytest.raises(ValueError, match="expiration_date"):
        add(World(), "x", metadata={"expiration_date": "garbage"})


def test_too_few_vectors_write_nothing() -> None:
    world = World(add=added)

    def short(effect: Any) -> Any:
        answer = world(effect)
        if isinstance(effect, Embed):
            return Embedded(answer.vectors[:-1], "e")
        return answer

    with pytest.raises(EmbeddingError, match="0 vectors for 1 texts"):
        add(short, "x", infer=False)
    assert "add" not in world.kinds


def test_an_unreadable_answer_is_an_error_and_writes_nothing() -> None:
    world = World()
    world.reply = "I would rather not."
    with pytest.raises(LLMError):
        add(world, "x")
    assert "add" not in world.kinds


def test_a_search_is_one_request_and_one_statement() -> None:
    world = World(search=[ROW])
    found = search(world, filters={"user_id": " ann ", "kind": "a"}, top_k=5)
    assert list(found["results"][0]) == [
        "id",
        "memory",
        "hash",
        "metadata",
        "score",
        "created_at",
        "updated_at",
        "user_id",
        "version",
    ]
    assert world.kinds == ["Embed", "search"]
    assert world.seen[0] == Embed(("does Ann like tea?", "Ann"), "query")
    args = world.args("search")
    assert (args["p_user_id"], args["p_filters"], args["p_top_k"]) == ("ann", {"kind": "a"}, 5)
    assert (args["p_entities"], args["p_entity_embeddings"]) == (["Ann"], [[3.0]])


def test_asking_for_no_results_asks_nobody() -> None:
    world = World()
    assert search(world, top_k=0) == {"results": []}
    assert world.seen == []


def test_the_callers_filters_are_not_changed() -> None:
    given = {"user_id": "ann", "AND": [{"a": 1}]}
    search(World(search=[]), filters=given)
    assert given == {"user_id": "ann", "AND": [{"a": 1}]}


def test_a_reranker_is_asked_only_when_it_is_wanted_and_there() -> None:
    rows = [ROW, ROW | {"id": "00000000-0000-0000-0000-000000000002"}]
    world = World(search=rows)
    found = search(world, Store(reranks=True), rerank_=True)
    assert [item["rerank_score"] for item in found["results"]] == [1.0, 1.0]
    assert [item["id"][-1] for item in found["results"]] == ["2", "1"]
    for store, wanted in ((Store(reranks=True), False), (Store(), True)):
        world = World(search=rows)
        search(world, store, rerank_=wanted)
        assert world.kinds == ["Embed", "search"]


def test_a_reranker_that_fails_leaves_the_order_and_a_warning(caplog: Any) -> None:
    world = World(search=[ROW])

    def failing(effect: Any) -> Any:
        if isinstance(effect, Rerank):
            raise ModelError("down")
        return world(effect)

    found = search(failing, Store(reranks=True), rerank_=True)
    assert (len(found["results"]), found["rerank_error"]) == (1, "down")
    assert "reranker failed" in caplog.text


def test_words_alone_are_searched_while_the_embedder_fails_when_that_is_wanted() -> None:
    world = World(search=[ROW])

    def failing(effect: Any) -> Any:
        if isinstance(effect, Embed):
            raise EmbeddingError("down")
        return world(effect)

    with pytest.raises(EmbeddingError):
        search(failing)
    assert len(search(failing, fallback="keyword")["results"]) == 1
    assert world.args("search")["p_embedding"] is None


def test_explaining_gives_mem0s_parts_in_its_order() -> None:
    parts = {
        "raw_score": 1.5,
        "threshold": 0.1,
        "bm25_score": 0,
        "final_score": 0.6,
        "entity_boost": 0.5,
        "semantic_score": None,
        "max_possible_score": 2.5,
    }
    [item] = search(World(search=[ROW | {"score_details": parts}]), explain=True)["results"]
    assert list(item["score_details"]) == [
        "semantic_score",
        "bm25_score",
        "entity_boost",
        "raw_score",
        "max_possible_score",
        "final_score",
        "threshold",
    ]
    assert item["score_details"] == parts
    assert list(item)[-1] == "score_details"


def test_an_update_reads_embeds_and_writes_the_version_it_read() -> None:
    world = World(get=[ROW], update=[ROW])
    assert update(world, "Ann likes coffee") == {"message": "Memory updated successfully!"}
    assert world.kinds == ["get", "Embed", "update"]
    assert world.args("update")["p_expected_version"] == 3
    assert world.args("update")["p_entities"] == [{"name": "Ann", "type": "thing"}]


def test_an_update_to_the_same_text_embeds_nothing() -> None:
    world = World(get=[ROW], update=[ROW])
    update(world, "tea", metadata={"k": 2})
    assert world.kinds == ["get", "update"]
    assert world.args("update")["p_metadata"] == {"k": 2}


def test_an_update_of_the_rest_is_one_statement() -> None:
    world = World(update=[ROW])
    update(world, metadata={"k": 2}, expiration_date=None)
    assert world.kinds == ["update"]
    assert world.args("update")["p_clear_expiration"] is True


def test_an_update_that_was_overtaken_looks_again_and_embeds_no_second_time() -> None:
    answers: list[Any] = [VersionConflict("faster"), VersionConflict("faster"), [ROW]]
    world = World(get=[ROW], update=lambda _: answers.pop(0))
    update(world, "coffee")
    assert world.kinds == ["get", "Embed", "update", "get", "update", "get", "update"]


def test_an_update_gives_up_where_others_are_faster_a_hundred_times() -> None:
    world = World(get=[ROW], update=VersionConflict("faster"))
    with pytest.raises(VersionConflict):
        update(world, "coffee")
    assert world.kinds.count("update") == 100
    assert world.kinds.count("Embed") == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "At least one of text, metadata, or expiration_date must be provided."),
        ({"text": "  "}, "text must not be empty"),
        ({"text": {"text": "x"}}, "text must be a string"),
        ({"text": 5}, "text must be a string"),
        ({"metadata": "x"}, "metadata must be a dictionary"),
        ({"expiration_date": "soon"}, "expiration_date must be a valid date"),
    ],
)
def test_an_update_with_a_wrong_argument_does_nothing(given: Any, message: Any) -> None:
    world = World()
    with pytest.raises(ValueError, match=message):
        update(world, **given)
    assert world.seen == []


def test_the_old_name_of_text_still_works(caplog: Any) -> None:
    world = World(get=[ROW], update=[ROW])
    update(world, data="coffee")
    assert world.args("update")["p_text"] == "coffee"
    assert "deprecated" in caplog.text


def test_updating_or_deleting_what_is_not_there_is_mem0s_value_error() -> None:
    with pytest.raises(MemoryNotFound, match=f"{ID} not found. Please provide a valid 'memory_id'"):
        update(World(get=[]), "coffee")
    with pytest.raises(MemoryNotFound, match="Please provide a valid"):
        update(World(update=MemoryNotFound("gone")), metadata={"k": 1})
    for wanted in (ID, "not-a-uuid"):
        world = World(delete=MemoryNotFound("gone"))
        with pytest.raises(ValueError, match=f"^Memory with id {wanted} not found$"):
            run(flows.delete(Store(), wanted), world)


def test_ids_that_can_be_no_ids_never_reach_the_database() -> None:
    world = World()
    assert run(flows.get(Store(), "ticket-77"), world) is None
    assert run(flows.history(Store(), "zzz"), world) == []
    assert world.seen == []


def test_an_id_beside_the_filter_must_be_the_one_in_it() -> None:
    world = World(delete_all=[])
    run(flows.delete_all(Store(), "ann", None, None, {"user_id": "ann", "k": 1}), world)
    assert world.args("delete_all")["p_filters"] == {"k": 1}
    with pytest.raises(ValueError, match="user_id is given twice"):
        run(flows.delete_all(Store(), "ann", None, None, {"user_id": "bob"}), world)


@pytest.mark.parametrize("drive", [run, lambda f, p: asyncio.run(run_async(f, awaitable(p)))])
def test_both_drivers_send_answers_and_throw_errors_into_the_flow(drive: Any) -> None:
    def flow() -> Any:
        first = yield Embed(("a",), "query")
        try:
            yield Call("f")
        except VersionConflict as error:
            return first, error.message
        return None

    def perform(effect: Any) -> Any:
        if isinstance(effect, Call):
            raise VersionConflict("faster")
        return 1

    assert drive(flow(), perform) == (1, "faster")


def awaitable(perform: Callable[[Any], Any]) -> Any:
    async def awaited(effect: Any) -> Any:
        return perform(effect)

    return awaited
