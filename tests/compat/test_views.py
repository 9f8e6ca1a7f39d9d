"""What programs touch beside the methods: `m.config`, `m.llm`, `m.vector_store`, `m.db`."""

from __future__ import annotations

import asyncio
import uuid
from types import SimpleNamespace
from typing import Any

import pytest

import memlayer_pg
from memlayer_pg import ConfigError, InputError, LLMError
from memlayer_pg.compat import mem0
from tests.endpoint import Endpoint

ANN: dict[str, Any] = {"user_id": "ann"}


class Echo:
    """A language model of mem0's interface."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    def generate_response(self, messages: Any, response_format: Any = None, **given: Any) -> str:
        self.asked.append({"messages": messages, "response_format": response_format, **given})
        return '{"memory": [{"text": "Ann echoes."}]}'


class Words:
    """An embedder of mem0's interface, which names its model in its config."""

    class config:
        model = "words"

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self.actions: list[Any] = []

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        self.actions.append(memory_action)
        return self._endpoint.embed(text)


def test_it_is_a_memory_like_any_other(memory: mem0.Memory) -> None:
    assert isinstance(memory, memlayer_pg.Memory)
    assert issubclass(mem0.AsyncMemory, memlayer_pg.AsyncMemory)


def test_the_configuration_is_seen_as_mem0s_objects(
    memory: mem0.Memory, given: dict[str, Any], live: str
) -> None:
    config = memory.config
    assert (config.llm.provider, config.llm.config["model"]) == ("openai", "scripted")
    assert config.vector_store.config.collection_name == memory.collection_name
    assert config.vector_store.config.connection_string == live
    assert config.vector_store.config.diskann is None
    assert config.model_dump()["vector_store"] == given["vector_store"]
    assert memory.api_version == config.version == "v1.1"


def test_the_same_store_is_opened_from_objects_a_dictionary_and_our_settings(
    memory: mem0.Memory, given: dict[str, Any]
) -> None:
    memory.add("Ann sails.", infer=False, **ANN)
    objects = mem0.MemoryConfig(
        vector_store=mem0.VectorStoreConfig(**given["vector_store"]),
        llm=mem0.LlmConfig(provider="openai", config=given["llm"]["config"]),
        embedder=given["embedder"],
    )
    ours = memlayer_pg.Config.from_mem0(given)
    for config in (objects, given, ours):
        with mem0.Memory(config) as again:
            [item] = again.get_all(filters=ANN)["results"]
            assert item["memory"] == "Ann sails."
            assert again.config.vector_store.config.collection_name == memory.collection_name


def test_without_a_configuration_the_environment_holds(monkeypatch: Any, live: str) -> None:
    monkeypatch.setenv("MEMLAYER_DSN", live)
    monkeypatch.setenv("MEMLAYER_TENANT", "from-outside")
    with mem0.Memory() as memory:
        assert memory.collection_name == "from-outside"
        with pytest.raises(ConfigError, match="no language model is configured"):
            memory.llm.generate_response([{"role": "user", "content": "Hello?"}])


def test_custom_instructions_can_be_changed(memory: mem0.Memory, endpoint: Endpoint) -> None:
    memory.custom_instructions = "Only what Ann eats."
    memory.add("I eat rice.", **ANN)
    assert "Only what Ann eats." in endpoint.prompts[-1]
    assert memory.config.custom_instructions == memory.custom_instructions == "Only what Ann eats."
    memory.custom_instructions = None
    memory.add("I eat bread.", **ANN)
    assert "Only what Ann eats." not in endpoint.prompts[-1]


def test_a_language_model_of_mem0s_kind_can_be_put_in(memory: mem0.Memory) -> None:
    memory.llm = echo = Echo()
    found = memory.add("Hello.", **ANN)
    assert [item["memory"] for item in found["results"]] == ["Ann echoes."]
    assert memory.llm is echo
    assert echo.asked[0]["response_format"] == {"type": "json_object"}


def test_an_embedder_of_mem0s_kind_can_be_put_in(memory: mem0.Memory, endpoint: Endpoint) -> None:
    memory.embedding_model = words = Words(endpoint)
    memory.add("Ann sails.", infer=False, **ANN)
    memory.search("sails", filters=ANN)
    assert set(words.actions) == {"add", "search"}
    assert endpoint.embedded == []
    assert memory.embedding_model is words


def test_what_is_no_model_cannot_be_put_in(memory: mem0.Memory) -> None:
    with pytest.raises(ConfigError, match="embed_documents"):
        memory.embedding_model = object()
    with pytest.raises(ConfigError, match="generate"):
        memory.llm = object()


def test_the_language_model_answers_and_is_asked_for_json(
    memory: mem0.Memory, endpoint: Endpoint
) -> None:
    endpoint.reply("Hello!", '{"a": 1}')
    hello = [{"role": "user", "content": "Hello?"}]
    assert memory.llm.generate_response(hello) == "Hello!"
    assert "response_format" not in endpoint.chats[-1]
    asked = {"type": "json_object"}
    assert memory.llm.generate_response(messages=hello, response_format=asked) == '{"a": 1}'
    assert endpoint.chats[-1]["response_format"]["type"] in ("json_object", "json_schema")
    endpoint.reply((400, {"error": {"message": "no"}}))
    with pytest.raises(LLMError, match="400"):
        memory.llm.generate_response(hello)


def test_texts_are_embedded_as_what_is_kept_and_as_what_is_asked(
    memory: mem0.Memory, endpoint: Endpoint
) -> None:
    assert memory.embedding_model.embed("tea") == pytest.approx(endpoint.embed("tea"), abs=1e-6)
    assert len(memory.embedding_model.embed_batch(["a", "b"], "search")) == 2
    assert endpoint.embedded == [["tea"], ["a"], ["b"]]
    assert memory.embedding_model.config.model == "scripted"
    assert memory.embedding_model.config.embedding_dims == 64


def test_rows_are_inserted_listed_changed_and_deleted(
    memory: mem0.Memory, endpoint: Endpoint
) -> None:
    store = memory.vector_store
    ids = [str(uuid.UUID(int=number)) for number in (1, 2)]
    texts = ["Ann sails.", "Ann skis."]
    store.insert(
        [endpoint.embed(text) for text in texts],
        [{"data": text, "user_id": "ann", "k": 1, "role": "user"} for text in texts],
        ids,
    )
    assert endpoint.embedded == []
    assert memory.search("Ann skis.", filters=ANN)["results"][0]["id"] == ids[1]
    store.update(ids[0], payload={"data": "Ann swims.", "user_id": "ann", "k": 2})
    row = store.get(ids[0])
    assert row is not None
    assert (row.payload["data"], row.payload["k"], row.payload["role"]) == ("Ann swims.", 2, "user")
    store.update(ids[0], payload={"data": "Ann swims.", "expiration_date": "2020-01-01"})
    [rows] = store.list(filters={"user_id": "ann", "k": 2})
    assert [row.payload["expiration_date"] for row in rows] == ["2020-01-01"]
    assert store.col_info() == {"name": memory.collection_name, "count": 2}
    assert store.list_cols() == [memory.collection_name]
    store.delete(ids[0])
    store.delete(ids[0])
    assert store.get(ids[0]) is None
    store.reset()
    assert store.list() == [[]]


def test_a_row_needs_a_text_and_a_scope(memory: mem0.Memory, endpoint: Endpoint) -> None:
    vector = endpoint.embed("x")
    with pytest.raises(InputError, match="payload"):
        memory.vector_store.insert([vector])
    with pytest.raises(InputError, match="user_id"):
        memory.vector_store.insert([vector], [{"data": "x"}])
    with pytest.raises(InputError, match="text"):
        memory.vector_store.insert([vector], [{"user_id": "ann"}])


def test_a_search_of_the_store_scores_by_the_cosine(memory: mem0.Memory) -> None:
    for text in ("Ann sails.", "Ann skis."):
        memory.add(text, infer=False, **ANN)
    rows = memory.vector_store.search("Ann sails.", top_k=2, filters=ANN)
    assert [row.payload["data"] for row in rows] == ["Ann sails.", "Ann skis."]
    assert rows[0].score == pytest.approx(1.0, abs=0.01)
    assert len(memory.vector_store.search("Ann", limit=1, filters=ANN)) == 1
    [hit] = memory.vector_store.keyword_search("skis", filters=ANN)
    assert hit.payload["data"] == "Ann skis."


def test_history_and_messages_are_read_behind_the_methods(
    memory: mem0.Memory, endpoint: Endpoint
) -> None:
    endpoint.facts("Ann sails.")
    found = memory.add("I sail.", user_id="ann", run_id="a=b&c")
    assert memory.db.get_history(found["results"][0]["id"])[0]["event"] == "ADD"
    [message] = memory.db.get_last_messages("run_id=a%3Db%26c&user_id=ann")
    assert (message["role"], message["content"]) == ("user", "I sail.")
    assert memory.db.get_last_messages("run_id=a%3Db%26c&user_id=ann", 0) == []
    with pytest.raises(InputError, match="unknown id 'who'"):
        memory.db.get_last_messages("who=ann")
    memory.db.close()
    assert memory.get_all(filters=ANN)["results"]


def test_an_async_memory_has_the_same_views(given: dict[str, Any], loop: asyncio.Runner) -> None:
    async def program() -> None:
        async with mem0.AsyncMemory.from_config(given) as memory:
            added = await memory.add("Ann sails.", infer=False, **ANN)
            [rows] = await asyncio.to_thread(memory.vector_store.list, ANN)
            assert [row.id for row in rows] == [added["results"][0]["id"]]
            assert len(memory.db.get_history(rows[0].id)) == 1
            assert memory.config.llm.provider == "openai"
            assert len(memory.embedding_model.embed("x")) == 64
            with pytest.raises(ValueError, match="Project updates"):
                await memory.project.update(custom_instructions="x")

    loop.run(program())


class LangChain:
    """A chat model with LangChain's interface."""

    model_name = "chain"

    def __init__(self) -> None:
        self.asked: list[Any] = []

    async def ainvoke(self, messages: Any) -> Any:
        self.asked.append(messages)
        return SimpleNamespace(content="1. Booked it.")


def test_a_chat_model_of_langchains_writes_a_procedural_memory(
    given: dict[str, Any], endpoint: Endpoint, loop: asyncio.Runner
) -> None:
    chain = LangChain()

    async def program() -> None:
        async with mem0.AsyncMemory.from_config(given) as memory:
            kind = mem0.MemoryType.PROCEDURAL.value
            added = await memory.add("Book it.", agent_id="bot", memory_type=kind, llm=chain)
            assert [item["memory"] for item in added["results"]] == ["1. Booked it."]
            assert endpoint.chats == []
            await memory.add("Book it.", user_id="ann", memory_type=kind, llm=chain)
            assert (len(endpoint.chats), len(chain.asked)) == (1, 1)
            many = {"agent_id": "bot", "memory_type": kind, "llm": chain}
            await memory.add_many([{"messages": "Pay it.", **many}])
            assert (len(endpoint.chats), len(chain.asked)) == (1, 2)

    loop.run(program())


def test_changing_the_project_is_refused_as_in_mem0(memory: mem0.Memory) -> None:
    with pytest.raises(ValueError, match="The decay parameter is not supported"):
        memory.project.update(decay=True)
