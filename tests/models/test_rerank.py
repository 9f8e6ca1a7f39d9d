"""Rerankers: the language model's, and objects of the program's own."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest

from memlayer_pg.config import Config
from memlayer_pg.effects import Rerank
from memlayer_pg.errors import ConfigError, LLMError, ModelError
from memlayer_pg.models import rerank, reranker_for
from tests.endpoint import Endpoint, completion, refusal
from tests.models.ways import both_ways, settings

TEXTS = ("the river", "green tea", "the tea house")
QUERY = "What does Ann drink?"


def documents() -> list[dict[str, Any]]:
    return [{"id": str(n), "memory": text, "score": 0.5} for n, text in enumerate(TEXTS)]


def order(reranker: Any, way: str, top_k: int = 20) -> list[tuple[str, float | None]]:
    """The texts in the order of a reranker with their scores."""
    effect = Rerank(QUERY, documents(), top_k)
    if way == "async":
        found = asyncio.run(awaited(reranker, effect))
    else:
        found = rerank.ask(reranker, effect)
    assert effect.documents == documents(), "the results themselves must not be touched"
    assert all(item["score"] == 0.5 for item in found)
    return [(item["memory"], item["rerank_score"]) for item in found]


async def awaited(reranker: Any, effect: Rerank) -> list[dict[str, Any]]:
    try:
        return await rerank.aask(reranker, effect)
    finally:
        if isinstance(reranker, rerank.LLMReranker):
            await reranker.aclose()


@pytest.fixture
def llm(endpoint: Endpoint) -> Any:
    """Makes the reranker of a language model of the scripted server."""

    def make(**more: Any) -> Any:
        made = reranker_for(Config(reranker=settings(endpoint, **more)))
        opened.append(made)
        return made

    opened: list[Any] = []
    yield make
    for reranker in opened:
        reranker.close()


@both_ways
def test_a_language_model_scores_all_documents_in_one_request(
    endpoint: Endpoint, llm: Any, way: str
) -> None:
    endpoint.reply(
        '{"scores": [{"index": 0, "score": 0.1}, {"index": 1, "score": 0.9},'
        ' {"index": 2, "score": 0.35}]}'
    )
    reranker = llm()
    assert order(reranker, way) == [
        ("green tea", 0.9),
        ("the tea house", 0.35),
        ("the river", 0.1),
    ]
    assert order(reranker, way, top_k=1) == [("green tea", 0.9)]
    asked, _ = endpoint.chats
    assert asked["response_format"]["json_schema"]["strict"] is True
    assert json.loads(asked["messages"][1]["content"]) == {
        "query": QUERY,
        "documents": [{"index": n, "text": text} for n, text in enumerate(TEXTS)],
    }


SCORES = {
    "fenced, after a thought": (
        '<think>{"scores": [{"index": 0, "score": 1}]}</think>\n'
        '```json\n{"scores": [{"index": 1, "score": 0.9}]}\n```',
        [None, 0.9, None],
    ),
    "a bare list": ('[{"index": 2, "score": 0.5}, {"index": 0, "score": 0.4}]', [0.4, None, 0.5]),
    "other names": ('{"results": [{"index": "1", "relevance_score": "0.7"}]}', [None, 0.7, None]),
    "by number": ('{"0": 0.1, "1": 0.2, "2": 0.3}', [0.1, 0.2, 0.3]),
    "by number, wrapped": ('{"scores": {"2": 0.3}}', [None, None, 0.3]),
    "a number each": ("[0.3, 0.2, 0.1]", [0.3, 0.2, 0.1]),
    "pairs": ("[[2, 0.3], [1, 0.2]]", [None, 0.2, 0.3]),
    "a document that is not there": (
        '[{"index": 3, "score": 1}, {"index": -1, "score": 1}, {"index": 0, "score": 0.6}]',
        [0.6, None, None],
    ),
    "a document twice": ('[{"index": 0, "score": 0.6}, {"index": 0, "score": 0.2}]',
                         [0.6, None, None]),
    "no number": ('[{"index": 0, "score": true}, {"index": 1, "score": 0.2}]', [None, 0.2, None]),
    "up to ten": ("[8, 2.5, 0]", [0.8, 0.25, 0.0]),
    "up to a hundred": ("[80, 25, -5]", [0.8, 0.25, 0.0]),
    "cut short": ('{"scores": [{"index": 2, "score": 0.5}, {"index": 1, "sc', [None, None, 0.5]),
}  # fmt: skip


@pytest.mark.parametrize(("answer", "wanted"), SCORES.values(), ids=SCORES)
def test_scores_are_read_however_they_are_written(
    endpoint: Endpoint, llm: Any, answer: str, wanted: list[float | None]
) -> None:
    endpoint.reply(answer)
    assert dict(order(llm(), "sync")) == dict(zip(TEXTS, wanted, strict=True))


def test_what_got_no_score_keeps_its_place_behind_the_others(endpoint: Endpoint, llm: Any) -> None:
    endpoint.reply('{"scores": [{"index": 2, "score": 0.0}]}')
    assert [text for text, _ in order(llm(), "sync")] == [TEXTS[2], TEXTS[0], TEXTS[1]]


def test_equal_scores_leave_the_order_as_it_was(endpoint: Endpoint, llm: Any) -> None:
    endpoint.reply("[0.5, 0.7, 0.5]")
    assert [text for text, _ in order(llm(), "sync")] == [TEXTS[1], TEXTS[0], TEXTS[2]]


SILENCE = {
    "empty": completion(""),
    "prose": completion("I like the second one."),
    "nothing": '{"scores": []}',
    "only unknown": '[{"index": 9, "score": 1}]',
    "too few numbers": "[0.1, 0.2]",
    "refused": completion(None, refusal="No."),
    "down": refusal(500, "down"),
}


@both_ways
@pytest.mark.parametrize("answer", SILENCE.values(), ids=SILENCE)
def test_an_answer_without_scores_is_an_error(
    endpoint: Endpoint, llm: Any, way: str, answer: Any
) -> None:
    endpoint.reply(answer)
    with pytest.raises(LLMError, match=r"^reranking failed: "):
        order(llm(max_retries=0), way)


def test_a_prompt_keeps_its_size_whatever_was_found(endpoint: Endpoint) -> None:
    long = [{"memory": "x" * 1_000_000}] * 30
    sent = rerank.request("q" * 1_000_000, long)[1]["content"]
    assert len(sent) < rerank.PROMPT + rerank.MOST + 2_000
    shown = json.loads(rerank.request("q", long[:1])[1]["content"])["documents"]
    assert len(shown[0]["text"]) == rerank.MOST
    many = json.loads(rerank.request("q", long * 40)[1]["content"])["documents"]
    assert {len(item["text"]) for item in many} == {rerank.LEAST}


class Cohere:
    """Gives what Cohere's client gives."""

    def rerank(self, query: str, documents: list[Any], top_k: int) -> Any:
        scored = [(1, 0.98), (0, 0.02)]
        items = [SimpleNamespace(index=n, relevance_score=score) for n, score in scored]
        return SimpleNamespace(results=items[:top_k])


class AwaitableCohere(Cohere):
    async def arerank(self, query: str, documents: list[Any], top_k: int) -> Any:
        return self.rerank(query, documents, top_k)


class Coroutine:
    async def rerank(self, query: str, documents: list[Any], top_k: int) -> Any:
        return Cohere().rerank(query, documents, top_k)


class Raw:
    def rerank(self, query: str, documents: list[Any], top_k: int) -> Any:
        return {"results": [{"index": 1, "relevance_score": 0.98}, {"index": 0, "score": 0.02}]}


class Mem0s:
    """As mem0's own: results in another order."""

    def rerank(self, query: str, documents: list[Any], top_k: int) -> Any:
        documents[0]["rerank_score"] = 0.02
        documents[1]["rerank_score"] = 0.98
        return [documents[1], documents[0]]


OWN: list[tuple[Any, str]] = [
    (Cohere(), "sync"),
    (Cohere(), "async"),
    (AwaitableCohere(), "async"),
    (Coroutine(), "async"),
    (Raw(), "sync"),
    (Mem0s(), "sync"),
    (Mem0s(), "async"),
]


@pytest.mark.parametrize(
    ("given", "way"), OWN, ids=[f"{type(given).__name__}, {way}" for given, way in OWN]
)
def test_an_object_of_the_program_is_asked(given: Any, way: str) -> None:
    reranker = reranker_for(Config(reranker=given))
    assert reranker is given
    assert order(reranker, way) == [("green tea", 0.98), ("the river", 0.02)]
    assert order(reranker, way, top_k=1) == [("green tea", 0.98)]


class Encoder:
    """A cross-encoder, which gives an array."""

    def predict(self, pairs: list[tuple[str, str]]) -> Any:
        assert [query for query, _ in pairs] == [QUERY] * 3
        scores = [5.5 if "green" in text else -1.0 for _, text in pairs]
        return SimpleNamespace(tolist=lambda: scores)


@both_ways
def test_a_cross_encoder_is_asked(way: str) -> None:
    assert order(reranker_for(Config(reranker=Encoder())), way) == [
        ("green tea", 5.5),
        ("the river", -1.0),
        ("the tea house", -1.0),
    ]


class Wrong:
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def rerank(self, query: str, documents: list[Any], top_k: int) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@both_ways
@pytest.mark.parametrize(
    "answer", [None, "abc", 3, ["green tea"], [0.1, 0.2], {"a": 1}, KeyError("x")], ids=repr
)
def test_whatever_goes_wrong_in_a_reranker_is_one_error(way: str, answer: Any) -> None:
    with pytest.raises(ModelError, match="the reranker"):
        order(Wrong(answer), way)


NAN = float("nan")


@both_ways
@pytest.mark.parametrize(
    "answer",
    [
        [NAN, 0.5, 0.5],
        [{"index": 0, "score": NAN}, {"index": 1, "score": 0.5}],
        [{"index": 0, "relevance_score": "high"}, {"index": 1, "relevance_score": 0.5}],
        [(0, NAN), (1, 0.5)],
        [{"memory": "the river", "score": 0.5, "rerank_score": NAN}],
        [{"memory": "the river", "score": 0.5, "rerank_score": "high"}],
    ],
    ids=repr,
)
def test_a_score_that_is_no_number_is_an_error_and_loses_no_result(way: str, answer: Any) -> None:
    with pytest.raises(ModelError, match="the reranker gave a"):
        order(Wrong(answer), way)


@pytest.mark.parametrize("given", [Coroutine(), SimpleNamespace(arerank=Coroutine().rerank)])
def test_a_reranker_that_only_awaits_is_refused_where_nothing_awaits(given: Any) -> None:
    with pytest.raises(ModelError, match="AsyncMemory"):
        order(given, "sync")


def test_an_object_that_cannot_rerank_is_refused_at_once() -> None:
    with pytest.raises(ConfigError, match=r"reranker: needs a method rerank\(query, documents"):
        reranker_for(Config(reranker=object()))


def test_a_reranker_without_key_or_address_is_refused_by_its_name() -> None:
    with pytest.raises(ConfigError, match=r"^reranker: neither api_key nor base_url"):
        reranker_for(Config(reranker=settings(SimpleNamespace(base_url=None), api_key=None)))
