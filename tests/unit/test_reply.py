"""Whatever a model answers: what can be saved is saved, the rest is an error that says why."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlayer_pg import reply
from memlayer_pg.errors import LLMError
from tests.models.answers import READABLE


@pytest.mark.parametrize(("answer", "texts"), READABLE.values(), ids=READABLE)
def test_what_can_be_read_is_read(answer: Any, texts: Any) -> None:
    assert [fact.text for fact in reply.facts(answer, finish_reason="stop").facts] == texts


@pytest.mark.parametrize(
    ("answer", "left_out"),
    [
        ('{"facts":[["A"],1,null,"", true]}', 5),
        ('{"facts":[{"text":5},{"text":"  "},{}]}', 3),
        ('{"memory":[{"id":"3","event":"DELETE"},{"id":"0","event":"EXPLODE","text":"no"}]}', 2),
        ("[1, 2]", 2),
    ],
)
def test_what_is_no_text_is_left_out_and_said(answer: Any, left_out: Any) -> None:
    extracted = reply.facts(answer, finish_reason="stop")
    assert extracted.facts == []
    assert len(extracted.warnings) == left_out


@pytest.mark.parametrize(
    ("answer", "finish_reason", "reason"),
    [
        ("", "stop", "empty"),
        (None, "stop", "empty"),
        (None, None, "empty"),
        (" \n", "stop", "empty"),
        ("<think>X</think>", "stop", "empty"),
        ("", "length", "length"),
        (None, "length", "length"),
        ("<think>and then", "length", "length"),
        ('{"facts":[', "length", "length"),
        ("", "content_filter", "content_filter"),
        ("I cannot help with that.", "stop", "unreadable"),
        ("- A\n- B", "stop", "unreadable"),
        ('{"error":"overloaded"}', "stop", "unreadable"),
        ('{"answer":"I cannot help with that."}', "stop", "unreadable"),
        ('{"facts":', None, "unreadable"),
        ("5", "stop", "unreadable"),
        ("see [1]", "stop", "unreadable"),
    ],
)
def test_no_answer_is_never_taken_for_no_facts(
    answer: Any, finish_reason: Any, reason: Any
) -> None:
    with pytest.raises(LLMError, match=r"^LLM extraction failed: ") as caught:
        reply.facts(answer, finish_reason=finish_reason)
    assert caught.value.details == {"reason": reason}


@pytest.mark.parametrize("finish_reason", ["length", "content_filter"])
def test_a_cut_answer_keeps_its_facts_with_a_warning(finish_reason: Any) -> None:
    extracted = reply.facts('{"facts":["A","B', finish_reason=finish_reason)
    assert [fact.text for fact in extracted.facts] == ["A"]
    assert finish_reason in extracted.warnings[0]


def test_the_error_message_does_not_repeat_what_was_said() -> None:
    with pytest.raises(LLMError) as caught:
        reply.facts("Ann's password is tulip.", finish_reason="stop")
    assert "tulip" not in str(caught.value)
    assert "tulip" in caught.value.debug_info["excerpt"]


def test_a_thought_is_not_even_in_the_excerpt() -> None:
    with pytest.raises(LLMError) as caught:
        reply.facts("<think>tulip</think>Sorry.", finish_reason="stop")
    assert caught.value.debug_info == {"excerpt": "Sorry."}


def test_a_fact_has_its_speaker_entities_and_links() -> None:
    [fact] = reply.facts(
        '{"facts":[{"text":"Ann moved to Rome","attributed_to":"User",'
        '"entities":[{"name":" Ann ","type":"person"},{"name":"Rome","type":"city"},'
        '{"name":"ann","type":"thing"},{"name":"user","type":"person"},{"name":5},"tea",'
        '["Bob","person"],{"name":"Acme","type":"weird"}],'
        '"links":[{"id":0,"kind":"updates"},{"id":"3","kind":"odd"},{"id":true},{"id":"x"},4]}]}'
    ).facts
    assert fact.attributed_to == "user"
    assert fact.entities == [
        ("Ann", "person"),
        ("Rome", "place"),
        ("tea", "thing"),
        ("Bob", "person"),
        ("Acme", "thing"),
    ]
    assert fact.links == [(0, "updates"), (3, "related"), (4, "related")]


def test_mem0s_links_and_updates_are_links() -> None:
    one, two = reply.facts(
        '{"memory":[{"text":"A","linked_memory_ids":["1","0b5c-not-a-number"]},'
        '{"text":"B","event":"UPDATE","id":"2"}]}'
    ).facts
    assert one.links == [(1, "related")]
    assert two.links == [(2, "updates")]


def test_a_fact_said_twice_has_what_both_had() -> None:
    [fact] = reply.facts(
        '{"facts":[{"text":"A","entities":["x"],"links":[1]},'
        '{"text":"A","attributed_to":"assistant","entities":["X","y"],"links":[2]}]}'
    ).facts
    assert fact.attributed_to == "assistant"
    assert fact.entities == [("x", "thing"), ("y", "thing")]
    assert dict(fact.links) == {1: "related", 2: "related"}


def test_an_unknown_speaker_is_none() -> None:
    [fact] = reply.facts('{"facts":[{"text":"A","attributed_to":["user"]}]}').facts
    assert fact.attributed_to is None


def test_a_plain_answer_is_its_text_without_thoughts_and_fences() -> None:
    assert (
        reply.plain("<think>X</think>\n```markdown\n1. Opened\x00 a page\n```")
        == "1. Opened a page"
    )
    assert reply.plain('{"a": 1}') == '{"a": 1}'


@pytest.mark.parametrize("answer", ["", None, "<think>X</think>", "<think>X", "```\n```"])
def test_a_plain_answer_must_not_be_empty(answer: Any) -> None:
    with pytest.raises(LLMError, match="the answer"):
        reply.plain(answer)


@pytest.mark.parametrize(
    "hostile", ["[" * 50_000, "{" * 50_000, '{"a":' * 20_000, "<think>" * 20_000]
)
def test_nesting_without_end_is_an_error_and_no_crash(hostile: Any) -> None:
    with pytest.raises(LLMError):
        reply.facts(hostile)


PIECES = [
    '{"facts":', "[", "]", "{", "}", '"', "'", "\\", "\\u12", ",", ":", "A", "text", "\n", "```",
    "<think>", "</think>", "null", "NaN", "\ud800", "\x00", "喜", "//", "/*", "1e999", "-",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_any_answer_gives_storable_facts_or_an_llm_error(answer: Any) -> None:
    try:
        extracted = reply.facts(answer)
    except LLMError:
        return
    for fact in extracted.facts:
        assert fact.text.strip()
        assert "\x00" not in fact.text
        fact.text.encode()


def test_a_fact_of_replacement_characters_is_left_out() -> None:
    found = reply.facts('{"facts": ["\ufffd\ufffd", "\\ud83d", "\u200b", "tea \ufffd"]}')
    assert [fact.text for fact in found.facts] == ["tea \ufffd"]
    assert len(found.warnings) == 3
