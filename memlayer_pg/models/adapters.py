"""Models that the program brings as objects of its own.

An embedder has LangChain's `embed_documents(texts)` and `embed_query(text)`, and may have
`aembed_documents` and `aembed_query`. A language model has
`generate(messages, *, json_schema=None) -> str`, and may have `agenerate`. Where there is no
awaitable method, `AsyncMemory` calls the other in a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from memlayer_pg.effects import Embedded, Generated, Purpose
from memlayer_pg.errors import ConfigError, EmbeddingError, LLMError, MemlayerError, ModelError
from memlayer_pg.models import vectors
from memlayer_pg.models.budget import NARROWEST, WINDOW, estimate, shortened, split
from memlayer_pg.models.dialect import speaks_of_length
from memlayer_pg.models.embeddings import named


class GivenEmbedder:
    """An embedder of the program's own; `name` is its `model` or `model_name`, else its class."""

    def __init__(self, given: Any) -> None:
        if not _has(given, "embed_documents") or not _has(given, "embed_query"):
            raise ConfigError(
                "embedder: an embedder needs embed_documents(texts) and embed_query(text), "
                f"{type(given).__name__} has not both"
            )
        self._given = given
        dimensions = getattr(given, "dimensions", None)
        self.name = named(model_name(given), dimensions if isinstance(dimensions, int) else None)

    def __repr__(self) -> str:
        return f"GivenEmbedder({self.name!r})"

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Embedded:
        """One vector for each text, in order; EmbeddingError around whatever the object raises."""
        window: float = WINDOW
        while True:
            short = [shortened(text, window) for text in texts]
            try:
                with _as(EmbeddingError, "embedding failed"):
                    asked, told = split(short, purpose)
                    found = [self._given.embed_query(text) for text in asked]
                    found += _list(self._given.embed_documents(told)) if told else []
                return Embedded(vectors.checked(found, len(short)), self.name)
            except EmbeddingError as error:
                window = _narrower(window, short, error)

    async def aembed(self, texts: Sequence[str], purpose: Purpose) -> Embedded:
        """`embed`, awaited where the object can be awaited, else in a thread."""
        if not _has(self._given, "aembed_documents") or not _has(self._given, "aembed_query"):
            return await asyncio.to_thread(self.embed, texts, purpose)
        window: float = WINDOW
        while True:
            short = [shortened(text, window) for text in texts]
            try:
                with _as(EmbeddingError, "embedding failed"):
                    asked, told = split(short, purpose)
                    found = [await self._given.aembed_query(text) for text in asked]
                    found += _list(await self._given.aembed_documents(told)) if told else []
                return Embedded(vectors.checked(found, len(short)), self.name)
            except EmbeddingError as error:
                window = _narrower(window, short, error)

    def close(self) -> None:
        """Nothing: who brought the object closes it."""

    async def aclose(self) -> None:
        """Nothing: who brought the object closes it."""


class GivenChat:
    """A language model of the program's own; named as an embedder is."""

    def __init__(self, given: Any) -> None:
        if not _has(given, "generate"):
            raise ConfigError(
                "llm: a language model needs generate(messages, *, json_schema=None), "
                f"{type(given).__name__} has no such method"
            )
        self._given = given
        self.name = model_name(given)

    def __repr__(self) -> str:
        return f"GivenChat({self.name!r})"

    def generate(
        self, messages: Sequence[dict[str, str]], schema: dict[str, Any] | None = None
    ) -> Generated:
        """The model's answer; LLMError around whatever the object raises."""
        with _as(LLMError, "LLM extraction failed"):
            text = self._given.generate(list(messages), json_schema=schema)
        return self._generated(text)

    async def agenerate(
        self, messages: Sequence[dict[str, str]], schema: dict[str, Any] | None = None
    ) -> Generated:
        """`generate`, awaited where the object can be awaited, else in a thread."""
        if not _has(self._given, "agenerate"):
            return await asyncio.to_thread(self.generate, messages, schema)
        with _as(LLMError, "LLM extraction failed"):
            text = await self._given.agenerate(list(messages), json_schema=schema)
        return self._generated(text)

    def close(self) -> None:
        """Nothing: who brought the object closes it."""

    async def aclose(self) -> None:
        """Nothing: who brought the object closes it."""

    def _generated(self, text: Any) -> Generated:
        if text is not None and not isinstance(text, str):
            raise LLMError(
                f"LLM extraction failed: generate() gave {type(text).__name__}, not a text"
            )
        return Generated(text or "", self.name)


def model_name(given: Any) -> str:
    """The name under which an object's model is recorded."""
    for attribute in ("model", "model_name"):
        name = getattr(given, attribute, None)
        if isinstance(name, str) and name.strip():
            return name.strip()
    return type(given).__name__


def _list(found: Any) -> list[Any]:
    """The vectors of `embed_documents`, a list or an array of numpy."""
    found = found.tolist() if hasattr(found, "tolist") else found
    if not isinstance(found, list | tuple):
        raise EmbeddingError("embedding failed: embed_documents gave no list")
    return list(found)


def _narrower(window: float, texts: Sequence[str], error: EmbeddingError) -> float:
    """Half of what was tried, when the error is that a text was too long; else the error."""
    longest = max(map(estimate, texts), default=0)
    if longest < 2 * NARROWEST or not speaks_of_length(error.message):
        raise error
    return min(window, longest) / 2


def _has(given: Any, method: str) -> bool:
    return callable(getattr(given, method, None))


@contextmanager
def _as(kind: type[ModelError], failed: str) -> Iterator[None]:
    """What foreign code raises, as an error of ours: any exception, since it is not our code."""
    try:
        yield
    except MemlayerError:
        raise
    except Exception as error:
        raise kind(f"{failed}: {error or type(error).__name__}") from error
