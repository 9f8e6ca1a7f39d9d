"""What is imported from mem0 is there under the same names, at the same places."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import pytest

import memlayer_pg
from memlayer_pg import Config, ConfigError, Endpoint
from memlayer_pg.compat import mem0
from memlayer_pg.compat.mem0 import exceptions

PLACES = {
    "": ("Memory", "AsyncMemory", "__version__"),
    ".configs.base": ("MemoryConfig", "MemoryItem", "LlmConfig", "EmbedderConfig",
                      "VectorStoreConfig", "RerankerConfig"),
    ".configs.enums": ("MemoryType",),
    ".embeddings.configs": ("EmbedderConfig",),
    ".exceptions": (
        "MemoryError", "AuthenticationError", "RateLimitError", "ValidationError",
        "MemoryNotFoundError", "NetworkError", "ConfigurationError", "MemoryQuotaExceededError",
        "MemoryCorruptionError", "VectorSearchError", "CacheError", "VectorStoreError",
        "EmbeddingError", "LLMError", "DatabaseError", "DependencyError",
    ),
    ".llms.configs": ("LlmConfig",),
    ".memory.main": ("Memory", "AsyncMemory"),
    ".vector_stores.configs": ("VectorStoreConfig",),
}  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_a_name_stands_where_mem0_has_it(place: str) -> None:
    module = import_module(f"memlayer_pg.compat.mem0{place}")
    assert [name for name in PLACES[place] if not hasattr(module, name)] == []
    assert set(getattr(module, "__all__", PLACES[place])) >= set(PLACES[place])


def test_every_error_of_mem0s_is_caught_by_its_base() -> None:
    for name in PLACES[".exceptions"]:
        assert issubclass(getattr(exceptions, name), mem0.MemoryError)
        assert getattr(mem0, name) is getattr(exceptions, name)


def test_errors_are_ours() -> None:
    assert exceptions.LLMError is memlayer_pg.LLMError
    assert exceptions.VectorStoreError is memlayer_pg.DatabaseError
    assert exceptions.ConfigurationError is ConfigError


def test_the_kinds_of_memory_are_mem0s() -> None:
    values = [kind.value for kind in mem0.MemoryType]
    assert values == ["semantic_memory", "episodic_memory", "procedural_memory"]


def test_configuration_objects_mean_what_the_dictionary_means() -> None:
    objects = mem0.MemoryConfig(
        llm={"provider": "openai", "config": {"model": "m", "api_key": "k"}},
        vector_store=mem0.VectorStoreConfig(config={"host": "h", "port": 1, "user": "u"}),
        custom_instructions="Only food.",
    )
    config = Config.from_mem0(objects.model_dump())
    assert config.llm == Endpoint(model="m", api_key="k")
    assert config.dsn == "dbname='postgres' user='u' host='h' port='1'"
    assert config.custom_instructions == "Only food."
    objects.vector_store.config.collection_name = "shop"
    assert Config.from_mem0(objects.model_dump()).tenant == "shop"


def test_a_section_that_is_left_out_is_that_of_the_environment(monkeypatch: Any) -> None:
    assert Config.from_mem0(mem0.MemoryConfig().model_dump()).llm is None
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    found = Config.from_mem0(mem0.MemoryConfig().model_dump()).llm
    assert found == Endpoint(model="gpt-5-mini", api_key="k")


def test_an_object_with_fields_is_a_section_too() -> None:
    class Fields:
        def __init__(self) -> None:
            self.model = "m"

    section = mem0.LlmConfig(provider="openai", config=Fields())
    assert section.config == {"model": "m"}
    assert section.config.api_key is None


def test_our_own_settings_and_objects_stand_beside_mem0s() -> None:
    class Reranker:
        def rerank(self, query: str, documents: list[Any], top_k: int) -> list[Any]:
            return documents[:top_k]

    reranker = Reranker()
    objects = mem0.MemoryConfig(tenant="t", reranker=reranker, graph_store=None)
    config = Config.from_mem0(objects.model_dump())
    assert (config.tenant, config.reranker) == ("t", reranker)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"vectorstore": {}}, "did you mean 'vector_store'"),
        ({"llm": {"provder": "x"}}, "did you mean 'provider'"),
        ({"llm": {"config": "gpt-5"}}, "must be a dictionary, not str"),
        ({"version": None, "embeder": {}}, "did you mean 'embedder'"),
        ({"vector_store": {"provider": "qdrant"}}, "'qdrant' is not supported, only 'pgvector'"),
    ],
)
def test_what_is_not_understood_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        mem0.Memory(given)


METHODS = [
    name
    for name, member in vars(memlayer_pg.Memory).items()
    if inspect.isfunction(member) and not name.startswith("_")
]


@pytest.mark.parametrize("name", METHODS)
def test_a_method_has_the_signature_of_ours(name: str) -> None:
    def signature(kind: Any) -> dict[str, Any]:
        return dict(inspect.signature(getattr(kind, name)).parameters)

    assert signature(mem0.Memory) == signature(memlayer_pg.Memory)
    awaited = signature(mem0.AsyncMemory)
    if name == "add":
        assert awaited.pop("llm").default is None
    assert awaited == signature(memlayer_pg.AsyncMemory)
    assert inspect.getdoc(getattr(mem0.AsyncMemory, name))


def test_b099_passwords_and_keys_are_not_shown() -> None:
    config = mem0.MemoryConfig(
        vector_store={"config": {"user": "u", "password": "sk-1", "host": "h"}},
        llm={"config": {"api_key": "sk-2"}},
        embedder=mem0.EmbedderConfig(config={"api_key": "sk-3"}),
    )
    assert "sk-" not in repr(config)
    with pytest.raises(ConfigError) as refused:
        mem0.Memory({**config.model_dump(), "vectorstore": {"password": "sk-4"}})
    assert "sk-" not in f"{refused.value} {refused.value.suggestion} {refused.value.details}"


def test_an_item_is_an_object() -> None:
    item = mem0.MemoryItem(id="1", memory="Ann sails.")
    assert item.model_dump()["memory"] == item.memory
