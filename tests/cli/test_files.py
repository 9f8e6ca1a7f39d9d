"""`memlayer add --file`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memlayer_pg.cli.conversations import parse
from memlayer_pg.cli.failures import WrongUse
from tests.cli.running import Shell
from tests.endpoint import Endpoint

HELLO = {"role": "user", "content": "hello"}
BYE = {"role": "user", "content": "bye"}


@pytest.mark.parametrize(
    ("text", "conversations"),
    [
        (json.dumps([HELLO, BYE]), [{"messages": [HELLO, BYE]}]),
        (json.dumps([HELLO, BYE], indent=2), [{"messages": [HELLO, BYE]}]),
        (json.dumps(HELLO), [{"messages": [HELLO]}]),
        (json.dumps([[HELLO], [BYE]]), [{"messages": [HELLO]}, {"messages": [BYE]}]),
        (json.dumps({"messages": "a", "user_id": "ann"}), [{"messages": "a", "user_id": "ann"}]),
        (json.dumps([{"messages": [HELLO]}, [BYE]]), [{"messages": [HELLO]}, {"messages": [BYE]}]),
        ('{"messages": "a"}\n\n{"messages": "b"}\n', [{"messages": "a"}, {"messages": "b"}]),
        ("[]", []),
        ("", []),
    ],
)  # fmt: skip
def test_a_file_holds_conversations_in_one_of_three_shapes(
    text: str, conversations: list[dict[str, Any]]
) -> None:
    assert parse(text, "file") == conversations


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello", "file is not JSON"),
        ("[{]", "file is not JSON"),
        ('{"messages": "hello"}\n{"messages": ', "in line 2"),
        ('"hello"', "file holds no conversations"),
        ('[{"role": "user"}, "hello"]', "file, conversation 1: there are no messages"),
        ('{"user_id": "ann"}', "file, conversation 1: there are no messages"),
    ],
)
def test_a_file_that_holds_none_is_refused_with_the_place(text: str, message: str) -> None:
    with pytest.raises(WrongUse, match=message):
        parse(text, "file")


def test_conversations_of_a_file_are_added_each_in_its_scope(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text(
        json.dumps({"messages": [HELLO], "user_id": "ann"}) + "\n" + json.dumps({"messages": [BYE]})
    )
    ran = shell.well("add", "--file", str(path), "--user", "bob", "--no-infer")
    assert ran.out == "2 of 2 conversations stored: 2 memories added, 0 known already\n"
    for user, text in (("ann", "hello"), ("bob", "bye")):
        found = shell.well("list", "--user", user, "--json").json["results"]
        assert [memory["memory"] for memory in found] == [text]


def test_a_file_may_come_from_stdin(shell: Shell) -> None:
    ran = shell.well(
        *("add", "--file", "-", "--user", "ann", "--no-infer", "--json"), stdin=json.dumps([HELLO])
    )
    assert [result["memory"] for result in ran.json[0]["results"]] == ["hello"]


def test_a_conversation_that_fails_is_named_and_the_others_are_stored(shell: Shell) -> None:
    lines = [{"messages": "one"}, {"messages": 2}, {"messages": "three"}]
    text = "\n".join(map(json.dumps, lines))
    ran = shell("add", "--file", "-", "--user", "ann", "--no-infer", stdin=text)
    assert ran.code == 1
    assert ran.out.startswith("2 of 3 conversations stored: 2 memories added")
    assert ran.err.startswith("error: conversation 2: messages must be")
    ran = shell("add", "--file", "-", "--user", "ann", "--no-infer", "--json", stdin=text)
    assert ran.code == 1
    assert ["error" in result for result in ran.json] == [False, True, False]
    assert ran.json[1]["error"]["code"] == "VALIDATION_003"


def test_an_argument_that_add_does_not_take_stores_nothing(shell: Shell) -> None:
    ran = shell("add", "--file", "-", stdin='{"messages": "x", "user": "ann"}')
    assert ran.code == 2
    assert "did you mean 'user_id'" in ran.err


def test_facts_are_drawn_by_the_language_model_that_is_configured(
    shell: Shell, endpoint: Endpoint
) -> None:
    endpoint.facts("Ann drinks tea", "Ann lives in Lisbon")
    models = {"MEMLAYER_LLM_BASE_URL": endpoint.base_url, "MEMLAYER_LLM_MODEL": "m"}
    ran = shell.well("add", "--file", "-", "--user", "ann", stdin=json.dumps([HELLO]), **models)
    assert ran.out == "1 of 1 conversations stored: 2 memories added, 0 known already\n"
    ran = shell.well("add", "hello", "--user", "ann", **models)
    assert ran.out.count("duplicate") == 2


def test_a_model_that_fails_is_an_error_with_1(shell: Shell, endpoint: Endpoint) -> None:
    endpoint.reply((400, {"error": {"message": "no such model"}}))
    models = {"MEMLAYER_LLM_BASE_URL": endpoint.base_url, "MEMLAYER_LLM_MODEL": "m"}
    ran = shell("add", "hello", "--user", "ann", **models)
    assert ran.code == 1
    assert "no such model" in ran.err
    assert shell.well("list", "--user", "ann", "--json").json["results"] == []


def test_a_file_that_is_not_there_or_no_text_ends_with_2(shell: Shell, tmp_path: Path) -> None:
    assert shell("add", "--file", str(tmp_path / "none"), "--user", "ann").code == 2
    path = tmp_path / "picture.json"
    path.write_bytes(b"\xff\xd8\xff")
    ran = shell("add", "--file", str(path), "--user", "ann")
    assert ran.code == 2
    assert "is not UTF-8" in ran.err
