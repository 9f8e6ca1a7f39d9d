"""Reads a mem0 configuration: the same dictionary, strictly.

mem0 ignores what it does not know; here an unknown key is an error that names the nearest.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from memlayer_pg.config import (
    EMBEDDING_MODEL,
    LLM_MODEL,
    SETTINGS,
    Endpoint,
    libpq_url,
    nearest,
)
from memlayer_pg.errors import ConfigError
from memlayer_pg.mem0_providers import refused

log = logging.getLogger("memlayer_pg")

OLD_INSTRUCTIONS = "custom_fact_extraction_prompt"
"""What custom_instructions was called in mem0 before version 2."""
UNUSED_TOP = ("graph_store", "enable_graph", "custom_update_memory_prompt")
"""Of mem0 before version 2, which programs still name; mem0 2 does not look at them either."""
MODELS = ("llm", "embedder", "reranker")
TOP = ("vector_store", "llm", "embedder", "history_db_path", "reranker", "version", *SETTINGS)
STORE = (
    "connection_string", "dbname", "user", "password", "host", "port", "sslmode", "collection_name",
    "embedding_model_dims", "minconn", "maxconn", "hnsw", "diskann", "connection_pool",
)  # fmt: skip
ADDRESS = ("openai_base_url", "base_url")
COMMON = (
    *ADDRESS,
    "model",
    "api_key",
    "timeout",
    "max_retries",
    "http_client_proxies",
    "http_client",
)
ROUTER = ("models", "route", "openrouter_base_url", "site_url", "app_name")
"""What mem0 sends to OpenRouter, where a key for that stands in the environment."""
BODY = ("top_p", "reasoning_effort", "store")
IGNORED = ("top_k", "enable_vision", "vision_details", "is_reasoning_model", "response_callback")
LLM = (*COMMON, *BODY, *IGNORED, "temperature", "max_tokens", *ROUTER)
EMBEDDER = (*COMMON, "embedding_dims")
RERANKERS = ("llm_reranker", "openai")
UNUSED = ("top_k", "max_tokens", "scoring_prompt")
"""Of a reranker that asks about one document at a time, in free text."""
RERANKER = (*COMMON, *BODY, *UNUSED, "provider", "temperature", "llm")


def settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `Config` that a mem0 configuration amounts to; our own settings may stand
    beside mem0's. ConfigError names what is not understood."""
    config = _section(config, "config", (*TOP, OLD_INSTRUCTIONS, *UNUSED_TOP))
    found = {key: config[key] for key in SETTINGS if key not in MODELS and key in config}
    if config.get(OLD_INSTRUCTIONS):
        found.setdefault("custom_instructions", config[OLD_INSTRUCTIONS])
    for key in UNUSED_TOP:
        if config.get(key):
            log.warning("%s is not used: names and links are kept with the memories", key)
    if "history_db_path" in config:
        log.info("history_db_path is not used: history is kept in Postgres")
    store = _provided(config, "vector_store", "pgvector", STORE)
    found |= _store(store)
    found["llm"] = _llm(config)
    found["embedder"] = _embedder(config, store.get("embedding_model_dims"))
    found["reranker"] = _reranker(config)
    return found


def _store(store: Mapping[str, Any]) -> dict[str, Any]:
    if store.get("connection_pool") is not None:
        raise ConfigError(
            "vector_store.config.connection_pool: cannot be used",
            suggestion="Give connection_string; maxconn sets how many connections may be open.",
        )
    for key in ("hnsw", "diskann"):
        if key in store:
            log.info("vector_store.config.%s is not used; see memlayer db ann-index", key)
    found: dict[str, Any] = {}
    if store.get("collection_name"):
        found["tenant"] = store["collection_name"]
    if store.get("connection_string"):
        found["dsn"] = _with_sslmode(str(store["connection_string"]), store.get("sslmode"))
    elif any(store.get(key) is not None for key in ("dbname", "user", "password", "host", "port")):
        parts = {key: store.get(key) for key in ("user", "password", "host", "port", "sslmode")}
        found["dsn"] = _keywords({"dbname": store.get("dbname", "postgres"), **parts})
    for ours, theirs in (("min_size", "minconn"), ("max_size", "maxconn")):
        if store.get(theirs) is not None:
            found[ours] = store[theirs]
    return found


def _llm(config: Mapping[str, Any]) -> Endpoint | None:
    if isinstance(config.get("llm"), Endpoint):
        return config["llm"]  # type: ignore[no-any-return]
    given = _provided(config, "llm", "openai", LLM)
    if "llm" not in config and not os.environ.get("OPENAI_API_KEY"):
        return None
    if router := next((key for key in ROUTER if given.get(key)), None):
        raise ConfigError(
            f"llm.config.{router}: OpenRouter is an address like any other",
            suggestion="Write openai_base_url = 'https://openrouter.ai/api/v1', its api_key, and "
            "one model.",
        )
    for key in ("top_k", "enable_vision", "response_callback"):
        if given.get(key):
            log.warning("llm.config.%s is not used", key)
    return Endpoint(
        **_common(given, LLM_MODEL),
        temperature=given.get("temperature"),
        max_tokens=given.get("max_tokens"),
        extra_body={key: given[key] for key in BODY if given.get(key) is not None},
    )


def _embedder(config: Mapping[str, Any], store_dimensions: int | None) -> Endpoint | None:
    if isinstance(config.get("embedder"), Endpoint):
        return config["embedder"]  # type: ignore[no-any-return]
    given = _provided(config, "embedder", "openai", EMBEDDER)
    if "embedder" not in config and not os.environ.get("OPENAI_API_KEY"):
        return None
    dimensions = given.get("embedding_dims")
    if None not in (dimensions, store_dimensions) and str(dimensions) != str(store_dimensions):
        raise ConfigError(
            f"embedder.config.embedding_dims is {dimensions}, but "
            f"vector_store.config.embedding_model_dims is {store_dimensions}"
        )
    common = _common(given, EMBEDDING_MODEL)
    # An old name of the address that mem0's embedder still reads.
    common["base_url"] = common["base_url"] or os.environ.get("OPENAI_API_BASE")
    return Endpoint(**common, dimensions=dimensions or store_dimensions)


def _reranker(config: Mapping[str, Any]) -> Any:
    """An endpoint for mem0's reranker by language model; an object as it is."""
    given = config.get("reranker")
    if not isinstance(given, Mapping):
        return given
    provider = _section(given, "reranker", ("provider", "config")).get("provider")
    if provider not in RERANKERS:
        raise ConfigError(
            f"reranker.provider: {provider!r} is not supported, only {' and '.join(RERANKERS)}",
            suggestion="Give an object with rerank(query, documents, top_k) as reranker.",
        )
    outer = _section(given.get("config") or {}, "reranker.config", RERANKER)
    if outer.get("provider", "openai") != "openai":
        raise ConfigError(f"reranker.config.provider: {outer['provider']!r} is not supported")
    inner = {**outer, **_provided(outer, "llm", "openai", LLM)}
    for key in UNUSED:
        if inner.get(key):
            log.warning("reranker.config.%s is not used: one request scores all results", key)
    return Endpoint(
        **_common(inner, LLM_MODEL),
        temperature=inner.get("temperature"),
        extra_body={key: inner[key] for key in BODY if inner.get(key) is not None},
    )


def _common(given: Mapping[str, Any], model: str) -> dict[str, Any]:
    """What both kinds of model take; an explicit value wins over the environment."""
    found: dict[str, Any] = {
        "model": given.get("model") or model,
        "base_url": next((given[key] for key in ADDRESS if given.get(key)), None)
        or os.environ.get("OPENAI_BASE_URL"),
        "api_key": given.get("api_key") or os.environ.get("OPENAI_API_KEY"),
        "proxy": _proxy(given.get("http_client_proxies")),
    }
    found |= {
        k: given[k] for k in ("timeout", "max_retries", "http_client") if given.get(k) is not None
    }
    return found


def _proxy(given: Any) -> str | None:
    """mem0 takes one URL or httpx's old dictionary of them; there is one proxy for an endpoint."""
    if given is None or isinstance(given, str):
        return given
    if isinstance(given, Mapping):
        addresses = {str(address) for address in given.values() if address}
        if len(addresses) == 1:
            return addresses.pop()
    raise ConfigError("http_client_proxies: must be one URL, or a dictionary that holds only one")


def _provided(
    config: Mapping[str, Any], name: str, provider: str, known: Iterable[str]
) -> Mapping[str, Any]:
    """The `config` of a section `{"provider": …, "config": {…}}`."""
    section = _section(config.get(name) or {}, name, ("provider", "config"))
    if section.get("provider", provider) != provider:
        raise refused(name, section["provider"])
    return _section(section.get("config") or {}, f"{name}.config", known)


def _section(given: Any, where: str, known: Iterable[str]) -> Mapping[str, Any]:
    known = tuple(known)
    if not isinstance(given, Mapping):
        raise ConfigError(f"{where}: must be a dictionary, not {type(given).__name__}")
    for key in given:
        if key not in known:
            raise ConfigError(f"{where}: unknown key {key!r}{nearest(key, known)}")
    return given


def _with_sslmode(dsn: str, sslmode: str | None) -> str:
    """A connection string in which `sslmode` stands, unless it names one itself."""
    dsn = libpq_url(dsn)
    if not sslmode or "sslmode=" in dsn:
        return dsn
    if "://" not in dsn:
        return f"{dsn} {_keywords({'sslmode': sslmode})}"
    return f"{dsn}{'&' if urlsplit(dsn).query else '?'}sslmode={sslmode}"


def _keywords(parts: Mapping[str, Any]) -> str:
    """key='value' pairs, quoted as Postgres's library wants them."""
    quoted = (
        (key, str(value).replace("\\", "\\\\").replace("'", "\\'"))
        for key, value in parts.items()
        if value is not None
    )
    return " ".join(f"{key}='{value}'" for key, value in quoted)
