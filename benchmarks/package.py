"""What it costs to import a package."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from typing import Any

TIMES = 9
HEAVY = ("openai", "alembic", "sqlalchemy", "click")
"""What `import memlayer_pg` must not bring with it."""


def imports(mem0_python: str | None) -> dict[str, Any]:
    """Milliseconds of the import, an empty Python taken off, and what it loads that it must not."""
    found: dict[str, Any] = {
        "import_ms": {"ours": _took("import memlayer_pg", sys.executable)},
        "loads": json.loads(
            subprocess.run(
                [
                    sys.executable,
                    "-c",
                    "import json, sys, memlayer_pg; "
                    f"print(json.dumps(sorted(set({HEAVY}) & set(sys.modules))))",
                ],
                check=True,
                capture_output=True,
            ).stdout
        ),
    }
    if mem0_python is not None:
        found["import_ms"]["mem0"] = _took("import mem0", mem0_python)
    return found


def _took(statement: str, python: str) -> float:
    """Median milliseconds of a statement in a Python of its own, with what is compiled cached."""
    _run(statement, python)
    times = [_run(statement, python) - _run("pass", python) for _ in range(TIMES)]
    return statistics.median(times) * 1000


def _run(statement: str, python: str) -> float:
    begun = time.perf_counter()
    subprocess.run([python, "-c", statement], check=True, capture_output=True)
    return time.perf_counter() - begun
