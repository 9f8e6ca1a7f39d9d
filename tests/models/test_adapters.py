"""Models that the program brings itself."""

from __future__ import annotations

import array
import threading
from typing import Any

import pytest

from memlayer_pg.config import Config
from memlayer_pg.errors import ConfigError, EmbeddingError, LLMError
from memlayer_pg.models import chat_for, embedder_for
from memlayer_pg.models.chat import OpenAIChat
from tests.endpoint import Endpoint
from tests.models.ways import QUESTION, SCHEMA, ask, both_ways, embed, settings


class Words:
    """An embedder with LangChain's methods."""

    model = "words-1"

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.threads: set[int] = set()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.calls.append(("documents", texts))
        self.threads.add(threading.get_ident())
        return [[1.0, float(len(text))] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        self.calls.append(("query", text))
        self.threads.add(threading.get_ident())
        return [2.0, float(len(text))]


class AwaitableWords(Words):
    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.embed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        return self.embed_query(text)


class Echo:
    """A language model of the program."""

    model_name = "echo-1"

    def __init__(self, answer: Any = '{"facts": ["A"]}') -> None:
        self.answer = answer
        self.calls: list[Any] = []
        self.threads: set[int] = set()

    def generate(self, messages: list[dict[str, str]], *, json_schema: Any = None) -> Any:
        self.calls.append((messages, json_schema))
        self.threads.add(threading.get_ident())
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class AwaitableEcho(Echo):
    async def agenerate(self, messages: list[dict[str, str]], *, json_schema: Any = None) -> Any:
        return self.generate(messages, json_schema=json_schema)


@both_ways
@pytest.mark.parametrize("kind", [Words, AwaitableWords])
def test_documents_and_questions_go_to_their_own_method(way: str, kind: Any) -> None:
    given = kind()
    embedder = embedder_for(Config(), given)
    assert embed(embedder, way, "a", "bc").vectors == [[1.0, 1.0], [1.0, 2.0]]
    found = embed(embedder, way, "who?", "Ann", "Bob", purpose="query")
    assert found.vectors == [[2.0, 4.0], [1.0, 3.0], [1.0, 3.0]]
    assert found.model == embedder.name == "words-1"
    assert given.calls[1:] == [("query", "who?"), ("documents", ["Ann", "Bob"])]


@pytest.mark.parametrize(("kind", "here"), [(Words, False), (AwaitableWords, True)])
def test_only_what_cannot_be_awaited_runs_in_a_thread(kind: Any, here: Any) -> None:
    given, model = kind(), (AwaitableEcho if here else Echo)()
    embed(embedder_for(Config(), given), "async", "a")
    ask(chat_for(Config(), model), "async")
    for threads in (given.threads, model.threads):
        assert (threads == {threading.get_ident()}) is here


@both_ways
@pytest.mark.parametrize("kind", [Echo, AwaitableEcho])
def test_a_language_model_gets_messages_and_schema(way: str, kind: Any) -> None:
    given = kind()
    [found] = ask(chat_for(Config(), given), way)
    assert (found.text, found.model, found.finish_reason) == ('{"facts": ["A"]}', "echo-1", None)
    assert given.calls == [(QUESTION, SCHEMA)]


@both_ways
@pytest.mark.parametrize("answer", [{"facts": []}, 5, ["A"]])
def test_an_answer_that_is_no_text_is_an_error(way: str, answer: Any) -> None:
    with pytest.raises(LLMError, match="not a text"):
        ask(chat_for(Config(), Echo(answer)), way)


@both_ways
def test_what_a_model_of_the_program_raises_is_the_cause(way: str) -> None:
    problem = RuntimeError("overheated")
    with pytest.raises(LLMError, match="LLM extraction failed: overheated") as caught:
        ask(chat_for(Config(), Echo(problem)), way)
    assert caught.value.__cause__ is problem


@both_ways
@pytest.mark.parametrize(
    ("vectors", "words"),
    [
        ([[1.0]], "1 vectors for 2 texts"),
        ([[1.0], [0.0]], "zeros"),
        ([[1.0], None], "not a list"),
        (None, "no list"),
        ([[1.0], [1.0, 2.0]], "dimensions"),
    ],
)
def test_vectors_are_checked_whoever_made_them(way: str, vectors: Any, words: str) -> None:
    class Wrong(Words):
        def embed_documents(self, texts: list[str]) -> Any:
            return vectors

    with pytest.raises(EmbeddingError, match=words):
        embed(embedder_for(Config(), Wrong()), way, "a", "b")


def test_arrays_are_as_good_as_lists() -> None:
    class Arrays(Words):
        def embed_documents(self, texts: list[str]) -> Any:
            return [array.array("f", [1.0, 2.0]) for _ in texts]

    assert embed(embedder_for(Config(), Arrays()), "sync", "a").vectors == [[1.0, 2.0]]


class Narrow(Words):
    """Takes 3,000 characters at most."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if max(map(len, texts)) > 3000:
            raise ValueError("input exceeds the maximum length of 3000 characters")
        return super().embed_documents(texts)


class AwaitableNarrow(Narrow, AwaitableWords):
    pass


@both_ways
@pytest.mark.parametrize("kind", [Narrow, AwaitableNarrow])
def test_a_long_text_is_shortened_until_the_embedder_takes_it(way: str, kind: type[Words]) -> None:
    found = embed(embedder_for(Config(), kind()), way, "喜x" * 200_000, "short")
    assert 1000 < found.vectors[0][1] <= 3000
    assert found.vectors[1] == [1.0, 5.0]


def test_the_name_of_a_model_is_what_it_says_or_its_class() -> None:
    class Nameless(Words):
        model = " "

    class Sized(Words):
        dimensions = 256

    assert embedder_for(Config(), Nameless()).name == "Nameless"
    assert embedder_for(Config(), Sized()).name == "words-1@256"


@pytest.mark.parametrize("given", ["gpt-5", 5, object(), Echo()])
def test_what_is_no_embedder_is_a_config_error(given: Any) -> None:
    with pytest.raises(ConfigError, match="embed_documents"):
        embedder_for(Config(), given)


@pytest.mark.parametrize("given", ["gpt-5", 5, object(), Words()])
def test_what_is_no_language_model_is_a_config_error(given: Any) -> None:
    with pytest.raises(ConfigError, match="generate"):
        chat_for(Config(), given)


def test_what_is_given_wins_over_what_is_configured(endpoint: Endpoint) -> None:
    config = Config(llm=settings(endpoint), embedder=settings(endpoint))
    ask(chat_for(config, Echo()), "sync")
    embed(embedder_for(config, Words()), "sync", "a")
    assert endpoint.requests == []


def test_a_model_of_ours_is_used_as_it_is(endpoint: Endpoint) -> None:
    chat = OpenAIChat(settings(endpoint))
    assert chat_for(Config(), chat) is chat
