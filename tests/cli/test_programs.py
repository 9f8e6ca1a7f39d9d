"""The program as a whole: signals, pipes and terminals."""

from __future__ import annotations

import signal
import subprocess
import threading
from pathlib import Path

from tests.cli.running import PROGRAM, Shell, on_a_terminal, program
from tests.endpoint import Endpoint


def interrupted(shell: Shell, endpoint: Endpoint, number: signal.Signals) -> tuple[int, str]:
    """How a search ends that gets a signal while the embedder is at work."""
    asked = threading.Event()
    hold = threading.Event()

    def never(request: object) -> None:
        asked.set()
        hold.wait(30)

    endpoint.embeddings = never
    models = {"MEMLAYER_EMBEDDER_BASE_URL": endpoint.base_url}
    running = program("search", "tea", "--user", "ann", **shell.env, **models)
    assert asked.wait(30)
    running.send_signal(number)
    out, err = running.communicate(timeout=30)
    hold.set()
    assert out == ""
    return running.returncode, err


def test_ctrl_c_ends_it_with_130_and_no_traceback(shell: Shell, endpoint: Endpoint) -> None:
    code, said = interrupted(shell, endpoint, signal.SIGINT)
    assert code == 130
    assert said.strip() == ""


def test_a_request_to_end_is_heeded(shell: Shell, endpoint: Endpoint) -> None:
    code, said = interrupted(shell, endpoint, signal.SIGTERM)
    assert code == 128 + signal.SIGTERM
    assert said == ""


def test_a_reader_that_leaves_is_no_error() -> None:
    with subprocess.Popen(
        [*PROGRAM, "db", "sql"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.read(10)
        running.stdout.close()
        assert running.stderr.read() == b""


def test_a_terminal_gets_colours_and_bars(shell: Shell) -> None:
    shell.add("Ann drinks oolong tea")
    args = ("search", "oolong tea", "--user", "ann", "--explain")
    code, shown = on_a_terminal(*args, **shell.env)
    assert code == 0
    assert "█" in shown
    assert "\x1b[36m" in shown

    code, shown = on_a_terminal(*args, **shell.env, NO_COLOR="1")
    assert "█" in shown
    assert "\x1b[36m" not in shown


def test_errors_are_plain_without_colour(shell: Shell) -> None:
    code, shown = on_a_terminal("get", "x", **shell.env, NO_COLOR="1")
    assert code == 1
    assert shown.replace("\r", "").rpartition("\x1b")[2].endswith("hint: memlayer history x\n")
    assert "\x1b[31m" not in shown


def test_a_file_is_added_with_a_progress_bar_on_a_terminal(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text('{"messages": "tea"}\n' * 3)
    args = ("add", "--file", str(path), "--user", "ann", "--no-infer")
    code, shown = on_a_terminal(*args, **shell.env)
    assert code == 0
    assert "3/3" in shown
    assert "3 of 3 conversations stored" in shown
