"""The same calls on real mem0 and on ours: whatever differs is a row of docs/mem0.md.

MEM0_PYTHON names an interpreter that has the dependency group `mem0` installed, and none of
memlayer-pg. Without it the comparison is skipped; that calls and rows agree is tested always.
"""

from __future__ import annotations

import json
import os
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memlayer_pg.compat import mem0
from tests.conftest import create, named
from tests.endpoint import Endpoint
from tests.mem0 import runner
from tests.mem0.calls import SCRIPTS, calls
from tests.mem0.comparing import EVERYWHERE, alike, same
from tests.mem0.settings import config
from tests.readme.pages import ROOT, rows

KINDS: dict[str, Any] = {"sync": mem0.Memory, "async": mem0.AsyncMemory}
ROWS = set(rows(ROOT / "docs" / "mem0.md", "What is different, and why it is better"))
VERSION = "2.2.1"


def theirs(url: str, folder: Path) -> dict[str, runner.Outcomes]:
    """What mem0's two classes give, each a store of its own in this database."""
    foreign = ("OPENAI_", "OPENROUTER_", "PG", "PYTHONPATH")
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(foreign)
    }
    environment |= {"MEM0_DIR": str(folder), "MEM0_TELEMETRY": "False", "OPENAI_API_KEY": "none"}
    done = subprocess.run(
        [os.environ["MEM0_PYTHON"], "-m", "tests.mem0.worker", url, str(folder)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answer = json.loads(done.stdout)
    assert answer["version"] == VERSION
    found: dict[str, runner.Outcomes] = answer["outcomes"]
    return found


def ours(dsn: str, folder: Path) -> dict[str, runner.Outcomes]:
    """What our two classes give."""

    def make(kind: str, endpoint: Endpoint) -> Any:
        history = folder / f"{kind}.db"
        return KINDS[kind].from_config(config(dsn, f"mem0-{kind}", endpoint, history))

    return {kind: runner.run(partial(make, kind)) for kind in KINDS}


@pytest.fixture(scope="module")
def outcomes(server: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What both sides gave."""
    if "MEM0_PYTHON" not in os.environ:
        pytest.skip("MEM0_PYTHON names no interpreter that has mem0ai")
    folder = tmp_path_factory.mktemp("mem0")
    mine = ours(create(server, named(template)), folder)
    return theirs(create(server), folder), mine


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_call_is_answered_as_by_mem0_or_as_a_row_says(
    outcomes: Any, kind: str, script: str
) -> None:
    wrong = []
    for number, one in enumerate(SCRIPTS[script]):
        there, here = (side[kind][script][number] for side in outcomes)
        like = alike(one, there, here)
        if one.differs in EVERYWHERE:
            right = not same(there, here)
        else:
            right = like is (one.differs is None)
        if not right:
            wrong.append(f"{number} {one} [{one.differs}]\n  mem0: {there}\n  ours: {here}")
    assert not wrong, "\n".join(wrong)


def test_the_rows_of_the_table_are_those_that_calls_show() -> None:
    assert {one.differs for _, _, one in calls() if one.differs} == ROWS


def test_there_are_calls_enough_to_mean_something() -> None:
    listed = list(calls())
    assert len(listed) >= 150
    assert sum(one.differs is None for _, _, one in listed) > 0.75 * len(listed)
