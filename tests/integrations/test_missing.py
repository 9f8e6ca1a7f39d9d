"""Without a framework everything else works."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.running import memlayer

FRAMEWORKS = ("mcp", "langgraph", "langchain_core", "agents", "llama_index", "crewai")


def test_without_the_sdk_the_server_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    for name in ("memlayer_pg.integrations.mcp", "mcp.server.mcpserver"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    ran = memlayer("mcp", "--user", "ann", MEMLAYER_DSN="host=nowhere.invalid")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.splitlines() == [
        "error: the MCP SDK, version 2 or newer, is not installed",
        "hint: pip install 'memlayer-pg[mcp]'",
    ]


def test_the_package_and_its_commands_load_no_framework() -> None:
    code = (
        "import sys, memlayer_pg, memlayer_pg.cli, memlayer_pg.integrations\n"
        "memlayer_pg.Memory, memlayer_pg.AsyncMemory\n"
        f"print(sorted(set({FRAMEWORKS!r}) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
