"""Writes the API reference, a page of HTML a module, from the docstrings: needs pdoc.

python docs/reference.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import pdoc

import memlayer_pg

MODULES = (
    "memlayer_pg",
    "memlayer_pg.models.adapters",
    "memlayer_pg.models.rerank",
    "memlayer_pg.schema",
    "memlayer_pg.embedded",
    "memlayer_pg.observing",
    "memlayer_pg.otel",
    "memlayer_pg.logs",
)
"""What is public: the package itself, and the modules that the pages in docs/ import from."""


def write(folder: Path) -> None:
    """Write the pages, and an index of them."""
    for name in memlayer_pg.__all__:  # some are imported when they are first asked for
        setattr(memlayer_pg, name, getattr(memlayer_pg, name))
    pdoc.render.configure(docformat="markdown", show_source=False)
    pdoc.pdoc(*MODULES, output_directory=folder)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write(Path(sys.argv[1]))
