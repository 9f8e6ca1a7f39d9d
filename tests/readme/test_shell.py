"""The commands and variables that the pages name are there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import all_commands, memlayer
from tests.readme.pages import NAMES, PAGES, ROOT, blocks, prose, section

PROGRAMS = ("memlayer", "pip", "python3", "pytest", "createdb", "pg_dump", "pg_restore")
OPERATIONS = ROOT / "docs" / "operations.md"
VARIABLE = re.compile(r"MEMLAYER_(?!TEST_)\w+")  # the others are the tests' own


def commands(page: Path) -> Iterator[list[str]]:
    """The commands of a page's shell blocks, in words."""
    for block in blocks(page, "sh"):
        for line in block.code.splitlines():
            for command in line.split(" && "):
                words = shlex.split(command, comments=True)
                if words and words[0] != "export":
                    yield [Path(words[0]).name, *words[1:]]


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_command_is_understood(page: Path) -> None:
    for program, *words in commands(page):
        assert program in PROGRAMS
        if program == "memlayer":
            ran = memlayer(*words, "--help")
            assert ran.code == 0, ran.err


def test_the_commands_are_listed_as_their_help_says() -> None:
    listed = re.findall(
        r"^\| `([a-z -]+)` \| (.+) \|$", section(OPERATIONS, "Commands"), re.MULTILINE
    )
    assert listed == [
        (" ".join(path), command.get_short_help_str(200))
        for path, command in all_commands().items()
        if path
    ]


def test_a_variable_is_documented_where_and_only_where_it_is_read() -> None:
    config = (ROOT / "memlayer_pg" / "config.py").read_text("utf-8")
    read = set(re.findall(r'"(MEMLAYER_[A-Z_]+)"', config))
    for which in ("LLM", "EMBEDDER", "RERANKER"):
        read |= {
            f"MEMLAYER_{which}_{name}" for name in re.findall(r'prefix \+ "([A-Z_]+)"', config)
        }
    # read, but a language model has none
    read -= {"MEMLAYER_LLM_DIMENSIONS", "MEMLAYER_RERANKER_DIMENSIONS"}
    documented = set(VARIABLE.findall(section(ROOT / "docs" / "python.md", "Configuration")))
    assert documented == read
    for name in PAGES:
        assert set(VARIABLE.findall(name.read_text("utf-8"))) <= read


def test_prose_names_no_command_that_is_not_there() -> None:
    known = {" ".join(path) for path in all_commands()}
    for name in PAGES:
        for words in re.findall(r"`memlayer (?:--tenant \w+ )?([a-z-]+(?: [a-z-]+)?)", prose(name)):
            assert words in known or words.split()[0] in known - {"db"}, words
