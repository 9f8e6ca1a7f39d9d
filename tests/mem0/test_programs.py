"""Programs written for mem0 run with the import changed; where mem0 is, it prints the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import create, named
from tests.endpoint import Endpoint
from tests.mem0.calls import facts
from tests.mem0.settings import config
from tests.readme.pages import ROOT

PROGRAMS = ROOT / "tests" / "mem0" / "programs"
ANSWERS = {
    "personal_assistant": [
        "Noted!",
        facts("User is vegetarian.", "User lives in Oslo."),
        "How about a risotto?",
        facts("User was offered a risotto."),
    ],
    "support_bot": [facts("Order 4711 did not arrive."), facts("Customer was charged twice.")],
    "async_handler": [],
    "research_agent": [],
    "custom_prompts": [facts("User eats porridge."), "Hello!"],
}
NAMES = list(ANSWERS)


def printed(python: str, source: Path, name: str, dsn: str, folder: Path, path: str) -> str:
    """What a program prints when it runs in a process of its own on an empty store."""
    folder.mkdir(exist_ok=True)
    with Endpoint() as endpoint:
        if ANSWERS[name]:
            endpoint.reply(*ANSWERS[name])
        environment = {k: v for k, v in os.environ.items() if not k.startswith("OPENAI_")}
        environment |= {
            "MEM0_CONFIG": json.dumps(config(dsn, "programs", endpoint, folder / "history.db")),
            "CHAT_URL": endpoint.base_url,
            "MEM0_DIR": str(folder),
            "MEM0_TELEMETRY": "False",
            "OPENAI_API_KEY": "none",
            "PYTHONPATH": path,
        }
        done = subprocess.run(
            [python, str(source)], env=environment, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_a_program_for_mem0_runs_with_the_import_changed(
    server: str, template: str, tmp_path: Path, name: str
) -> None:
    dsn = create(server, named(template))
    program = PROGRAMS / f"{name}.py"
    output = printed(sys.executable, program, name, dsn, tmp_path / "ours", str(ROOT))
    assert output == (PROGRAMS / f"{name}.txt").read_text("utf-8")
    if "MEM0_PYTHON" not in os.environ:
        return
    original = tmp_path / f"{name}.py"
    original.write_text(program.read_text("utf-8").replace("memlayer_pg.compat.mem0", "mem0"))
    theirs = printed(
        os.environ["MEM0_PYTHON"], original, name, create(server), tmp_path / "mem0", ""
    )
    assert output == theirs


def test_every_program_is_run() -> None:
    assert {path.stem for path in PROGRAMS.glob("*.py")} - {"__init__"} == set(NAMES)
