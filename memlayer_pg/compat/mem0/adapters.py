"""mem0's models as ours, and ours as mem0's: programs call `m.llm` and put others in its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memlayer_pg.compat.mem0.configs.base import Fields
from memlayer_pg.config import Endpoint
from memlayer_pg.errors import ConfigError, InputError
from memlayer_pg.models import Chat, Embedder
from memlayer_pg.models.adapters import model_name

ANY_OBJECT = {"type": "object", "additionalProperties": True}
"""What a response_format of json_object asks for."""


class LLM:
    """The language model, with mem0's method."""

    def __init__(self, chat: Chat | None, endpoint: Endpoint | None) -> None:
        self._chat = chat
        self.config = _described(endpoint, getattr(chat, "name", None))

    def generate_response(
        self,
        messages: Sequence[dict[str, str]],
        response_format: Mapping[str, Any] | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        tool_choice: str = "auto",
        **kwargs: Any,
    ) -> str:
        """The model's answer as a text; LLMError when it gives none.

        `response_format`: of type json_object or json_schema asks for JSON. `tools`: InputError,
        ask the model with the client of your own. Other keywords are let pass.
        """
        if tools:
            raise InputError(
                "tools cannot be used here",
                suggestion="Ask the model with the openai client: m.config.llm has its settings.",
            )
        if self._chat is None:
            raise ConfigError(
                "no language model is configured",
                suggestion="Set OPENAI_API_KEY, or give llm in the configuration.",
            )
        return self._chat.generate(list(messages), _schema(response_format)).text


class EmbeddingModel:
    """The model that makes vectors, with mem0's methods."""

    def __init__(self, embedder: Embedder, endpoint: Endpoint | None) -> None:
        self._embedder = embedder
        self.name = embedder.name
        self.config = _described(endpoint, embedder.name)
        self.config["embedding_dims"] = endpoint and endpoint.dimensions

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """The vector of a text. `memory_action`: "search" for what is asked, else what is kept."""
        return self.embed_batch([text], memory_action or "add")[0]

    def embed_batch(self, texts: Sequence[str], memory_action: str = "add") -> list[list[float]]:
        """The vectors of several texts."""
        if memory_action != "search":
            return self._embedder.embed(list(texts), "document").vectors
        # Of a query the first text is the question: each is asked by itself.
        return [self._embedder.embed([text], "query").vectors[0] for text in texts]


class GivenLLM:
    """A language model of mem0's interface, as one that `Memory(llm=…)` takes."""

    def __init__(self, given: Any) -> None:
        self._given = given
        self.model = _name(given)

    def generate(
        self, messages: list[dict[str, str]], *, json_schema: Mapping[str, Any] | None = None
    ) -> str | None:
        """The model's answer."""
        wanted = {} if json_schema is None else {"response_format": {"type": "json_object"}}
        answer = self._given.generate_response(messages=messages, **wanted)
        return answer.get("content") if isinstance(answer, Mapping) else answer


class LangChainChat:
    """A chat model of LangChain's, as one that `Memory(llm=…)` takes."""

    def __init__(self, given: Any) -> None:
        self._given = given
        self.model = model_name(given)

    def generate(self, messages: list[dict[str, str]], *, json_schema: Any = None) -> Any:
        """The content of the model's answer."""
        return self._given.invoke(messages).content

    async def agenerate(self, messages: list[dict[str, str]], *, json_schema: Any = None) -> Any:
        """`generate`, awaited."""
        return (await self._given.ainvoke(messages)).content


class GivenEmbedder:
    """An embedder of mem0's interface, as one that `Memory(embedder=…)` takes."""

    def __init__(self, given: Any) -> None:
        self._given = given
        self.model = _name(given)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector for each text that is kept."""
        return [self._given.embed(text, "add") for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        found: list[float] = self._given.embed(text, "search")
        return found


def _name(given: Any) -> str:
    """The name of a model, which mem0's objects have in their config."""
    config = getattr(given, "config", None)
    return model_name(config) if hasattr(config, "model") else model_name(given)


def _described(endpoint: Endpoint | None, name: str | None) -> Fields:
    """What mem0's models say of themselves: no key."""
    if endpoint is None:
        return Fields(model=name)
    return Fields(
        model=endpoint.model,
        openai_base_url=endpoint.base_url,
        temperature=endpoint.temperature,
        max_tokens=endpoint.max_tokens,
    )


def _schema(response_format: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if response_format is None or response_format.get("type") in (None, "text"):
        return None
    given = response_format.get("json_schema")
    schema = given.get("schema") if isinstance(given, Mapping) else None
    return dict(schema) if isinstance(schema, Mapping) else dict(ANY_OBJECT)
