"""What README shows of the demo is what the demo prints, with the local models."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from tests.conftest import temporary_folder
from tests.readme.pages import PAGES, blocks


def test_the_excerpt_is_of_what_the_demo_prints() -> None:
    [excerpt] = [block for block in blocks(PAGES[0], "text") if block.marker == "memlayer demo"]
    with temporary_folder() as folder:
        ran = subprocess.run(
            [sys.executable, "-m", "memlayer_pg", "demo"],
            env={**os.environ, "MEMLAYER_DATA_DIR": str(folder / "data"), "COLUMNS": "80"},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
    assert ran.returncode == 0, ran.stderr
    printed = iter(masked(ran.stdout))
    for line in masked(excerpt.code):
        # In order; what stands between was left out.
        assert line in printed


def masked(text: str) -> list[str]:
    """The lines of a text that say something; numbers, which models may change, as 0."""
    return [re.sub(r"\d+", "0", line.rstrip()) for line in text.splitlines() if line.strip()]
