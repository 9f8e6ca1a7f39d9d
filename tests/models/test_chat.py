"""The language model over real HTTP: what is sent, what is given up, what is an error."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import openai
import pytest

from memlayer_pg.errors import LLMError
from memlayer_pg.models.chat import OpenAIChat
from tests.endpoint import Endpoint, completion, refusal
from tests.models.ways import AT_ONCE, QUESTION, SCHEMA, ask, both_ways, settings

GOOD = '{"facts": ["A"]}'


def formats(server: Endpoint) -> list[str]:
    """The response formats that were asked for, in order."""
    return [chat.get("response_format", {}).get("type", "plain") for chat in server.chats]


def refuses(*named: str, answer: Callable[[str], Any]) -> Callable[[dict[str, Any]], Any]:
    """A server that refuses these parameters."""

    def chat(request: dict[str, Any]) -> Any:
        return next((answer(name) for name in named if name in request), GOOD)

    return chat


@both_ways
def test_the_schema_is_asked_for_strictly(endpoint: Endpoint, way: str) -> None:
    endpoint.reply(GOOD)
    [found] = ask(OpenAIChat(settings(endpoint)), way)
    assert (found.text, found.model, found.finish_reason) == (GOOD, "m", "stop")
    assert (found.prompt_tokens, found.completion_tokens) == (11, 7)
    assert endpoint.chats == [
        {
            "model": "m",
            "messages": QUESTION,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA},
            },
        }
    ]


@both_ways
def test_without_a_schema_no_format_is_asked_for(endpoint: Endpoint, way: str) -> None:
    ask(OpenAIChat(settings(endpoint)), way, schema=None)
    assert formats(endpoint) == ["plain"]


@both_ways
def test_settings_are_sent_only_when_set(endpoint: Endpoint, way: str) -> None:
    chat = OpenAIChat(
        settings(
            endpoint, temperature=0.0, max_tokens=9, extra_body={"top_p": 0.1}, headers={"X-A": "b"}
        )
    )
    ask(chat, way)
    sent = endpoint.chats[0]
    assert (sent["temperature"], sent["max_tokens"], sent["top_p"]) == (0.0, 9, 0.1)
    assert endpoint.requests[0].headers["x-a"] == "b"


REFUSALS_OF_THE_FORMAT = {
    "another type": (
        lambda _: refusal(400, "Invalid value: 'json_schema'. Supported: 'json_object', 'text'.",
                          param="response_format", code="invalid_value"),
        ["json_schema", "json_object"],
    ),
    "unavailable type": (
        lambda _: refusal(400, "This response_format type is unavailable now"),
        ["json_schema", "json_object"],
    ),
    "type must be json_schema, of another type": (
        lambda _: refusal(400, "'response_format.type' must be 'json_schema'"),
        ["json_schema", "plain"],
    ),
    "unknown parameter, named": (
        lambda _: refusal(400, "Unrecognized request argument supplied: response_format"),
        ["json_schema", "plain"],
    ),
    "unknown parameter, by param": (
        lambda _: refusal(400, "Unsupported.", param="response_format",
                          code="unsupported_parameter"),
        ["json_schema", "plain"],
    ),
    "unknown parameter, not named": (
        lambda _: refusal(400, "Unknown parameter."),
        ["json_schema", "plain"],
    ),
    "validation of pydantic, extra": (
        lambda _: (422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "response_format"],
                                     "msg": "Extra inputs are not permitted", "input": {}}]}),
        ["json_schema", "plain"],
    ),
    "validation of pydantic, value": (
        lambda _: (422, {"detail": [{"type": "enum", "loc": ["body", "response_format", "type"],
                                     "msg": "Input should be 'text' or 'json_object'"}]}),
        ["json_schema", "json_object"],
    ),
    "unprocessable, nothing said": (lambda _: (422, {}), ["json_schema", "plain"]),
    "no route for it": (
        lambda _: refusal(404, "No endpoints found that support structured outputs"),
        ["json_schema", "plain"],
    ),
}  # fmt: skip


@both_ways
@pytest.mark.parametrize(
    ("answer", "asked"), REFUSALS_OF_THE_FORMAT.values(), ids=REFUSALS_OF_THE_FORMAT
)
def test_a_refused_format_is_replaced_once_and_for_all(
    endpoint: Endpoint, way: str, answer: Any, asked: Any
) -> None:
    def chat(request: dict[str, Any]) -> Any:
        kind = request.get("response_format", {}).get("type", "plain")
        return GOOD if kind == asked[-1] else answer(kind)

    endpoint.chat = chat
    found = ask(OpenAIChat(settings(endpoint)), way, times=2)
    assert [answer.text for answer in found] == [GOOD, GOOD]
    assert formats(endpoint) == [*asked, asked[-1]]


@both_ways
def test_two_formats_can_be_refused(endpoint: Endpoint, way: str) -> None:
    endpoint.chat = refuses(
        "response_format", answer=lambda name: refusal(400, f"bad value for {name}", param=name)
    )
    ask(OpenAIChat(settings(endpoint)), way, times=2)
    assert formats(endpoint) == ["json_schema", "json_object", "plain", "plain"]


@both_ways
@pytest.mark.parametrize("name", ["temperature", "top_p", "seed"])
@pytest.mark.parametrize("status", [400, 422])
def test_a_refused_parameter_is_left_out_from_then_on(
    endpoint: Endpoint, way: str, name: str, status: int
) -> None:
    endpoint.chat = refuses(
        name,
        answer=lambda name: refusal(
            status, f"Unsupported value: '{name}' does not support 0.1 with this model.",
            param=name, code="unsupported_value",
        ),
    )  # fmt: skip
    chat = OpenAIChat(
        settings(endpoint, temperature=0.1, extra_body={"top_p": 0.1, "seed": 1}, model="my-alias")
    )
    ask(chat, way, times=2)
    assert [name in sent for sent in endpoint.chats] == [True, False, False]
    assert {"temperature", "top_p", "seed"} - {name} <= set(endpoint.chats[-1])
    assert "response_format" in endpoint.chats[-1]


@both_ways
def test_max_tokens_is_renamed_where_it_is_refused(endpoint: Endpoint, way: str) -> None:
    endpoint.chat = refuses(
        "max_tokens",
        answer=lambda name: refusal(
            400, "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead.", param=name, code="unsupported_parameter",
        ),
    )  # fmt: skip
    ask(OpenAIChat(settings(endpoint, max_tokens=50)), way, times=2)
    assert [
        {key: value for key, value in sent.items() if "tokens" in key} for sent in endpoint.chats
    ] == [{"max_tokens": 50}, {"max_completion_tokens": 50}, {"max_completion_tokens": 50}]


@both_ways
def test_where_neither_name_is_taken_there_is_no_limit(endpoint: Endpoint, way: str) -> None:
    endpoint.chat = refuses(
        "max_tokens", "max_completion_tokens", answer=lambda name: refusal(400, f"no {name}")
    )
    ask(OpenAIChat(settings(endpoint, max_tokens=50)), way, times=2)
    assert [sum("tokens" in key for key in sent) for sent in endpoint.chats] == [1, 1, 0, 0]


@both_ways
def test_everything_can_be_refused_one_by_one(endpoint: Endpoint, way: str) -> None:
    endpoint.chat = refuses(
        "temperature",
        "response_format",
        "max_tokens",
        answer=lambda name: refusal(400, "Unsupported parameter", param=name),
    )
    ask(OpenAIChat(settings(endpoint, temperature=0.5, max_tokens=5)), way, times=2)
    assert set(endpoint.chats[-1]) == {"model", "messages", "max_completion_tokens"}
    assert endpoint.chats[-1] == endpoint.chats[-2]


@both_ways
def test_a_vague_refusal_is_asked_again_once_and_the_first_error_stands(
    endpoint: Endpoint, way: str
) -> None:
    endpoint.reply(refusal(400, "Bad request"))
    with pytest.raises(LLMError, match="answered 400: Bad request"):
        ask(OpenAIChat(settings(endpoint)), way)
    assert formats(endpoint) == ["json_schema", "plain"]


@both_ways
@pytest.mark.parametrize(
    "answer",
    [
        refusal(400, "This model's maximum context length is 8192 tokens.", param="messages"),
        refusal(400, "'messages' must contain the word 'json'", param="messages"),
        refusal(404, "The model `m` does not exist", code="model_not_found"),
        refusal(404, "Not Found"),
        refusal(400, "Content policy violation"),
        refusal(401, "bad key for response_format"),
        refusal(403, "not allowed to use response_format"),
    ],
    ids=lambda answer: answer[1]["error"]["message"],
)
def test_other_refusals_are_errors_at_once(endpoint: Endpoint, way: str, answer: Any) -> None:
    endpoint.reply(answer)
    with pytest.raises(LLMError, match=r"^LLM extraction failed: ") as caught:
        ask(OpenAIChat(settings(endpoint)), way)
    assert len(endpoint.requests) == 1
    assert caught.value.details == {"status": answer[0]}
    assert type(caught.value.__cause__).__module__.startswith("openai")


@both_ways
@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_server_is_asked_again_in_the_same_way(
    endpoint: Endpoint, way: str, status: int
) -> None:
    busy = (*refusal(status, "response_format is busy"), AT_ONCE)
    endpoint.reply(busy, busy, GOOD)
    [found] = ask(OpenAIChat(settings(endpoint)), way)
    assert found.text == GOOD
    assert formats(endpoint) == ["json_schema"] * 3


@both_ways
@pytest.mark.parametrize("status", [429, 500])
def test_a_server_that_stays_busy_is_an_error_and_no_fallback(
    endpoint: Endpoint, way: str, status: int
) -> None:
    endpoint.reply((*refusal(status, "no response_format today"), AT_ONCE))
    with pytest.raises(LLMError, match=f"answered {status}") as caught:
        ask(OpenAIChat(settings(endpoint, max_retries=2)), way)
    assert formats(endpoint) == ["json_schema"] * 3
    assert isinstance(caught.value.__cause__, openai.APIStatusError)
    assert caught.value.__cause__.status_code == status


@both_ways
def test_an_account_without_credit_is_not_asked_again(endpoint: Endpoint, way: str) -> None:
    endpoint.reply(refusal(429, "You exceeded your current quota", code="insufficient_quota"))
    with pytest.raises(LLMError, match="quota"):
        ask(OpenAIChat(settings(endpoint)), way)
    assert len(endpoint.requests) == 1


@both_ways
def test_a_server_that_is_not_there_is_named(way: str) -> None:
    with Endpoint() as server:
        gone = settings(server, max_retries=0)
    with pytest.raises(LLMError, match="no answer from http://127") as caught:
        ask(OpenAIChat(gone), way)
    assert caught.value.details == {}


@both_ways
def test_a_server_that_takes_too_long_is_an_error(endpoint: Endpoint, way: str) -> None:
    endpoint.delay = 1.0
    with pytest.raises(LLMError, match="timed out"):
        ask(OpenAIChat(settings(endpoint, timeout=0.05, max_retries=0)), way)


BODIES = {
    "no choices": ({"choices": []}, "no choices"),
    "choices null": ({"choices": None}, "no choices"),
    "an empty object": ({}, "no choices"),
    "a list": ([], "not a chat completion"),
    "an error with status 200": ({"error": {"message": "upstream broke"}}, "upstream broke"),
    "a refusal": (completion(None, refusal="I won't"), "refused"),
    "no JSON": ((200, b"<html>", {"Content-Type": "text/html"}), "not JSON"),
    "broken JSON": ((200, b'{"choices": ['), "not JSON"),
}


@both_ways
@pytest.mark.parametrize(("body", "words"), BODIES.values(), ids=BODIES)
def test_what_is_no_answer_is_an_error(endpoint: Endpoint, way: str, body: Any, words: str) -> None:
    endpoint.chat = lambda request: (200, body) if isinstance(body, list) else body
    with pytest.raises(LLMError, match=words):
        ask(OpenAIChat(settings(endpoint)), way)


@both_ways
@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab"),
        ({"content": None}, ""),
        ({"content": 5}, ""),
        ({}, ""),
        (None, ""),
        ({"content": "", "reasoning_content": "hm"}, ""),
    ],
)
def test_the_content_of_a_message_is_its_text(
    endpoint: Endpoint, way: str, message: Any, text: str
) -> None:
    endpoint.reply({"choices": [{"message": message, "finish_reason": "length"}]})
    [found] = ask(OpenAIChat(settings(endpoint)), way)
    assert (found.text, found.finish_reason, found.prompt_tokens) == (text, "length", 0)


def test_the_key_is_in_the_header_and_nowhere_else(
    endpoint: Endpoint, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.reply(refusal(401, "Incorrect API key provided: secret-key"))
    chat = OpenAIChat(settings(endpoint))
    with caplog.at_level(logging.DEBUG), pytest.raises(LLMError) as caught:
        ask(chat, "sync")
    assert endpoint.requests[0].headers["authorization"] == "Bearer secret-key"
    assert "secret-key" not in str(caught.value) + repr(chat) + caplog.text
    assert "secret-key" not in str(endpoint.requests[0].json)
