"""What the command line says of itself, and what it says when it is used wrongly."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from memlayer_pg import __version__
from tests.cli.running import all_commands, memlayer

COMMANDS = all_commands()


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_explains_itself(path: tuple[str, ...]) -> None:
    command = COMMANDS[path]
    assert command.help
    for flag in ("-h", "--help"):
        ran = memlayer(*path, flag)
        assert ran.code == 0
        assert command.help.split("\n")[0] in ran.out
        assert "Options of every command" in ran.out


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_option_has_a_description(path: tuple[str, ...]) -> None:
    for option in COMMANDS[path].params:
        if isinstance(option, click.Option):
            assert option.help, option.name


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("before", [True, False], ids=["before", "behind"])
def test_options_of_every_command_stand_before_or_behind_its_name(
    path: tuple[str, ...], before: bool
) -> None:
    everywhere = ["--json", "--debug", "--tenant", "t", "--dsn", "host=nowhere"]
    args = [*everywhere, *path] if before else [*path, *everywhere]
    ran = memlayer(*args, "--help")
    assert (ran.code, ran.err) == (0, "")


def test_no_summary_is_cut_short() -> None:
    for group in ((), ("db",)):
        ran = memlayer(*group, "--help", COLUMNS="80")
        commands = ran.out.partition("Commands:")[2].partition("Options:")[0]
        assert "..." not in commands


def test_a_group_alone_shows_its_help() -> None:
    assert memlayer().out == memlayer("--help").out
    assert memlayer("db").out == memlayer("db", "--help").out


def test_the_version_is_the_packages() -> None:
    assert memlayer("--version").out == f"memlayer-pg {__version__}\n"


def test_help_loads_nothing_heavy() -> None:
    heavy = {"psycopg", "rich", "openai", "alembic", "sqlalchemy", "numpy"}
    code = (
        "import sys; from memlayer_pg.cli import cli\n"
        "try: cli(['--help'])\n"
        f"except SystemExit: print(sorted({heavy!r} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["serach"], "serach"),
        (["search"], "QUERY"),
        (["search", "tea", "--nope"], "--nope"),
        (["search", "tea", "--top-k", "many"], "many"),
        (["search", "tea", "--threshold", "2"], "2"),
        (["search", "tea"], "at least one of --user, --agent and --run"),
        (["list"], "at least one of --user, --agent and --run"),
        (["messages"], "at least one of --user, --agent and --run"),
        (["delete-all", "--yes"], "at least one of --user, --agent and --run"),
        (["add", "x"], "at least one of --user, --agent and --run"),
        (["add"], "either TEXT (- for stdin) or --file"),
        (["add", "x", "--user", "a", "--metadata", "{"], "not JSON"),
        (["add", "x", "--user", "a", "--metadata", "[]"], "no JSON object"),
        (["list", "--user", "a", "--filter", '{"user_id": "b"}'], "user_id"),
        (["update", "x"], "nothing to change"),
        (["update", "x", "--expires", "2030-01-01", "--no-expiry"], "exclude each other"),
        (["search", "x", "--user", "a", "--keyword", "--explain"], "--explain"),
        (["search", "x", "--user", "a", "--keyword", "--rerank"], "--rerank"),
        (["search", "x", "--user", "a", "--keyword", "--no-superseded"], "--no-superseded"),
        (["search", "x", "--user", "a", "--keyword", "--fusion", "additive"], "--fusion"),
        (["search", "x", "--user", "a", "--plan", "--explain"], "--plan and --explain"),
        (["search", "x", "--user", "a", "--fusion", "rrf"], "rrf"),
        (["search", "x", "--user", "a", "--recency-half-life", "0"], "--recency-half-life"),
        (["db", "sql", "--to", "ml9999"], "no revision ml9999"),
        (["demo", "--tenant", "mine"], "tenant demo"),
        (["serve-embedded", "--dsn", "host=x"], "--dsn names another"),
        (["scopes", "--dsn", "mysql://x"], "not Postgres"),
        (["scopes", "--tenant", " "], "tenant"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_use_ends_with_a_line_and_2(args: list[str], message: str) -> None:
    ran = memlayer(*args, MEMLAYER_DSN="host=nowhere.invalid")
    assert ran.code == 2
    assert ran.out == ""
    error, *hints = ran.err.splitlines()
    assert error.startswith("error: ")
    assert message in error
    assert all(hint.startswith("hint: ") for hint in hints)
    assert len(hints) <= 1


def test_settings_that_cannot_be_read_end_with_2() -> None:
    ran = memlayer("scopes", MEMLAYER_DSN="host=nowhere", MEMLAYER_MAX_SIZE="many")
    assert (ran.code, ran.err) == (2, "error: MEMLAYER_MAX_SIZE: must be a number, not 'many'\n")
