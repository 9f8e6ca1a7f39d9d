"""Settings: from the program, the environment and mem0's dictionary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from psycopg.conninfo import conninfo_to_dict

from memlayer_pg import Config, ConfigError, Endpoint, Memory
from memlayer_pg.dsn import parameters

SECRET = "p@ss:w/rd%#' x\\"


def pgvector(**config: Any) -> Any:
    return {"vector_store": {"provider": "pgvector", "config": config}}


def test_without_anything_there_is_no_model_and_a_server_of_our_own() -> None:
    config = Config.from_env({})
    assert (config.dsn, config.tenant, config.llm, config.embedder) == (None, "default", None, None)


def test_the_environment_names_database_and_models() -> None:
    config = Config.from_env(
        {
            "MEMLAYER_DSN": "postgresql+psycopg://u@h/d",
            "MEMLAYER_TENANT": "shop",
            "MEMLAYER_DATA_DIR": "/data",
            "MEMLAYER_MAX_SIZE": "3",
            "MEMLAYER_PREPARE_THRESHOLD": "none",
            "MEMLAYER_CONNECT_TIMEOUT": "2.5",
            "MEMLAYER_EMBEDDER_MODEL": "bge-m3",
            "MEMLAYER_EMBEDDER_BASE_URL": "http://localhost:1/v1",
            "MEMLAYER_EMBEDDER_DIMENSIONS": "1024",
            "OPENAI_API_KEY": "sk-1",
        }
    )
    assert (config.dsn, config.tenant, config.data_dir) == (
        "postgresql://u@h/d",
        "shop",
        Path("/data"),
    )
    assert (config.max_size, config.prepare_threshold, config.connect_timeout) == (3, None, 2.5)
    assert config.llm == Endpoint(model="gpt-5-mini", api_key="sk-1")
    assert config.embedder is not None
    assert (config.embedder.model, config.embedder.dimensions) == ("bge-m3", 1024)


def test_openais_key_is_not_sent_to_an_address_named_for_one_model() -> None:
    config = Config.from_env(
        {"MEMLAYER_LLM_BASE_URL": "http://localhost:1/v1", "OPENAI_API_KEY": "sk-1"}
    )
    assert config.llm is not None
    assert config.llm.api_key is None


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("MEMLAYER_MAX_SIZE", "many"),
        ("MEMLAYER_MAX_SIZE", "0"),
        ("MEMLAYER_CONNECT_TIMEOUT", "soon"),
        ("MEMLAYER_TENANT", "a\x00"),
        ("MEMLAYER_DSN", "mysql://h/d"),
    ],
)
def test_a_variable_that_makes_no_sense_is_named(variable: Any, value: Any) -> None:
    named = variable.removeprefix("MEMLAYER_").lower()
    with pytest.raises(ConfigError, match=f"(?i){named}"):
        Config.from_env({variable: value})


@pytest.mark.parametrize("tenant", ["", "  ", "a b", "*", "x" * 256, 5, "a\ud800"])
def test_a_tenant_needs_a_name(tenant: Any) -> None:
    with pytest.raises(ConfigError, match="tenant"):
        Config(tenant=tenant)


@pytest.mark.parametrize(
    "wrong",
    [
        {"model": " "},
        {"model": "m", "base_url": "localhost:8000"},
        {"model": "m", "dimensions": 0},
        {"model": "m", "dimensions": 4001},
        {"model": "m", "timeout": 0},
        {"model": "m", "max_retries": -1},
    ],
)
def test_an_endpoint_that_makes_no_sense_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigError):
        Endpoint(**wrong)


def test_no_secret_shows_in_a_representation() -> None:
    endpoint = Endpoint(
        model="m", api_key="sk-1", headers={"x-token": "sk-2"}, proxy="http://u:sk-3@h"
    )
    shown = repr(Config(dsn=f"postgresql://u:{'sk-4'}@h/d", llm=endpoint, embedder=endpoint))
    assert "sk-" not in shown


def test_mem0s_dictionary_means_the_same_here() -> None:
    config = Config.from_mem0(
        pgvector(
            user="u", password=SECRET, host="h", port=5433, dbname="d", sslmode="require",
            collection_name="shop", embedding_model_dims=768, minconn=2, maxconn=4, hnsw=True,
        )
        | {
            "llm": {"provider": "openai", "config": {
                "model": "m", "api_key": "sk-1", "temperature": 0.1, "max_tokens": 2000,
                "top_p": 0.1, "openai_base_url": "http://h:1/v1"}},
            "embedder": {"provider": "openai", "config": {"model": "e", "base_url": "http://h:2/v1"}},
            "history_db_path": "/x/history.db",
            "version": "v1.1",
            "custom_instructions": "Only food.",
        }
    )  # fmt: skip
    assert config.dsn is not None
    assert conninfo_to_dict(config.dsn) == {
        "user": "u", "password": SECRET, "host": "h", "port": "5433", "dbname": "d",
        "sslmode": "require",
    }  # fmt: skip
    assert (config.tenant, config.min_size, config.max_size) == ("shop", 2, 4)
    assert config.llm == Endpoint(
        model="m", api_key="sk-1", base_url="http://h:1/v1", temperature=0.1, max_tokens=2000,
        extra_body={"top_p": 0.1},
    )  # fmt: skip
    assert config.embedder == Endpoint(model="e", base_url="http://h:2/v1", dimensions=768)
    assert config.custom_instructions == "Only food."


@pytest.mark.parametrize(
    ("given", "sslmode"),
    [
        ("postgresql://u:p%40@h/d", "require"),
        ("postgresql://u:p%40@h/d?application_name=x", "require"),
        ("host=h user=u password='p@' dbname=d", "require"),
        ("postgresql://u:p%40@h/d?sslmode=disable", "disable"),
        ("postgresql+psycopg://u:p%40@h/d", "require"),
    ],
)
def test_sslmode_joins_a_connection_string_of_any_form(given: Any, sslmode: Any) -> None:
    config = Config.from_mem0(pgvector(connection_string=given, sslmode="require"))
    assert config.dsn is not None
    parts = parameters(config.dsn)
    assert (parts["password"], parts["dbname"], parts["sslmode"]) == ("p@", "d", sslmode)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"vectorstore": {}}, "unknown key 'vectorstore'; did you mean 'vector_store'"),
        (pgvector(conection_string="x"), "did you mean 'connection_string'"),
        ({"llm": {"provider": "openai", "config": {"modle": "m"}}}, "did you mean 'model'"),
        ({"embedder": {"provider": "openai", "config": {"dims": 3}}}, "embedder.config: unknown"),
        ({"vector_store": {"provider": "qdrant", "config": {}}}, "'qdrant' is not supported"),
        ({"llm": {"provider": "ollama", "config": {}}}, "'ollama' is not supported"),
        ({"reranker": {"provider": "cohere"}}, "reranker.provider: 'cohere' is not supported"),
        ({"reranker": {"provider": "llm_reranker", "config": {"modl": "x"}}}, "'model'"),
        (
            {"reranker": {"provider": "llm_reranker", "config": {"provider": "ollama"}}},
            "reranker.config.provider: 'ollama'",
        ),
        ({"llm": "openai"}, "llm: must be a dictionary"),
        (pgvector(connection_pool=object()), "connection_pool"),
        ([], "config: must be a dictionary"),
    ],
)
def test_what_mem0_would_ignore_is_refused_by_name(given: Any, message: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        Config.from_mem0(given)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("section", "provider", "told"),
    [
        ("embedder", "ollama", "'openai_base_url': 'http://localhost:11434/v1'"),
        ("llm", "groq", "https://api.groq.com/openai/v1"),
        ("llm", "gemini", "https://generativelanguage.googleapis.com/v1beta/openai"),
        ("llm", "aws_bedrock", "generate(messages, *, json_schema=None) as llm="),
        ("embedder", "huggingface", "embed_documents(texts) and embed_query(text) as embedder="),
        ("vector_store", "qdrant", "connection_string"),
    ],
)
def test_another_provider_is_refused_with_a_way_out(section: str, provider: str, told: str) -> None:
    with pytest.raises(ConfigError, match=f"{provider!r} is not supported") as caught:
        Config.from_mem0({section: {"provider": provider, "config": {"model": "x"}}})
    assert told in (caught.value.suggestion or "")
    assert "did you mean" not in caught.value.message


@pytest.mark.parametrize(
    ("section", "provider", "meant"),
    [
        ("llm", "opnai", "openai"),
        ("embedder", "olama", "ollama"),
        ("vector_store", "pg_vector", "pgvector"),
    ],
)
def test_a_provider_that_nobody_has_is_refused_with_the_nearest(
    section: str, provider: str, meant: str
) -> None:
    with pytest.raises(ConfigError, match=f"did you mean {meant!r}"):
        Config.from_mem0({section: {"provider": provider}})


def test_settings_of_older_versions_of_mem0_are_let_pass(caplog: Any) -> None:
    given = {"graph_store": None, "enable_graph": False, "custom_update_memory_prompt": None}
    assert Config.from_mem0(given) == Config.from_mem0({})
    assert caplog.text == ""
    Config.from_mem0({"graph_store": {"provider": "neo4j", "config": {}}})
    assert "graph_store is not used" in caplog.text


def test_openrouter_is_an_address_like_any_other() -> None:
    config = {"models": ["a", "b"]}
    with pytest.raises(ConfigError, match=r"llm\.config\.models") as caught:
        Config.from_mem0({"llm": {"provider": "openai", "config": config}})
    assert "https://openrouter.ai/api/v1" in (caught.value.suggestion or "")


def test_the_old_name_of_the_embedders_address_is_read(monkeypatch: Any) -> None:
    monkeypatch.setenv("OPENAI_API_BASE", "http://old/v1")
    embedder = Config.from_mem0({"embedder": {"provider": "openai"}}).embedder
    assert embedder is not None
    assert embedder.base_url == "http://old/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://new/v1")
    embedder = Config.from_mem0({"embedder": {"provider": "openai"}}).embedder
    assert embedder is not None
    assert embedder.base_url == "http://new/v1"


def test_mem0s_reranker_by_language_model_becomes_an_endpoint(caplog: Any) -> None:
    inner = {"model": "m", "api_key": "k", "temperature": 0.0, "top_k": 5, "max_tokens": 100}
    given = {"reranker": {"provider": "llm_reranker", "config": inner}}
    assert Config.from_mem0(given).reranker == Endpoint(model="m", api_key="k", temperature=0.0)
    assert "reranker.config.max_tokens is not used" in caplog.text

    nested = {"provider": "openai", "config": {"model": "n", "openai_base_url": "http://h/v1"}}
    given = {"reranker": {"provider": "llm_reranker", "config": {"api_key": "k", "llm": nested}}}
    wanted = Endpoint(model="n", api_key="k", base_url="http://h/v1")
    assert Config.from_mem0(given).reranker == wanted

    reranker = object()
    assert Config.from_mem0({"reranker": reranker}).reranker is reranker
    assert Config.from_mem0({"reranker": None}).reranker is None


def test_the_context_is_switched_by_the_environment() -> None:
    assert Config.from_env({}).context == Config().context == "words"
    for text in ("off", "Words", "full"):
        assert Config.from_env({"MEMLAYER_CONTEXT": text}).context == text.lower()
    with pytest.raises(ConfigError, match="context: must be off, words or full, not 'maybe'"):
        Config.from_env({"MEMLAYER_CONTEXT": "maybe"})
    given: Any = {"context": False}
    assert Config.from_mem0(given).context == "off"


def test_a_reranker_of_the_environment_is_named_by_itself() -> None:
    assert Config.from_env({"OPENAI_API_KEY": "k"}).reranker is None
    found = Config.from_env({"OPENAI_API_KEY": "k", "MEMLAYER_RERANKER_MODEL": "m"}).reranker
    assert found == Endpoint(model="m", api_key="k")
    found = Config.from_env({"MEMLAYER_RERANKER_BASE_URL": "http://h/v1"}).reranker
    assert found == Endpoint(model="gpt-5-mini", base_url="http://h/v1")


def test_the_old_name_of_the_instructions_is_understood() -> None:
    config = Config.from_mem0({"custom_fact_extraction_prompt": "Only hobbies."})
    assert config.custom_instructions == "Only hobbies."


def test_two_sizes_of_vectors_are_refused() -> None:
    given = pgvector(embedding_model_dims=1536) | {
        "embedder": {"provider": "openai", "config": {"embedding_dims": 768}}
    }
    with pytest.raises(ConfigError, match=r"embedding_dims is 768.*embedding_model_dims is 1536"):
        Config.from_mem0(given)


def test_an_explicit_setting_goes_before_the_environment(monkeypatch: Any) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://env/v1")
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-router")
    config = Config.from_mem0(
        {
            "llm": {
                "provider": "openai",
                "config": {"api_key": "cfg", "openai_base_url": "http://cfg/v1"},
            }
        }
    )
    assert config.llm is not None
    assert config.embedder is not None
    assert (config.llm.api_key, config.llm.base_url) == ("cfg", "http://cfg/v1")
    assert (config.embedder.api_key, config.embedder.base_url) == ("sk-env", "http://env/v1")


@pytest.mark.parametrize(
    "given", ["http://h:3128", {"http://": "http://h:3128", "https://": "http://h:3128"}]
)
def test_mem0s_proxies_become_one(given: Any) -> None:
    config = Config.from_mem0(
        {"llm": {"provider": "openai", "config": {"http_client_proxies": given}}}
    )
    assert config.llm is not None
    assert config.llm.proxy == "http://h:3128"


@pytest.mark.parametrize(
    ("setting", "wrong"),
    [
        ("base_url", 5),
        ("base_url", "http://[::1"),
        ("api_key", b"sk"),
        ("dimensions", "many"),
        ("dimensions", 2.5),
        ("dimensions", True),
        ("timeout", None),
        ("timeout", "soon"),
        ("timeout", float("nan")),
        ("max_retries", None),
        ("max_retries", [3]),
        ("headers", "X: y"),
        ("headers", {"X": 5}),
        ("headers", {"X": "a\nb"}),
        ("extra_body", ["a"]),
        ("temperature", "hot"),
        ("max_tokens", 0),
        ("max_tokens", 10**400),
        ("proxy", 5),
    ],
)
def test_a_setting_of_a_model_of_a_wrong_type_is_named(setting: str, wrong: Any) -> None:
    with pytest.raises(ConfigError, match=f"^{setting}: "):
        Endpoint(**({"model": "m"} | {setting: wrong}))


@pytest.mark.parametrize(
    ("setting", "wrong"),
    [
        ("min_size", "few"),
        ("max_size", None),
        ("prepare_threshold", "never"),
        ("connect_timeout", None),
        ("connect_timeout", "inf"),
        ("data_dir", 5),
        ("custom_instructions", 5),
        ("llm", "gpt-5"),
        ("embedder", {"model": "m"}),
    ],
)
def test_a_setting_of_a_wrong_type_is_named(setting: str, wrong: Any) -> None:
    with pytest.raises(ConfigError, match=f"^{setting}: "):
        Config(**{setting: wrong})


def test_numbers_may_come_as_text_and_a_path_as_well() -> None:
    config = Config.from_mem0(
        {
            **pgvector(maxconn="7", minconn=None, dbname="d", embedding_model_dims="768"),
            "embedder": {"config": {"embedding_dims": 768, "timeout": "5", "max_retries": None}},
        }
    )
    assert (config.min_size, config.max_size) == (0, 7)
    assert config.embedder is not None
    assert (config.embedder.dimensions, config.embedder.timeout) == (768, 5.0)
    assert config.embedder.max_retries == 3
    assert Config(data_dir="/data").data_dir == Path("/data")  # type: ignore[arg-type]


def test_a_memory_can_be_shown_whatever_its_dsn_is(endpoint: Any) -> None:
    model = Endpoint(model="m", base_url=endpoint.base_url)
    with Memory(Config(dsn="secret", embedder=model)) as memory:
        assert repr(memory) == "Memory(tenant='default', location='a dsn that cannot be read')"
