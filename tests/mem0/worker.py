"""mem0 in a process, and an environment, of its own: runs the scripts and prints the outcomes.

    python -m tests.mem0.worker URL FOLDER

Imports nothing of memlayer-pg: it need not be installed there.
"""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.endpoint import Endpoint
from tests.mem0 import runner
from tests.mem0.settings import config

KINDS = {"sync": "Memory", "async": "AsyncMemory"}


def main(url: str, folder: str) -> None:
    """Run the scripts on the Memory and the AsyncMemory of the mem0 that is installed."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever mem0 prints goes to stderr
    sys.modules["spacy"] = None  # type: ignore[assignment]  # else it downloads a model
    mem0: Any = import_module("mem0")

    def make(kind: str, endpoint: Endpoint) -> Any:
        history = Path(folder) / f"{kind}.db"
        return getattr(mem0, KINDS[kind]).from_config(config(url, kind, endpoint, history))

    outcomes = {kind: runner.run(partial(make, kind)) for kind in KINDS}
    answers.write(json.dumps({"version": version("mem0ai"), "outcomes": outcomes}))
    answers.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
