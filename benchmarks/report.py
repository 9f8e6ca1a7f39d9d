"""What was found, for people: a table for the terminal, a page of Markdown, and pictures."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import plots, targets
from benchmarks.quality import REFERENCE

Results = dict[str, Any]
Lines = list[list[str]]

ORDER = ("ours", "ours, ANN", "ours, 10 users", "plain", "best layout", "bare HNSW", "mem0")
COUNTED = ("statements", "round_trips", "writes", "http", "texts", "prompt_tokens")
WIDTH = 130
"""Characters a line of the table needs, also where nobody knows how wide the paper is."""
SOAK = (
    "operation",
    "calls",
    "errors",
    "median ms, first third",
    "last",
    "p95, first third",
    "last",
)
FILES = {"speed": "speed.json", "quality": "quality.json", "soak": "soak.json"}


def save(folder: Path, kind: str, results: Results) -> Results:
    """Keep results of a kind, and make the page and pictures of all that is in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILES[kind]).write_text(json.dumps(results, ensure_ascii=False, indent=1) + "\n")
    together: Results = {"about": {}}
    for name, file in FILES.items():
        if (folder / file).exists():
            part = json.loads((folder / file).read_text())
            together["about"][name] = part.pop("about")
            together |= part
    pictures = plots.draw(together, folder)
    (folder / "benchmarks.md").write_text(markdown(together, pictures))
    return together


def show(results: Results) -> None:
    """Print the one table."""
    table = Table(title="Benchmarks", show_lines=False)
    for title in (
        "what",
        "contender",
        "median ms",
        "p95 ms",
        "CPU ms",
        "Postgres",
        "models",
        "calls/s",
    ):
        table.add_column(title, justify="left" if title in ("what", "contender") else "right")
    previous = None
    for line in speed_lines(results):
        if previous is not None and line[0] != previous:
            table.add_section()
        table.add_row(*(line if line[0] != previous else ["", *line[1:]]))
        previous = line[0]
    table.add_section()
    for row in results.get("quality", []):
        what = f"{row['set']}: recall@10, nDCG@10"
        table.add_row(what, row["contender"], f"{row['recall']:.3f}", f"{row['ndcg']:.3f}")
    table.add_section()
    for target in targets.of(results):
        value, bound = shown(target)
        verdict = "met" if target.met else "MISSED"
        table.add_row(target.text, f"target {bound}", value, verdict, by_cpu(target))
    if "soak" in results:
        table = Table(*SOAK, title="A long load with faults")
        for line in soak_lines(results):
            table.add_row(*line)
    console = Console()
    Console(width=max(console.width, WIDTH)).print(table)


def speed_lines(results: Results) -> Lines:
    """One line a contender, in the order of the runs."""
    rows = results.get("speed", [])
    keys = list(dict.fromkeys(_what(row) for row in rows))
    rows = sorted(rows, key=lambda row: (keys.index(_what(row)), _place(row["contender"])))
    return [
        [
            _what(row),
            row["contender"],
            f"{row['median_ms']:.2f}",
            f"{row['p95_ms']:.2f}",
            f"{row['cpu_ms']:.2f}",
            f"{row['server_cpu_ms']:.2f}",
            f"{row['model_ms']:.2f}",
            f"{row['per_second']:.0f}",
        ]
        for row in rows
    ]


def soak_lines(results: Results) -> Lines:
    """One line an operation of the long load, and what else was seen."""
    if "soak" not in results:
        return []
    soak = results["soak"]
    lines = [
        [
            row["operation"],
            str(row["calls"]),
            str(row["errors"]),
            *(
                f"{row[f'{what}_{part}_ms']:.1f}"
                for what in ("median", "p95")
                for part in ("first", "last")
            ),
        ]
        for row in soak["operations"]
    ]
    share = sum(soak["errors"].values()) / max(soak["calls"], 1)
    begin, end = soak["memory_mib"]["begin"], soak["memory_mib"]["end"]
    told = {
        "calls that failed": f"{share:.2%}",
        "with": ", ".join(f"{name}: {n}" for name, n in soak["errors"].items()) or "nothing",
        "backends ended": f"{soak['killed']}, server crashes {soak['crashed']}",
        "calls whose end nobody was told": str(soak["unsure"]),
        "MiB of the client": f"{begin:.0f} at the begin, {end:.0f} at the end",
        "connections": f"{soak['connections_most']} at most, {soak['connections_left']} left over",
        "promises broken": "; ".join(soak["failures"]) or "none",
    }
    return lines + [[what, value] for what, value in told.items()]


def markdown(results: Results, pictures: Sequence[str]) -> str:
    """The page."""
    parts = [
        "# Benchmarks",
        "Made by `python -m benchmarks`; how things are measured is described in its "
        "[README](../benchmarks/README.md).",
        *_about(results),
    ]
    found = targets.of(results)
    if found:
        lines = [
            [target.text, *shown(target), "met" if target.met else "**missed**", by_cpu(target)]
            for target in found
        ]
        titles = ["what", "measured", "target", "", "by CPU time of Postgres"]
        parts += ["## Targets", _table(titles, lines)]
    if results.get("speed"):
        titles = [
            "what",
            "who",
            "median ms",
            "p95 ms",
            "CPU ms",
            "of it Postgres",
            "models ms",
            "calls/s",
        ]
        parts += [
            "## Speed",
            "Time spent on models (scripted, on loopback) is taken off the median and the p95 and "
            "stands apart; CPU is that of the client and of Postgres together. *plain* is the "
            "query by hand, or for what writes the insertion and commit of one row.",
            _table([*titles, "calls/s"], speed_lines(results)),
        ]
    if results.get("counts"):
        lines = [
            [row["operation"], row["contender"], *(f"{row[what]:.4g}" for what in COUNTED)]
            for row in results["counts"]
        ]
        titles = ["operation", "who", *(what.replace("_", " ") for what in COUNTED)]
        parts += ["## What one call makes others do", _table(titles, lines)]
    if results.get("recall"):
        lines = [
            [row["workload"], row["contender"], f"{row['recall']:.3f}", str(row["too_few_rows"])]
            for row in results["recall"]
        ]
        parts += [
            "## Recall in a large scope",
            _table(["workload", "who", "recall@20", "answers with too few rows"], lines),
        ]
    if results.get("sizes"):
        lines = [
            [f"{row['per_user']:,}", row["contender"], f"{row['bytes_per_memory']:,.0f}"]
            for row in results["sizes"]
        ]
        parts += ["## Bytes on disk", _table(["a user", "who", "bytes a memory"], lines)]
    if "package" in results:
        times = results["package"]["import_ms"].items()
        parts += ["## Import", _table(["who", "ms"], [[who, f"{ms:.0f}"] for who, ms in times])]
    if "decoding" in results:
        cost = results["decoding"]
        parts += [
            "## Vectors from the endpoint",
            f"Client CPU of one request for {cost['texts']} vectors, HTTP included.",
            _table(["form", "ms"], [[form, f"{cost[form]:.2f}"] for form in ("base64", "float")]),
        ]
    if results.get("quality"):
        parts += ["## Retrieval", _table(*_quality(results))]
    if "soak" in results:
        given = results["soak"]["options"]
        blank = [""] * len(SOAK)
        parts += [
            "## A long load with faults",
            f"{given['clients']} clients of one process for {given['minutes']:g} minutes; a "
            f"backend is ended every {given['kill_every']:g} s, and one killed, with which the "
            f"server starts anew, every {given['crash_every']:g} s.",
            _table(SOAK, [(line + blank)[: len(SOAK)] for line in soak_lines(results)]),
        ]
    parts += [f"![{Path(name).stem}]({name})" for name in pictures]
    return "\n\n".join(parts) + "\n"


def shown(target: targets.Target) -> tuple[str, str]:
    """What was measured, and the bound."""
    sign = "≥" if target.least else "≤"
    return (
        f"{target.value:.3g}{target.unit}" if target.value < 1000 else f"{target.value:,.0f}",
        f"{sign} {target.bound:g}{target.unit}",
    )


def by_cpu(target: targets.Target) -> str:
    """The same by the processor time of Postgres, which busy neighbours stretch less."""
    return "" if target.cpu is None else f"{target.cpu:.3g}{target.unit}"


def _quality(results: Results) -> tuple[list[str], Lines]:
    lines = []
    for row in results["quality"]:
        known = REFERENCE.get(row["set"], {}) if row["contender"] == "ours" else {}
        lines.append(
            [
                f"{row['set']} ({row['memories']:,} memories, {row['questions']:,} questions)",
                row["contender"],
                f"{row['recall']:.3f}",
                f"{row['ndcg']:.3f}",
                ", ".join(f"{name} {value:.3f}" for name, value in known.items()),
            ]
        )
    return ["set", "who", "recall@10", "nDCG@10", "reference (whole set, recall@10)"], lines


def _about(results: Results) -> Iterable[str]:
    for kind, about in results["about"].items():
        packages = ", ".join(f"{name} {found}" for name, found in about["packages"].items())
        postgres = ", ".join(f"{name} {found}" for name, found in about["postgres"].items())
        yield (
            f"{kind.title()}: {about['date']}, commit {about['commit']}, {about['processor']}, "
            f"{about['cores']} cores, {about['memory_gib']} GiB, load {about['load_at_start']:.1f} "
            f"at the start, Python {about['python']}, {packages}. Postgres: {postgres}."
            + "".join(f" {about[key]}." for key in ("peer", "embedder") if about.get(key))
        )


def _what(row: dict[str, Any]) -> str:
    clients = f", {row['clients']} clients" if row["clients"] > 1 else ""
    return f"{row['workload']} {row['per_user']:,} a user: {row['operation']}{clients}"


def _place(contender: str) -> int:
    return ORDER.index(contender) if contender in ORDER else len(ORDER)


def _table(titles: Sequence[str], lines: Lines) -> str:
    rows = [list(titles), ["---"] * len(titles), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)
