"""The settings, all defaults in one place.

Where a setting comes from: what the program passes, else the environment, else the default here.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

from memlayer_pg import typed
from memlayer_pg.errors import ConfigError

Number = TypeVar("Number", int, float)

LLM_MODEL = "gpt-5-mini"
EMBEDDING_MODEL = "text-embedding-3-small"
TENANT = "default"
CONTEXTS = ("off", "words", "full")
LONGEST_NAME = 255
"""Bytes a tenant may have."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    """A model behind an OpenAI-compatible HTTP interface.

    `base_url` and `api_key`: None takes OPENAI_BASE_URL and OPENAI_API_KEY, else OpenAI itself.
    `dimensions`: length of the vectors to ask for and insist on; None takes what the model gives.
    `timeout`: seconds for one attempt. `max_retries`: attempts after the first.
    `headers`, `extra_body`: sent along with every request.
    `temperature`, `max_tokens`: sent only when set. `proxy`: an URL, None follows the environment.
    `http_client`: an httpx.Client or httpx.AsyncClient to use in place of our own.
    """

    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    dimensions: int | None = None
    timeout: float = 60.0
    max_retries: int = 3
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    temperature: float | None = None
    max_tokens: int | None = None
    proxy: str | None = field(default=None, repr=False)
    http_client: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.model, str) or not self.model.strip():
            raise ConfigError("model: must be the name of a model")
        if self.base_url is not None and not _is_http(self.base_url):
            raise ConfigError("base_url: must start with http:// or https://")
        if self.api_key is not None and not isinstance(self.api_key, str):
            raise ConfigError("api_key: must be a text")
        typed.text("proxy", self.proxy)
        typed.headers("headers", self.headers)
        typed.mapping("extra_body", self.extra_body)
        _convert(self, "dimensions", typed.whole, "must be between 1 and 4000")
        _convert(self, "timeout", typed.number, "must be a number of seconds above 0", False)
        _convert(self, "max_retries", typed.whole, "must not be negative", False)
        _convert(self, "temperature", typed.number, "must be a number")
        _convert(self, "max_tokens", typed.whole, "must be a whole number from 1 up")
        if self.dimensions is not None and not 1 <= self.dimensions <= 4000:
            raise ConfigError(f"dimensions: must be between 1 and 4000, not {self.dimensions}")
        if self.timeout <= 0:
            raise ConfigError("timeout: must be a number of seconds above 0")
        if self.max_retries < 0:
            raise ConfigError("max_retries: must not be negative")
        if self.max_tokens is not None and self.max_tokens < 1:
            raise ConfigError("max_tokens: must be a whole number from 1 up")


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Everything a `Memory` needs to know.

    `dsn`: a Postgres URL or key=value string; None starts a server of our own in `data_dir`.
    `read_dsn`: a replica of it, which answers searches and other reads; None: the primary does.
    `read_your_writes`: seconds a read waits until the replica has what this `Memory` wrote; then
    the primary answers. 0 does not wait: a read may miss what was just written.
    `tenant`: whose memories these are, kept apart from those of every other tenant.
    `llm`: extracts facts; None stores what was said word for word.
    `embedder`: None takes the local one.
    `reranker`: an endpoint whose language model scores results, or any object with
    `rerank(query, documents, top_k)`; None leaves the order as it is.
    `custom_instructions`: added to the extraction prompt of every add.
    `context`: "words": a message that is stored word for word is found by the words of what
    somebody else said just before it, too; "full": its vector is of both; "off" (or False): alone.
    `data_dir`: where the server of our own keeps its files; None: the user's data directory.
    `min_size`, `max_size`: connections kept open, and at most open at once.
    `prepare_threshold`: prepare a statement on the server when it is run this often; None never
    does, which is what a PgBouncer in transaction mode needs.
    `connect_timeout`: seconds to wait for a new connection, and for a free one.
    """

    dsn: str | None = field(default=None, repr=False)
    read_dsn: str | None = field(default=None, repr=False)
    read_your_writes: float = 1.0
    tenant: str = TENANT
    llm: Endpoint | None = None
    embedder: Endpoint | None = None
    reranker: Any = field(default=None, repr=False)
    custom_instructions: str | None = None
    context: str = "words"
    data_dir: Path | None = None
    min_size: int = 0
    max_size: int = 10
    prepare_threshold: int | None = 5
    connect_timeout: float = 30.0

    def __post_init__(self) -> None:
        for name in ("dsn", "read_dsn"):
            given = getattr(self, name)
            if given is not None:
                if not isinstance(given, str) or not given.strip():
                    raise ConfigError(f"{name}: must be a Postgres URL or a key=value string")
                object.__setattr__(self, name, libpq_url(given))
        check_tenant(self.tenant)
        for name in ("llm", "embedder"):
            if not isinstance(getattr(self, name), Endpoint | None):
                raise ConfigError(f"{name}: must be an Endpoint or None")
        if not isinstance(self.custom_instructions, str | None):
            raise ConfigError("custom_instructions: must be a text")
        if isinstance(self.data_dir, str):
            object.__setattr__(self, "data_dir", Path(self.data_dir))
        elif not isinstance(self.data_dir, Path | None):
            raise ConfigError("data_dir: must be a path")
        _convert(self, "min_size", typed.whole, "must be a whole number", False)
        _convert(self, "max_size", typed.whole, "must be a whole number", False)
        _convert(self, "prepare_threshold", typed.whole, "must be None or not negative")
        _convert(
            self, "connect_timeout", typed.number, "must be a number of seconds above 0", False
        )
        _convert(self, "read_your_writes", typed.number, "must be a number of seconds", False)
        if self.read_your_writes < 0:
            raise ConfigError("read_your_writes: must not be negative")
        if isinstance(self.context, bool):
            object.__setattr__(self, "context", "full" if self.context else "off")
        if self.context not in CONTEXTS:
            raise ConfigError(f"context: must be off, words or full, not {self.context!r}")
        if self.max_size < 1 or not 0 <= self.min_size <= self.max_size:
            raise ConfigError(
                f"min_size and max_size: need 0 <= min_size <= max_size and max_size >= 1, "
                f"not {self.min_size} and {self.max_size}"
            )
        if self.prepare_threshold is not None and self.prepare_threshold < 0:
            raise ConfigError("prepare_threshold: must be None or not negative")
        if self.connect_timeout <= 0:
            raise ConfigError("connect_timeout: must be a number of seconds above 0")

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Self:
        """The settings of MEMLAYER_* and OPENAI_*; ConfigError names a variable it cannot read.

        MEMLAYER_DSN, _READ_DSN, _READ_YOUR_WRITES, _TENANT, _DATA_DIR, _CUSTOM_INSTRUCTIONS,
        _CONTEXT, _MIN_SIZE, _MAX_SIZE, _PREPARE_THRESHOLD ("none" for never), _CONNECT_TIMEOUT;
        MEMLAYER_LLM_MODEL, _LLM_BASE_URL, _LLM_API_KEY, _LLM_TIMEOUT and the same with RERANKER,
        and with EMBEDDER, which has _EMBEDDER_DIMENSIONS too. OPENAI_API_KEY and OPENAI_BASE_URL
        stand in for llm and embedder; without any of them there is no llm, and no reranker without
        its own model or address.
        """
        env = dict(os.environ if environ is None else environ)
        return cls(
            dsn=_text(env, "MEMLAYER_DSN"),
            read_dsn=_text(env, "MEMLAYER_READ_DSN"),
            read_your_writes=_number(env, "MEMLAYER_READ_YOUR_WRITES", float, 1.0),
            tenant=_text(env, "MEMLAYER_TENANT") or TENANT,
            llm=_endpoint(env, "LLM", LLM_MODEL),
            embedder=_endpoint(env, "EMBEDDER", EMBEDDING_MODEL),
            reranker=_reranker(env),
            custom_instructions=_text(env, "MEMLAYER_CUSTOM_INSTRUCTIONS"),
            context=(_text(env, "MEMLAYER_CONTEXT") or "words").lower(),
            data_dir=Path(folder) if (folder := _text(env, "MEMLAYER_DATA_DIR")) else None,
            min_size=_number(env, "MEMLAYER_MIN_SIZE", int, 0),
            max_size=_number(env, "MEMLAYER_MAX_SIZE", int, 10),
            prepare_threshold=(
                None
                if env.get("MEMLAYER_PREPARE_THRESHOLD", "").strip().lower() == "none"
                else _number(env, "MEMLAYER_PREPARE_THRESHOLD", int, 5)
            ),
            connect_timeout=_number(env, "MEMLAYER_CONNECT_TIMEOUT", float, 30.0),
        )

    @classmethod
    def from_mem0(cls, config: Mapping[str, Any]) -> Self:
        """The settings of a mem0 configuration; ConfigError names what is not understood."""
        from memlayer_pg.mem0_config import settings

        return cls(**settings(config))

    def with_(self, **changes: Any) -> Self:
        """A copy in which every change that is not None has been made."""
        return replace(self, **{key: value for key, value in changes.items() if value is not None})


def check_tenant(tenant: object) -> None:
    """ConfigError unless this can be the name of a tenant."""
    if not isinstance(tenant, str) or not tenant or tenant == "*" or re.search(r"\s", tenant):
        raise ConfigError("tenant: must be a name without white space, and not '*'")
    if "\x00" in tenant or any("\ud800" <= letter <= "\udfff" for letter in tenant):
        raise ConfigError("tenant: must not hold NUL characters or half surrogate pairs")
    if len(tenant.encode()) > LONGEST_NAME:
        raise ConfigError(f"tenant: must not be longer than {LONGEST_NAME} bytes")


def _convert(
    of: Any, name: str, to: Callable[[str, Any, str], Any], must: str, optional: bool = True
) -> None:
    """Give a setting its type: text that holds a number becomes one."""
    value = getattr(of, name)
    if value is not None or not optional:
        object.__setattr__(of, name, to(name, value, must))


def _is_http(url: object) -> bool:
    try:
        return isinstance(url, str) and urlsplit(url).scheme in ("http", "https")
    except ValueError:  # half an IPv6 address
        return False


def libpq_url(dsn: str) -> str:
    """SQLAlchemy's `postgresql+psycopg://…` the way Postgres's own library reads it."""
    scheme, separator, rest = dsn.strip().partition("://")
    if not separator:
        return dsn.strip()
    if scheme in ("postgresql", "postgres", "postgresql+psycopg"):
        return f"postgresql://{rest}"
    raise ConfigError(f"dsn: {scheme}:// is not Postgres", suggestion="Write postgresql://…")


def nearest(name: object, known: Iterable[str]) -> str:
    """The known name that `name` was probably meant to be, as the end of a message."""
    close = difflib.get_close_matches(str(name), list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


SETTINGS = tuple(setting.name for setting in fields(Config))


def _text(env: Mapping[str, str], name: str) -> str | None:
    return env.get(name, "").strip() or None


def _number(env: Mapping[str, str], name: str, kind: type[Number], default: Number) -> Number:
    text = _text(env, name)
    if text is None:
        return default
    try:
        return kind(text)
    except ValueError:
        raise ConfigError(f"{name}: must be a number, not {text!r}") from None


def _endpoint(env: Mapping[str, str], which: str, model: str) -> Endpoint | None:
    """The endpoint the environment speaks of; None when it names neither model, key nor address."""
    prefix = f"MEMLAYER_{which}_"
    chosen = _text(env, prefix + "MODEL")
    address = _text(env, prefix + "BASE_URL")
    # OpenAI's key is for OpenAI's address, not for another that was named beside it.
    shared_key = None if address else _text(env, "OPENAI_API_KEY")
    key = _text(env, prefix + "API_KEY") or shared_key
    if chosen is None and address is None and key is None:
        return None
    return Endpoint(
        model=chosen or model,
        base_url=address or _text(env, "OPENAI_BASE_URL"),
        api_key=key,
        dimensions=_number(env, prefix + "DIMENSIONS", int, 0) or None,
        timeout=_number(env, prefix + "TIMEOUT", float, 60.0),
    )


def _reranker(env: Mapping[str, str]) -> Endpoint | None:
    """The reranker's endpoint: a key for other models does not make one."""
    if not (_text(env, "MEMLAYER_RERANKER_MODEL") or _text(env, "MEMLAYER_RERANKER_BASE_URL")):
        return None
    return _endpoint(env, "RERANKER", LLM_MODEL)
