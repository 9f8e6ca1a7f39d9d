"""Pictures of results, by matplotlib; none where it is not installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

Results = dict[str, Any]


def draw(results: Results, folder: Path) -> list[str]:
    """Draw what there are results for; the names of the files."""
    if find_spec("matplotlib") is None:
        return []
    made = []
    rows = [row for row in results.get("speed", []) if row["clients"] == 1]
    searches = [row for row in rows if row["operation"] == "search"]
    if searches:
        groups = [f"{row['workload']} {row['per_user']:,}" for row in searches]
        values = [row["median_ms"] for row in searches]
        _bars(
            folder / "search.png", "Search, median ms (model time taken off)",
            groups, [row["contender"] for row in searches], values, log=True,
        )  # fmt: skip
        made.append("search.png")
    largest = max((row["per_user"] for row in rows if row["workload"] == "A"), default=None)
    if largest is not None:
        shown = [row for row in rows if row["workload"] == "A" and row["per_user"] == largest]
        _bars(
            folder / "operations.png",
            f"Operations at {largest:,} memories a user, median ms (model time taken off)",
            [row["operation"] for row in shown], [row["contender"] for row in shown],
            [row["median_ms"] for row in shown], log=True,
        )  # fmt: skip
        made.append("operations.png")
    quality = results.get("quality", [])
    if quality:
        _bars(
            folder / "quality.png", "recall@10", [row["set"] for row in quality],
            [row["contender"] for row in quality], [row["recall"] for row in quality],
        )  # fmt: skip
        made.append("quality.png")
    return made


def _bars(
    path: Path,
    title: str,
    groups: list[str],
    names: list[str],
    values: list[float],
    *,
    log: bool = False,
) -> None:
    """Bars in groups, one colour a name."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    order, colours = list(dict.fromkeys(groups)), list(dict.fromkeys(names))
    width = 0.8 / len(colours)
    figure, axes = pyplot.subplots(figsize=(max(6, 1.3 * len(order)), 4.5), layout="constrained")
    for number, name in enumerate(colours):
        mine = [(order.index(g), v) for g, n, v in zip(groups, names, values, strict=True)
                if n == name]  # fmt: skip
        places = [place - 0.4 + width * (number + 0.5) for place, _ in mine]
        bars = axes.bar(places, [value for _, value in mine], width, label=name)
        axes.bar_label(bars, fmt="%.3g", fontsize=6, rotation=90, padding=2)
    axes.set_xticks(range(len(order)), order, rotation=20, ha="right")
    axes.margins(y=0.15)
    if log:
        axes.set_yscale("log")
    axes.set_title(title)
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
