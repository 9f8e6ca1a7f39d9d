"""What is released: the archives, the reference made of docstrings, and what comes with them."""

from __future__ import annotations

import re
import sys
import tarfile
import tomllib
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import memlayer_pg
from memlayer_pg import Memory
from tests.conftest import CHECKOUT, run, temporary_folder
from tests.readme.pages import PAGES, blocks
from tests.readme.test_demo import masked


def test_what_was_built_from_the_sdist_runs_the_demo_in_a_new_environment(release: Path) -> None:
    with temporary_folder() as folder:
        printed = run(
            release / "memlayer", "demo", MEMLAYER_DATA_DIR=str(folder / "data"), COLUMNS="80"
        )
    [excerpt] = [block for block in blocks(PAGES[0], "text") if block.marker == "memlayer demo"]
    lines = iter(masked(printed))
    assert all(line in lines for line in masked(excerpt.code))
    run(release / "python", "-m", "pip", "check")


def test_the_archives_hold_what_a_packager_needs(archives: Path) -> None:
    [sdist], [wheel] = archives.glob("*.tar.gz"), archives.glob("*.whl")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "CHANGELOG.md", "sql/all.sql", "tests/conftest.py"} <= names
    with ZipFile(wheel) as zipped:
        [metadata] = [name for name in zipped.namelist() if name.endswith("METADATA")]
        told = Parser().parsestr(zipped.read(metadata).decode())
    assert told["License-Expression"] == "Apache-2.0"
    assert told["Description-Content-Type"] == "text/markdown"


def test_what_everybody_has_to_install_is_what_was_agreed() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]
    names = {re.split(r"[\[<>=;~ ]", line)[0] for line in project["dependencies"]}
    assert names == {"psycopg", "pgvector", "sqlalchemy", "alembic", "openai", "click", "rich"}


def test_the_reference_has_everything_that_is_public(tmp_path: Path) -> None:
    run(sys.executable, "docs/reference.py", tmp_path, PYTHONPATH=str(CHECKOUT))
    page = (tmp_path / "memlayer_pg.html").read_text("utf-8")
    for name in set(memlayer_pg.__all__) - {"__version__"}:
        assert f'id="{name}"' in page, name
    for name in (name for name in vars(Memory) if not name.startswith("_")):
        assert f'id="Memory.{name}"' in page, name


def test_the_security_policy_says_which_versions_are_looked_after() -> None:
    policy = (CHECKOUT / "SECURITY.md").read_text("utf-8")
    series = memlayer_pg.__version__.rpartition(".")[0]
    assert f"| {series}.x | yes |" in policy
