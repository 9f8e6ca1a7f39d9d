"""The shapes messages come in, and what is kept of them."""

from __future__ import annotations

import logging
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from memlayer_pg.errors import InputError, NotStorable, ValidationError
from memlayer_pg.extract import Message, normalise, parse_timestamp


def test_a_text_is_a_message_of_the_user() -> None:
    assert normalise("hello") == [Message("user", "hello")]


def test_one_message_needs_no_list() -> None:
    assert normalise({"role": "assistant", "content": "hi"}) == [Message("assistant", "hi")]


@pytest.mark.parametrize("given", [None, 5, ("a",), {"a"}, ["a"], [None], [["a"]]])
def test_anything_else_is_refused_with_mem0s_code(given: Any) -> None:
    with pytest.raises(ValidationError, match="must be str, dict, or list") as caught:
        normalise(given)
    assert caught.value.error_code == "VALIDATION_003"


@pytest.mark.parametrize("content", ["", " \n\t", None, [], [{"type": "text", "text": " "}]])
def test_what_is_blank_is_left_out(content: Any) -> None:
    assert normalise([{"role": "user", "content": content}]) == []


def test_tool_calls_without_content_are_left_out() -> None:
    said = [
        {"role": "user", "content": "book it"},
        {"role": "assistant", "tool_calls": [{"id": "1", "type": "function"}]},
        {"role": "assistant", "content": None},
        {"role": "tool", "tool_call_id": "1", "content": "ok"},
    ]
    assert normalise(said) == [Message("user", "book it"), Message("tool", "ok")]


def test_text_parts_are_joined_and_images_left_out_with_a_log_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    parts = [
        {"type": "text", "text": "My dog is called Pixel"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,SECRET"}},
        {"type": "input_text", "text": "and he is two"},
    ]
    with caplog.at_level(logging.INFO, "memlayer_pg"):
        found = normalise([{"role": "user", "content": parts}])
    assert found == [Message("user", "My dog is called Pixel and he is two")]
    assert "image_url" in caplog.text
    assert "SECRET" not in caplog.text


def test_an_image_alone_is_no_message() -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    assert normalise([{"role": "user", "content": image}]) == []
    assert normalise([{"role": "user", "content": [image]}]) == []


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "tool_result", "content": "temp 21C"}], "temp 21C"),
        ([{"type": "tool_result", "content": [{"type": "text", "text": "21C"}]}], "21C"),
        ({"temp": 21, "wo": "Köln"}, '{"temp": 21, "wo": "Köln"}'),
        ({"type": "text", "text": "21C"}, "21C"),
        (["21C", "dry"], "21C dry"),
    ],
)
def test_tool_results_become_text_and_never_a_python_repr(content: Any, text: str) -> None:  # B011
    assert normalise([{"role": "tool", "content": content}]) == [Message("tool", text)]


@pytest.mark.parametrize(
    ("role", "kept"),
    [
        ("developer", "system"),
        ("function", "tool"),
        ("Human", "user"),
        ("ai", "assistant"),
        (" USER ", "user"),
        ("narrator", "narrator"),
    ],
)
def test_roles_have_one_spelling(role: Any, kept: Any) -> None:  # B011
    assert normalise([{"role": role, "content": "x"}]) == [Message(kept, "x")]


@pytest.mark.parametrize(
    "message",
    [
        {"content": "x"},
        {"role": None, "content": "x"},
        {"role": " ", "content": "x"},
        {"role": "user", "content": 5},
        {"role": "user", "content": "x", "name": 5},
        {"role": "user", "content": "x", "timestamp": "soon"},
    ],
)
def test_a_message_that_cannot_be_read_is_named(message: Any) -> None:
    with pytest.raises(InputError, match=r"messages\[1\]"):
        normalise([{"role": "user", "content": "fine"}, message])


@pytest.mark.parametrize("text", ["a\x00b", "x\ud800y"])
def test_characters_that_postgres_cannot_keep_are_errors(text: str) -> None:
    with pytest.raises(NotStorable):
        normalise(text)


def test_names_and_times_are_kept() -> None:
    said = {"role": "user", "content": "x", "name": " Ann ", "timestamp": 1637020800}
    assert normalise(said) == [Message("user", "x", "Ann", datetime(2021, 11, 16, tzinfo=UTC))]


@pytest.mark.parametrize(
    "value",
    [
        1637020800,
        1637020800.0,
        "2021-11-16",
        "2021-11-16T00:00:00Z",
        "2021-11-16T01:00:00+01:00",
        date(2021, 11, 16),
        datetime(2021, 11, 16),
        datetime(2021, 11, 16, 1, tzinfo=timezone(timedelta(hours=1))),
    ],
)
def test_a_moment_has_many_spellings_and_no_zone_means_utc(value: Any) -> None:  # B028
    assert parse_timestamp(value) == datetime(2021, 11, 16, tzinfo=UTC)
    assert parse_timestamp(value).tzinfo is UTC


@pytest.mark.parametrize("value", [None, True, "", "soon", [], 1e20, float("nan"), "2021-13-01"])
def test_garbage_is_no_moment(value: Any) -> None:  # B028
    with pytest.raises(InputError, match="timestamp"):
        parse_timestamp(value)
