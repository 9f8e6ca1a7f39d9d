"""Why a memory was found where it was: the parts of its score, as a bar and as a sum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memlayer_pg.cli.output import LONGEST, about, grid, minute, shown

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

PARTS = (
    # key of score_details, name, colour, and a glyph that tells it apart without colours
    ("semantic_score", "meaning", "cyan", "█"),
    ("bm25_score", "words", "yellow", "▓"),
    ("entity_boost", "names", "magenta", "▒"),
)
WIDE = 100
"""Columns from which a terminal has room for longer bars."""

Results = list[dict[str, Any]]


def results(found: Results, console: Console, *, explain: bool, ids: bool = True) -> Table:
    """What a search found, best first; `explain` shows the parts of each score."""
    from rich.console import Group
    from rich.text import Text

    table = grid(">score", "memory")
    for item in found:
        lines = [Text(shown(item["memory"], LONGEST))]
        if explain:
            lines.append(explained(item["score_details"], console))
        if ids:
            judged = item.get("rerank_score")
            extra = [] if judged is None else [f"reranked {judged:.2f}"]
            lines.append(about(item, minute(item["created_at"]), *extra))
        table.add_row(f"{item['score']:.3f}", Group(*lines))
    return table


def explained(details: Mapping[str, Any], console: Console) -> Text:
    """One score: a bar whose length is the score, in the colours of its parts, and the sum."""
    from rich.text import Text

    most = details["max_possible_score"] or 1.0
    parts = [
        (float(details[key]), name, colour, glyph)
        for key, name, colour, glyph in PARTS
        if details.get(key) is not None
    ]
    line = Text()
    if console.is_terminal:
        width = 28 if console.width >= WIDE else 14
        drawn = 0
        reached = 0.0
        for value, _, colour, glyph in parts:
            # Rounded where it ends, not in length: so that the bar as a whole is right.
            reached += value / most
            end = min(round(reached * width), width)
            line.append(glyph * (end - drawn), style=colour)
            drawn = max(end, drawn)
        line.append("·" * (width - drawn) + "  ", style="dim")
    summed = " + ".join(f"{value:.3f} {name}" for value, name, _, _ in parts)
    return line.append(f"({summed}) / {most:g}")


def legend(console: Console) -> Text:
    """What the parts mean."""
    from rich.text import Text

    meanings = {"meaning": "cosine", "words": "BM25", "names": "entities"}
    line = Text()
    for _, name, colour, glyph in PARTS:
        if console.is_terminal:
            line.append(f"{glyph} ", style=colour)
        line.append(f"{name} ({meanings[name]})  ", style="dim")
    return line.append("/ most possible", style="dim")
