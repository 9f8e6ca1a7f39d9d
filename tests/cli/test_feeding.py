"""`memlayer feed`."""

from __future__ import annotations

import json
import signal
from typing import Any

from tests.cli.running import Shell, program


def lines(out: str) -> list[Any]:
    return [json.loads(line) for line in out.splitlines()]


def test_json_is_a_change_a_line(shell: Shell) -> None:
    memory = shell.add("Ann drinks tea")
    shell.well("delete", memory)
    added, deleted = lines(shell.well("feed", "--json").out)
    assert (added["event"], added["new_memory"]) == ("ADD", "Ann drinks tea")
    assert (deleted["event"], deleted["memory_id"]) == ("DELETE", memory)
    assert lines(shell.well("feed", "--json", "--limit", "1").out) == [added]
    assert lines(shell.well("feed", "--json", "--cursor", added["cursor"]).out) == [deleted]
    assert shell.well("feed", "--json", "--cursor", deleted["cursor"]).out == ""


def test_people_see_what_changed_and_how_to_go_on(shell: Shell) -> None:
    assert shell.well("feed").out == "There are no changes.\n"
    memory = shell.add("Ann drinks tea")
    [change] = lines(shell.well("feed", "--json").out)
    out = shell.well("feed").out
    assert out.startswith("ADD v1  ")
    for part in ("Ann drinks tea", memory, "user ann", f"--cursor {change['cursor']}"):
        assert part in out


def test_a_wrong_cursor_ends_with_2(shell: Shell) -> None:
    ran = shell("feed", "--cursor", "x")
    assert ran.code == 2
    assert ran.err.startswith("error: the cursor")


def test_a_feed_that_is_followed_goes_on_until_it_is_interrupted(shell: Shell) -> None:
    shell.add("first")
    with program("feed", "--follow", "--json", **shell.env) as running:
        assert running.stdout is not None
        assert json.loads(running.stdout.readline())["new_memory"] == "first"
        for text in ("second", "third"):
            shell.add(text)
            assert json.loads(running.stdout.readline())["new_memory"] == text
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 130
