"""Without a framework everything else works."""

from __future__ import annotations

import subprocess
import sys

FRAMEWORKS = ("mcp", "langgraph", "langchain_core", "agents", "llama_index", "crewai")


def test_without_the_sdk_the_server_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['mcp'] = None\n"
        "from memlayer_pg.cli import main\n"
        "sys.argv[1:] = ['mcp', '--user', 'ann', '--dsn', 'host=nowhere.invalid']; main()"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.splitlines() == [
        "error: the MCP SDK, version 2.1 or newer, is not installed",
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
