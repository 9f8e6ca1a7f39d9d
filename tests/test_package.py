"""What is installed, and what its parts may import."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import memlayer_pg
from memlayer_pg import schema

CHECKOUT = Path(__file__).parent.parent


def test_all_is_exactly_what_is_exported() -> None:
    exported = {
        name
        for name, value in vars(memlayer_pg).items()
        if getattr(value, "__module__", "").startswith("memlayer_pg") and not name.startswith("_")
    }
    offered = {name for name in memlayer_pg.__all__ if not name.startswith("__")}
    assert exported <= offered
    for name in memlayer_pg.__all__:
        assert getattr(memlayer_pg, name) is not None


def test_each_part_imports_only_what_lies_below_it() -> None:
    """The contracts stand in pyproject.toml, [tool.importlinter]."""
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_the_wheel_has_all_that_a_database_is_made_of(installed: Path) -> None:
    package = installed / "memlayer_pg"
    assert files(package / "sql") == files(schema.SQL)
    assert files(package / "migrations") == files(schema.MIGRATIONS)
    assert (package / "py.typed").is_file()


def files(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*.*") if path.suffix != ".pyc"}


def test_the_wheel_brings_a_database_up_without_the_checkout(installed: Path, empty: str) -> None:
    program = """
import sys
from memlayer_pg import schema
assert schema.SQL.parent.parent == __import__("pathlib").Path(sys.argv[2]), schema.SQL
schema.migrate(sys.argv[1])
"""
    done = subprocess.run(
        [sys.executable, "-c", program, empty, str(installed)],
        cwd=installed,
        env={"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert schema.check(empty) == []


def test_the_installed_version_is_the_one_in_pyproject() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]
    assert metadata.version("memlayer-pg") == project["version"]


def test_the_changelog_knows_the_version() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]
    assert f"## {project['version']}" in (CHECKOUT / "CHANGELOG.md").read_text("utf-8")
