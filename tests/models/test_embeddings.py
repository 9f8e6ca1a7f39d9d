"""The embedder over real HTTP: one usable vector for each text, or an error that says why not."""

from __future__ import annotations

from typing import Any

import openai
import pytest

from memlayer_pg.errors import EmbeddingError
from memlayer_pg.models.budget import WINDOW, estimate, shortened
from memlayer_pg.models.embeddings import OpenAIEmbedder
from tests.endpoint import Endpoint, embeddings, pack, refusal
from tests.models.ways import AT_ONCE, both_ways, embed, settings


@both_ways
def test_every_text_has_its_vector(endpoint: Endpoint, way: str) -> None:
    found = embed(OpenAIEmbedder(settings(endpoint)), way, "green tea", "red wine")
    assert found.vectors == [endpoint.embed("green tea"), endpoint.embed("red wine")]
    assert (found.model, found.tokens) == ("m", 2)
    assert endpoint.requests[0].json == {
        "model": "m",
        "input": ["green tea", "red wine"],
        "encoding_format": "base64",
    }


@both_ways
def test_no_texts_need_no_request(endpoint: Endpoint, way: str) -> None:
    assert embed(OpenAIEmbedder(settings(endpoint)), way).vectors == []
    assert endpoint.requests == []


@both_ways
def test_a_server_that_knows_only_floats_is_understood(endpoint: Endpoint, way: str) -> None:
    endpoint.embeddings = lambda request: embeddings([endpoint.embed(t) for t in request["input"]])
    assert embed(OpenAIEmbedder(settings(endpoint)), way, "tea").vectors == [endpoint.embed("tea")]


@both_ways
def test_a_server_that_refuses_base64_is_asked_without_from_then_on(
    endpoint: Endpoint, way: str
) -> None:
    def refuse(request: dict[str, Any]) -> Any:
        if "encoding_format" in request:
            return 422, {"detail": [{"loc": ["body", "encoding_format"], "msg": "extra"}]}
        return None

    endpoint.embeddings = refuse
    found = embed(OpenAIEmbedder(settings(endpoint)), way, "tea", times=2)
    assert found.vectors == [endpoint.embed("tea")]
    assert ["encoding_format" in r.json for r in endpoint.requests] == [True, False, False]


@both_ways
def test_dimensions_are_sent_only_when_configured(endpoint: Endpoint, way: str) -> None:
    embedder = OpenAIEmbedder(settings(endpoint, dimensions=16))
    found = embed(embedder, way, "tea")
    assert endpoint.requests[0].json["dimensions"] == 16
    assert found.vectors == [endpoint.embed("tea", 16)]
    assert found.model == embedder.name == "m@16"


@both_ways
def test_a_server_that_refuses_dimensions_must_have_the_right_ones(way: str) -> None:
    with Endpoint(dimensions=16) as server:
        server.embeddings = lambda request: (
            refusal(400, "This model does not support specifying dimensions.")
            if "dimensions" in request
            else None
        )
        found = embed(OpenAIEmbedder(settings(server, dimensions=16)), way, "tea", times=2)
        assert len(found.vectors[0]) == 16
        assert ["dimensions" in r.json for r in server.requests] == [True, False, False]
        with pytest.raises(EmbeddingError, match="has 16 dimensions, 32 were asked for") as caught:
            embed(OpenAIEmbedder(settings(server, dimensions=32)), way, "tea")
        assert caught.value.details == {"expected": 32, "actual": 16}


@both_ways
def test_vectors_are_put_in_the_order_of_their_texts(endpoint: Endpoint, way: str) -> None:
    def shuffled(request: dict[str, Any]) -> Any:
        body = embeddings([endpoint.embed(text) for text in request["input"]])
        return {**body, "data": body["data"][::-1]}

    endpoint.embeddings = shuffled
    found = embed(OpenAIEmbedder(settings(endpoint)), way, "tea", "wine", "milk")
    assert found.vectors == [endpoint.embed(text) for text in ("tea", "wine", "milk")]


def data(*vectors: Any, indexes: list[Any] | None = None) -> dict[str, Any]:
    places = indexes if indexes is not None else list(range(len(vectors)))
    return {"data": [{"index": i, "embedding": v} for i, v in zip(places, vectors, strict=True)]}


NAN, INF = float("nan"), float("inf")
WRONG: dict[str, tuple[Any, str]] = {
    "too few": (data([1.0]), "1 vectors for 2 texts"),
    "too many": (data([1.0], [1.0], [1.0]), "3 vectors for 2 texts"),
    "one place twice": (data([1.0], [1.0], indexes=[0, 0]), "numbered"),
    "a place that is none": (data([1.0], [1.0], indexes=[1, 2]), "numbered"),
    "half of them numbered": (data([1.0], [1.0], indexes=[0, None]), "numbered"),
    "two sizes": (data([1.0], [1.0, 2.0]), "vector 2 has 2 dimensions, the first has 1"),
    "not a number": (data([1.0], [NAN]), "vector 2 .* not finite"),
    "infinite": (data([INF], [1.0]), "vector 1 .* not finite"),
    "infinite in base64": (data([1.0], pack([INF])), "vector 2 .* not finite"),
    "zeros": (data([1.0, 0.0], [0.0, 0.0]), "vector 2 consists of zeros"),
    "too large": (data([1.0], [70000.0]), "vector 2 holds values above 65504"),
    "empty": (data([], []), "vector 1 is empty"),
    "null": (data(None, [1.0]), "vector 1 is not a list of numbers"),
    "texts": (data(["1"], [1.0]), "vector 1 is not a list of numbers"),
    "nulls": (data([None], [1.0]), "vector 1 is not a list of numbers"),
    "broken base64": (data("###", [1.0]), "vector 1 is not readable base64"),
    "cut base64": (data("AAA=", [1.0]), "vector 1 is not readable base64"),
    "no data": ({}, "no list of vectors"),
    "data of texts": ({"data": ["a", "b"]}, "no list of vectors"),
    "an error with status 200": ({"error": {"message": "x"}}, "reported an error"),
    "a list": ((200, []), "not a list of embeddings"),
    "no JSON": ((200, b"oops"), "not JSON"),
}


@both_ways
@pytest.mark.parametrize(("body", "words"), WRONG.values(), ids=WRONG)
def test_vectors_that_cannot_be_used_are_an_error(
    endpoint: Endpoint, way: str, body: Any, words: str
) -> None:
    endpoint.embeddings = lambda request: body
    with pytest.raises(EmbeddingError, match=words):
        embed(OpenAIEmbedder(settings(endpoint)), way, "tea", "wine")


@both_ways
def test_vectors_without_numbers_are_taken_as_they_come(endpoint: Endpoint, way: str) -> None:
    endpoint.embeddings = lambda request: data([1.0], [2.0], indexes=[None, None])
    assert embed(OpenAIEmbedder(settings(endpoint)), way, "a", "b").vectors == [[1.0], [2.0]]


@both_ways
def test_many_texts_travel_in_several_requests(endpoint: Endpoint, way: str) -> None:
    texts = [f"text {n}" for n in range(300)]
    found = embed(OpenAIEmbedder(settings(endpoint)), way, *texts)
    assert found.vectors == [endpoint.embed(text) for text in texts]
    assert found.tokens == 300
    assert [len(batch) for batch in endpoint.embedded] == [128, 128, 44]


@both_ways
def test_a_change_of_size_between_requests_is_an_error(endpoint: Endpoint, way: str) -> None:
    endpoint.embeddings = lambda request: embeddings(
        [[1.0] * len(request["input"])] * len(request["input"])
    )
    with pytest.raises(EmbeddingError, match="vector 129 has 2 dimensions, the first has 128"):
        embed(OpenAIEmbedder(settings(endpoint)), way, *["x"] * 130)


@both_ways
def test_a_long_text_is_embedded_by_its_beginning(endpoint: Endpoint, way: str) -> None:
    text = "喜欢 tea " * 60_000
    embed(OpenAIEmbedder(settings(endpoint)), way, text, "short")
    long, short = endpoint.embedded[0]
    assert text.startswith(long)
    assert 0.9 * WINDOW < estimate(long) <= WINDOW
    assert short == "short"


@both_ways
@pytest.mark.parametrize(
    "words",
    [
        "This model's maximum context length is 512 tokens, however you requested 9000 tokens",
        "input is too long",
        "Input length exceeds maximum allowed token size",
        "at most 4000 characters allowed, too large",
    ],
)
def test_an_endpoint_that_takes_less_is_found_out_and_remembered(
    endpoint: Endpoint, way: str, words: str
) -> None:
    endpoint.embeddings = lambda request: (
        refusal(400, words) if any(len(text) > 4000 for text in request["input"]) else None
    )
    embed(OpenAIEmbedder(settings(endpoint)), way, "喜x" * 200_000, "short", times=2)
    sizes = [len(texts[0]) for texts in endpoint.embedded]
    assert sizes == sorted(sizes, reverse=True)
    assert 2000 <= sizes[-1] <= 4000
    assert sizes[-2] == sizes[-1]
    assert all(texts[1] == "short" for texts in endpoint.embedded)


@both_ways
def test_a_short_text_is_not_halved_for_ever(endpoint: Endpoint, way: str) -> None:
    endpoint.embeddings = lambda request: refusal(400, "input is too long")
    with pytest.raises(EmbeddingError, match="too long"):
        embed(OpenAIEmbedder(settings(endpoint)), way, "x" * 20_000)
    assert len(endpoint.requests) <= 6


@both_ways
def test_a_busy_embedder_is_asked_again(endpoint: Endpoint, way: str) -> None:
    answers = iter([(*refusal(503, "busy"), AT_ONCE), None])
    endpoint.embeddings = lambda request: next(answers)
    assert len(embed(OpenAIEmbedder(settings(endpoint)), way, "tea").vectors) == 1


@both_ways
def test_a_failing_embedder_is_an_error_with_its_cause(endpoint: Endpoint, way: str) -> None:
    endpoint.embeddings = lambda request: refusal(401, "no key secret-key")
    with pytest.raises(
        EmbeddingError, match=r"/v1/embeddings answered 401: no key \*\*\*"
    ) as caught:
        embed(OpenAIEmbedder(settings(endpoint)), way, "tea")
    assert caught.value.error_code == "EMBEDDING_001"
    assert isinstance(caught.value.__cause__, openai.AuthenticationError)


@pytest.mark.parametrize("text", ["", "a", "喜" * 10, "a" * 100, "é" * 50, "a喜" * 50, "🙂" * 50])
@pytest.mark.parametrize("tokens", [1, 7, 20, 1000])
def test_a_shortened_text_is_a_beginning_of_about_the_size(text: str, tokens: Any) -> None:
    short = shortened(text, tokens)
    assert text.startswith(short)
    assert short == text or estimate(short) <= max(tokens, 2)
    assert short or not text
