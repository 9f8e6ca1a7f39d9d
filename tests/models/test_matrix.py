"""Every shape of answer, from the wire to facts, blocking and awaited."""

from __future__ import annotations

from typing import Any

import pytest

from memlayer_pg import reply
from memlayer_pg.errors import LLMError
from memlayer_pg.models.chat import OpenAIChat
from tests.endpoint import Endpoint, completion, refusal
from tests.models.answers import READABLE
from tests.models.ways import ask, both_ways, settings


def extract(endpoint: Endpoint, way: str, **more: Any) -> list[reply.Fact]:
    [said] = ask(OpenAIChat(settings(endpoint, **more)), way)
    return reply.facts(said.text, finish_reason=said.finish_reason).facts


@both_ways
@pytest.mark.parametrize(("answer", "texts"), READABLE.values(), ids=READABLE)
def test_facts_arrive(endpoint: Endpoint, way: str, answer: str, texts: list[str]) -> None:
    endpoint.reply(answer)
    assert [fact.text for fact in extract(endpoint, way)] == texts


SILENCE = {
    "empty": completion(""),
    "null": completion(None),
    "missing": {"choices": [{"message": {"role": "assistant"}, "finish_reason": "stop"}]},
    "out of tokens": completion("", finish_reason="length"),
    "filtered": completion(None, finish_reason="content_filter"),
    "only thoughts": completion("<think>X</think>", reasoning_content="X"),
    "no choices": {"choices": []},
    "refused": completion(None, refusal="No."),
    "prose": completion("I cannot help with that."),
    "down": refusal(500, "down"),
    "wrong key": refusal(401, "wrong key"),
}


@both_ways
@pytest.mark.parametrize("answer", SILENCE.values(), ids=SILENCE)
def test_silence_is_an_error_and_not_an_empty_list(
    endpoint: Endpoint, way: str, answer: Any
) -> None:
    endpoint.reply(answer)
    with pytest.raises(LLMError, match=r"^LLM extraction failed: ") as caught:
        extract(endpoint, way, max_retries=0)
    assert caught.value.error_code == "LLM_001"
