"""The models: what turns talk into facts, and texts into vectors.

Whatever they are, a driver uses them through `Embedder` and `Chat`.

And SQLAlchemy's models of the schema, for programs that read it with an ORM: `metadata`, and a
class for each table (`Memory`, `History`) and view (`Memories`, `Changes`). They are read-only, and
made when the first of them is asked for. A column named metadata is the attribute `metadata_`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol

from memlayer_pg.config import Config, Endpoint
from memlayer_pg.effects import Embedded, Generated, Purpose

log = logging.getLogger("memlayer_pg")


class Embedder(Protocol):
    """Texts to vectors. `name` is recorded with every vector: vectors of two names never meet.

    Of purpose "query" the first text is the question, those behind it are names that stand in it.
    """

    name: str

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Embedded: ...
    async def aembed(self, texts: Sequence[str], purpose: Purpose) -> Embedded: ...
    def close(self) -> None: ...
    async def aclose(self) -> None: ...


class Chat(Protocol):
    """Messages to an answer, which follows `schema` as far as the model can be made to."""

    name: str

    def generate(
        self, messages: Sequence[dict[str, str]], schema: dict[str, Any] | None = None
    ) -> Generated: ...
    async def agenerate(
        self, messages: Sequence[dict[str, str]], schema: dict[str, Any] | None = None
    ) -> Generated: ...
    def close(self) -> None: ...
    async def aclose(self) -> None: ...


def embedder_for(config: Config, given: object | None = None) -> Embedder:
    """The object given, else the endpoint configured, else the local model.

    ConfigError when the object is no embedder, or when there is nothing to fall back on.
    """
    if given is not None:
        from memlayer_pg.models.adapters import GivenEmbedder

        return given if _is(given, "embed", "aembed") else GivenEmbedder(given)  # type: ignore[return-value]
    if config.embedder is not None:
        from memlayer_pg.models.embeddings import OpenAIEmbedder

        return OpenAIEmbedder(config.embedder)
    from memlayer_pg.models.local import LocalEmbedder

    return LocalEmbedder()


def chat_for(config: Config, given: object | None = None) -> Chat | None:
    """The object given, else the endpoint configured, else None: messages are stored verbatim.

    None is said once in the log, since it changes what a memory is.
    """
    if given is not None:
        from memlayer_pg.models.adapters import GivenChat

        return given if _is(given, "generate", "agenerate", "aclose") else GivenChat(given)  # type: ignore[return-value]
    if config.llm is not None:
        from memlayer_pg.models.chat import OpenAIChat

        return OpenAIChat(config.llm)
    log.warning(
        "no language model is configured: messages are stored word for word, no facts are drawn "
        "from them. Set OPENAI_API_KEY, or MEMLAYER_LLM_BASE_URL and MEMLAYER_LLM_MODEL, or pass "
        "llm= to change that."
    )
    return None


def reranker_for(config: Config) -> Any:
    """The reranker configured: an endpoint's language model, the object given, or None.

    ConfigError when the object is no reranker. An object is kept as it is: `models.rerank` says
    what it needs, and asks it.
    """
    given = config.reranker
    if given is None:
        return None
    from memlayer_pg.models import rerank

    if not isinstance(given, Endpoint):
        return rerank.check(given)
    from memlayer_pg.models.chat import OpenAIChat

    return rerank.LLMReranker(OpenAIChat(given, setting="reranker", failed=rerank.FAILED))


def _is(given: object, *methods: str) -> bool:
    """Whether an object has our own interface already."""
    return isinstance(getattr(given, "name", None), str) and all(
        callable(getattr(given, method, None)) for method in methods
    )


def __getattr__(name: str) -> Any:
    """The mapped classes, without loading SQLAlchemy for those who do not use them."""
    if name == "metadata" or name[0].isupper():
        mapped = import_module("memlayer_pg.models.mapped")
        if name == "metadata":
            return mapped.metadata
        if name in mapped.classes:
            return mapped.classes[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
