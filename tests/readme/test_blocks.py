"""Every block of code of the pages does what the page says."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import psycopg
import pytest

from memlayer_pg import cluster
from memlayer_pg.checks import UNSET
from tests.endpoint import Endpoint
from tests.readme.conftest import url
from tests.readme.pages import NAMES, PAGES, Block, blocks

LANGUAGES = ("python", "sql", "sh", "text", "ini", "json")


def test_every_block_is_of_a_language_that_is_tested() -> None:
    for page in PAGES:
        for block in blocks(page):
            assert block.language in LANGUAGES, str(block)


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_python_does_what_the_page_says(
    page: Path, demo: str, models: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMLAYER_DSN", url(demo))
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    monkeypatch.setenv("OPENAI_BASE_URL", models.base_url)
    addresses = {
        "postgresql://app@db.example.org/app": url(demo),
        "postgresql+psycopg://app@db.example.org/app": url(demo, "postgresql+psycopg"),
        "http://localhost:11434/v1": models.base_url,
    }
    names: dict[str, Any] = {"__name__": page.stem, "UNSET": UNSET}
    for block in blocks(page, "python"):
        if not there(block):
            continue
        code = block.code
        for written, real in addresses.items():
            code = code.replace(f'"{written}"', repr(real))
        # Lines of a traceback are those of the page.
        compiled = compile("\n" * (block.line - 1) + code, str(page), "exec")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compiled, names)
        assert printed.getvalue() == (block.output or ""), str(block)


def there(block: Block) -> bool:
    """Whether the framework that an example needs is installed, where it needs one."""
    what, _, name = (block.marker or "").partition(" ")
    if what == "needs":
        try:
            return importlib.util.find_spec(name) is not None
        except ModuleNotFoundError:  # not even what it is a part of
            return False
    return True


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_sql_gives_what_the_page_says(page: Path, demo: str) -> None:
    for block in blocks(page, "sql"):
        printed = psql(demo, block)
        if block.output is not None:
            assert trimmed(printed) == trimmed(block.output), str(block)
        elif block.marker != "no rows":
            assert "(0 rows)" not in printed, f"{block} gives no rows"
    with psycopg.connect(demo) as conn:
        assert conn.execute("select * from memlayer.verify()").fetchall() == []


def psql(dsn: str, block: Block) -> str:
    """What psql prints of a block."""
    programs = cluster.programs()
    done = subprocess.run(
        [programs[max(programs)] / "psql", "-X", "-v", "ON_ERROR_STOP=1", "-d", dsn],
        input=block.code,
        env={**os.environ, "PGCLIENTENCODING": "UTF8", "PSQL_PAGER": ""},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, f"{block}: {done.stderr}"
    return done.stdout


def trimmed(table: str) -> list[str]:
    """The lines of a table without the blanks that psql ends them with."""
    return [line.rstrip() for line in table.strip("\n").splitlines()]


def test_json_can_be_read() -> None:
    for page in PAGES:
        for block in blocks(page, "json"):
            json.loads(block.code)
