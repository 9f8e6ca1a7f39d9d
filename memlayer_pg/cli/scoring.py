"""Why a memory was found where it was: the parts of its score, as a bar and as a sum."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memlayer_pg.cli.output import about, grid, minute, wording

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

PARTS = (
    # key of score_details, name, colour, and a glyph that tells it apart without colours
    ("semantic_score", "meaning", "cyan", "█"),
    ("bm25_score", "words", "yellow", "▓"),
    ("entity_boost", "names", "magenta", "▒"),
    ("recency", "recency", "green", "░"),
)
TAKEN = ("superseded", "superseded", "red", "-")
"""What is taken from a memory that a newer one replaced: never more than 0."""
ON_REQUEST = ("recency", "superseded")
"""Parts that most searches have not; there they are 0."""
WIDE = 100
"""Columns from which a terminal has room for longer bars."""

Results = list[dict[str, Any]]
Details = Mapping[str, Any]


def results(found: Results, console: Console, *, explain: bool, ids: bool = True) -> Table:
    """What a search found, best first; `explain` shows the parts of each score."""
    from rich.console import Group

    table = grid(">score", "memory")
    for item in found:
        lines = [wording(item)]
        if explain:
            lines.append(explained(item["score_details"], console))
        if ids:
            judged = item.get("rerank_score")
            extra = [] if judged is None else [f"reranked {judged:.2f}"]
            if explain and item["score_details"].get("cosine_similarity") is not None:
                extra.append(f"cosine {item['score_details']['cosine_similarity']:.3f}")
            lines.append(about(item, minute(item["created_at"]), *extra))
        table.add_row(f"{item['score']:.3f}", Group(*lines))
    return table


def explained(details: Details, console: Console) -> Text:
    """One score: a bar whose length is the score, in the colours of its parts, and the sum."""
    from rich.text import Text

    most = details["max_possible_score"] or 1.0
    line = Text()
    if console.is_terminal:
        line.append_text(_bar(details, most, 28 if console.width >= WIDE else 14))
        line.append("  ")
    summed = " + ".join(
        f"{details[key]:.3f} {name}" for key, name, _, _ in PARTS if _is_there(details, key)
    )
    if _is_there(details, TAKEN[0]):
        summed += f" - {abs(details[TAKEN[0]]):.3f} {TAKEN[1]}"
    return line.append(f"({summed}) / {most:g}")


def _bar(details: Details, most: float, width: int) -> Text:
    """The parts, one behind the other; what was taken from their sum is struck off at the end."""
    from rich.text import Text

    bar = Text()
    taken = details.get("superseded") or 0.0
    reached = 0.0
    total = sum(details[key] for key, *_ in PARTS if _is_there(details, key))
    left = min(max(round((total + taken) / most * width), 0), width)
    for key, _, colour, glyph in PARTS:
        if _is_there(details, key):
            # Rounded where it ends, not in length: so that the bar as a whole is right.
            reached += details[key] / most
            end = min(round(reached * width), width)
            kept = max(min(end, left) - len(bar), 0)
            bar.append(glyph * kept, style=colour)
    if taken:
        _, _, colour, glyph = TAKEN
        bar.append(glyph * (min(round(total / most * width), width) - len(bar)), style=colour)
    return bar.append("·" * (width - len(bar)), style="dim")


def legend(found: Results, console: Console) -> Text:
    """What the parts mean that these results have."""
    from rich.text import Text

    details = [item["score_details"] for item in found]
    meanings = {
        "meaning": "cosine, less what unrelated texts have" if _calibrated(details) else "cosine",
        "words": "BM25",
        "names": "entities",
        "recency": "age",
        "superseded": "a newer memory replaced it",
    }
    line = Text()
    for key, name, colour, glyph in (*PARTS, TAKEN):
        if any(_is_there(parts, key) for parts in details):
            if console.is_terminal:
                line.append(f"{glyph} ", style=colour)
            line.append(f"{name} ({meanings[name]})  ", style="dim")
    return line.append("/ most possible", style="dim")


def _is_there(details: Details, key: str) -> bool:
    return details.get(key) is not None and (key not in ON_REQUEST or bool(details[key]))


def _calibrated(details: list[Details]) -> bool:
    """Whether meaning is something else than the cosine similarity itself."""
    return any(
        not math.isclose(parts["semantic_score"], parts["cosine_similarity"], abs_tol=1e-6)
        for parts in details
        if parts.get("semantic_score") is not None and parts.get("cosine_similarity") is not None
    )
