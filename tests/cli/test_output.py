"""What tables, bars and diffs are made of; no database is asked."""

from __future__ import annotations

import io
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from memlayer_pg.cli import diffing, drawing, failures, output, scoring, showing
from memlayer_pg.errors import ConfigError, DatabaseError, FilterError, SchemaMissing

DETAILS = {
    "semantic_score": 0.8,
    "bm25_score": 0.4,
    "entity_boost": 0.3,
    "raw_score": 1.5,
    "max_possible_score": 2.5,
    "final_score": 0.6,
    "threshold": 0.1,
}


def terminal(width: int = 100) -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=width)


def test_a_bar_is_as_long_as_the_score_and_has_its_parts() -> None:
    text = scoring.explained(DETAILS, terminal()).plain
    bar = text.partition("  ")[0]
    assert len(bar) == 28
    assert bar.count("·") == 28 - round(28 * 0.6)
    shares = [bar.count(glyph) for glyph in "█▓▒"]
    assert shares == [9, 4, 4]
    assert text.endswith("(0.800 meaning + 0.400 words + 0.300 names) / 2.5")


@pytest.mark.parametrize("change", [{"semantic_score": 3.0}, {"semantic_score": -0.5}])
def test_a_bar_never_outgrows_its_room(change: dict[str, float]) -> None:
    bar = scoring.explained({**DETAILS, **change}, terminal()).plain.partition("  ")[0]
    assert len(bar) == 28


def test_a_part_that_was_not_looked_for_is_not_shown() -> None:
    details = {**DETAILS, "semantic_score": None, "max_possible_score": 1.5}
    assert "meaning" not in scoring.explained(details, terminal()).plain


def test_recency_is_shown_where_it_counts() -> None:
    assert "recency" not in scoring.explained({**DETAILS, "recency": 0.0}, terminal()).plain
    details = {**DETAILS, "recency": 0.5, "raw_score": 2.0, "max_possible_score": 3.0}
    text = scoring.explained(details, terminal()).plain
    bar = text.partition("  ")[0]
    assert [bar.count(glyph) for glyph in "█▓▒░"] == [7, 4, 3, 5]
    assert text.endswith("(0.800 meaning + 0.400 words + 0.300 names + 0.500 recency) / 3")


def test_what_was_superseded_loses_the_end_of_its_bar() -> None:
    details = {**DETAILS, "superseded": -0.5, "raw_score": 1.0, "final_score": 0.4}
    text = scoring.explained(details, terminal()).plain
    bar = text.partition("  ")[0]
    assert bar == "█" * 9 + "▓" * 2 + "-" * 6 + "·" * 11
    assert text.endswith("(0.800 meaning + 0.400 words + 0.300 names - 0.500 superseded) / 2.5")


def test_the_legend_names_the_parts_there_are_and_what_meaning_is() -> None:
    def legend(**details: float) -> str:
        return scoring.legend([{"score_details": {**DETAILS, **details}}], terminal()).plain

    plain = legend(cosine_similarity=0.8, recency=0.0, superseded=0.0)
    assert "meaning (cosine)" in plain
    assert "recency" not in plain
    assert "superseded" not in plain
    assert "meaning (cosine, less what unrelated texts have)" in legend(cosine_similarity=0.9)
    assert "recency (age)" in legend(recency=0.1)
    assert "superseded (a newer memory replaced it)" in legend(superseded=-0.1)


def test_a_superseded_memory_is_marked() -> None:
    item = {"id": "1", "memory": "lives in Beijing", "created_at": "2026-01-02T03:04:05+00:00"}
    console = Console(file=io.StringIO(), width=100)
    console.print(output.memories([{**item, "superseded_by": "2"}, item]))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert shown.count("(superseded) lives in Beijing") == 1
    assert shown.count("superseded by 2") == 1


def test_there_are_no_bars_where_there_is_no_terminal() -> None:
    text = scoring.explained(DETAILS, Console(file=io.StringIO())).plain
    assert text == "(0.800 meaning + 0.400 words + 0.300 names) / 2.5"


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("I drink tea", "I drink coffee", "I drink [-tea-]{+coffee+}"),
        ("I drink tea", "I drink green tea", "I drink {+green +}tea"),
        ("tea", "tea", "tea"),
        ("two cups of it daily", "oolong tea daily", "[-two cups of it-]{+oolong tea+} daily"),
        ("雅婷喝咖啡", "雅婷喝乌龙茶", "雅婷喝[-咖啡-]{+乌龙茶+}"),
        ("", "new", "{+new+}"),
    ],
)  # fmt: skip
def test_a_diff_marks_the_words_that_changed(old: str, new: str, shown: str) -> None:
    assert diffing.words(old, new, marked=False).plain == shown


def test_a_diff_loses_nothing_of_either_text() -> None:
    old, new = "a b c\nd  e f g", "a x c d e\n\nf y"
    text = diffing.words(old, new, marked=False).plain
    went = text.replace("{+", "\0").replace("+}", "\1")
    while "\0" in went:
        before, _, rest = went.partition("\0")
        went = before + rest.partition("\1")[2]
    assert went.replace("[-", "").replace("-]", "") == old


def test_long_texts_are_compared_whole() -> None:
    old, new = "a " * 5000, "b " * 5000
    assert diffing.words(old, new, marked=False).plain == f"[-{old}-]{{+{new}+}}"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\r\nc", "a b\nc"),
        ("\x1b[31m", "␛[31m"),
        ("\x00\x7f", "␀␡"),
        ("\x9b31m", "\ufffd31m"),
        ("雅婷 é", "雅婷 é"),
    ],
)
def test_control_characters_become_pictures(text: str, shown: str) -> None:
    assert output.shown(text) == shown


def test_long_texts_are_cut() -> None:
    assert output.shown("abcdef", 4) == "abc…"
    assert output.one_line("a\n\n b", 10) == "a b"


@pytest.mark.parametrize(
    ("error", "message", "hint", "code"),
    [
        (ConfigError("dsn: no", suggestion="Do this."), "dsn: no", "Do this.", 2),
        (FilterError("what?", hint="Say it."), "what?", "Say it.", 2),
        (SchemaMissing("none; run: x", suggestion="x"), "none; run: x", None, 1),
        (DatabaseError("no\n\tanswer"), "no\n\tanswer", "look at --dsn", 1),
        (DatabaseError("deadlock", sqlstate="40P01"), "deadlock", None, 1),
        (DatabaseError("no function", sqlstate="42883"), "no function", "the schema is not of", 1),
        (FileNotFoundError(2, "No such file", "x"), "x: No such file", None, 1),
        (KeyError("superseded_by"), "KeyError: 'superseded_by'", "--debug shows the traceback", 1),
    ],
)
def test_an_error_is_a_line_a_hint_and_a_code(
    error: Exception, message: str, hint: str | None, code: int
) -> None:
    found: Any = failures.told(error)
    assert (found[0], found[2]) == (message, code)
    assert (found[1] or "").startswith(hint or "")
    assert (found[1] is None) == (hint is None)


ROW = {
    "tenant": "a-tenant-whose-name-is-long",
    "problem": "history_differs",
    "memory_id": "6392dcc7-490f-4568-a2e1-24feb3e03fef",
    "detail": "the text of version 3 is another one than that of the memory",
}


def test_where_there_is_no_terminal_a_table_cuts_nothing_and_keeps_ids_whole() -> None:
    paper = drawing.Paper(file=io.StringIO(), width=80)
    paper.print(output.rows([ROW], list(ROW)))
    shown = paper.file.getvalue()  # type: ignore[attr-defined]
    assert {ROW["tenant"], ROW["problem"], ROW["memory_id"]} < set(shown.split())
    assert " ".join(shown.split()).endswith("than that of the memory")


@pytest.mark.parametrize("width", [20, 40, 80, 100])
def test_a_narrow_terminal_folds_and_loses_no_character(width: int) -> None:
    console = terminal(width)
    console.print(output.rows([ROW], list(ROW)))
    shown = re.sub(r"\x1b\[[0-9;]*m", "", console.file.getvalue())  # type: ignore[attr-defined]
    assert max(map(len, shown.splitlines())) <= width
    letters = Counter("".join([*ROW, *ROW.values()]).replace(" ", ""))
    assert letters == Counter(character for character in shown if character not in " ─\n")


@pytest.mark.parametrize(
    ("path", "started", "shown"),
    [
        ("bin", "bin/memlayer", "memlayer"),
        ("other", "bin/memlayer", "bin/memlayer"),
        ("bin", "memlayer_pg/__main__.py", "memlayer"),
        ("other", "memlayer_pg/__main__.py", f"{sys.executable} -m memlayer_pg"),
    ],
)
def test_the_demo_goes_on_as_it_was_started(
    path: str, started: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "bin" / "memlayer"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / path))
    monkeypatch.setattr(sys, "argv", [started, "demo"])
    assert showing.invoked() == shown


def test_an_unforeseen_error_is_a_line_and_with_debug_a_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    program = failures.Program(name="memlayer")

    @program.command()
    def older() -> None:
        raise KeyError("superseded_by")

    for debug in ([], ["--debug"]):
        with pytest.raises(SystemExit) as ended:
            program.main(["older", *debug], prog_name="memlayer")
        assert ended.value.code == 1
        said = capsys.readouterr().err
        assert "error: KeyError: 'superseded_by'\nhint: " in said
        assert ("Traceback" in said) == bool(debug)


def test_an_error_stands_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    failures.say("error", "error: no\n\tanswer")
    assert capsys.readouterr().err == "error: no answer\n"
