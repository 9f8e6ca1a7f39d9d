"""What was to be reached, and whether it was."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.quality import REFERENCE

Results = dict[str, Any]
Key = tuple[str, int, str, str]


@dataclass(frozen=True)
class Target:
    """`value` was measured, `bound` is what it must not pass: from above, or with `least` from
    below. `cpu`: the same of the processor time of Postgres, where it is a comparison of times."""

    text: str
    value: float
    bound: float
    least: bool = False
    unit: str = " x"
    cpu: float | None = None

    @property
    def met(self) -> bool:
        return self.value >= self.bound if self.least else self.value <= self.bound


RATIOS = (
    ("search_filtered", "plain", 2.0),
    ("add", "plain", 3.0),
    ("add_verbatim", "plain", 1.5),
    ("add_verbatim_10", "plain", 1.5),
    ("update", "plain", 1.5),
    ("delete", "plain", 1.5),
    ("delete_all", "plain", 3.0),
    ("history", "plain", 3.0),
    ("get", "plain", 2.0),
)
COUNTS = (
    ("search", "statements", 1),
    ("search", "round_trips", 1),
    ("search", "http", 1),
    ("add", "round_trips", 2),
    ("add", "writes", 1),
    ("add", "http", 3),
    ("add_first", "prompt_tokens", 2000),
    ("add_verbatim", "writes", 1),
    ("update", "http", 1),
    ("update_metadata", "http", 0),
    ("delete", "http", 0),
    ("delete", "writes", 1),
)
IMPORTED = 0.5
"""Of the rate of a bare COPY that an import has at least."""
FEW_MORE_MS = 3.0
"""What a search may take beyond the plain query where a user has few memories."""
IMPORT_MS = 150.0


def of(results: Results) -> list[Target]:
    """Every target that there are figures for."""
    return [*_speed(results), *_counts(results), *_rest(results), *_quality(results)]


def _speed(results: Results) -> Iterator[Target]:
    rows = {
        (row["workload"], row["per_user"], row["operation"], row["contender"]): row
        for row in results.get("speed", [])
        if row["clients"] == 1
    }

    def ratio(text: str, bound: float, ours: Key, other: Key) -> Iterator[Target]:
        if ours in rows and other in rows:
            wall, cpu = (rows[ours][what] / rows[other][what] if rows[other][what] else math.nan
                         for what in ("median_ms", "server_cpu_ms"))  # fmt: skip
            yield Target(text, wall, bound, cpu=cpu)

    sizes = sorted({size for workload, size, *_ in rows if workload == "A"})
    for size in sizes:
        where = f"{size:,} a user"
        ours, plain = (("A", size, "search", name) for name in ("ours", "plain"))
        if size == max(sizes):
            best = ("A", size, "search", "best layout")
            yield from ratio(f"search, {where}: to the plain query", 1.0, ours, plain)
            yield from ratio(f"search, {where}: to the best layout", 2.5, ours, best)
        elif ours in rows and plain in rows:
            wall, cpu = (rows[ours][what] - rows[plain][what]
                         for what in ("median_ms", "server_cpu_ms"))  # fmt: skip
            text = f"search, {where}: beyond the plain query"
            yield Target(text, wall, FEW_MORE_MS, unit=" ms", cpu=cpu)
        for operation, floor, bound in RATIOS:
            pair = (("A", size, operation, name) for name in ("ours", floor))
            yield from ratio(f"{operation}, {where}: to its floor", bound, *pair)
    few = (("C", 1000, "search", name) for name in ("ours", "ours, 10 users"))
    yield from ratio("search, C: to a store of 10 users", 1.25, *few)
    for workload, size, operation, name in rows:
        if workload == "I" and name == "ours":
            key = workload, size, operation
            wall, cpu = (rows[*key, "plain"][what] / max(rows[*key, name][what], 1e-9)
                         for what in ("median_ms", "server_cpu_ms"))  # fmt: skip
            text = "import: its rate to that of a bare COPY"
            yield Target(text, wall, IMPORTED, least=True, cpu=cpu)
    for workload, scope, operation, name in rows:
        if name == "bare HNSW":
            key = (workload, scope, operation)
            ours = (*key, "ours, ANN") if (*key, "ours, ANN") in rows else (*key, "ours")
            yield from ratio(f"search, {workload}: to a bare HNSW query", 3.0, ours, (*key, name))


def _counts(results: Results) -> Iterator[Target]:
    counts = {
        row["operation"]: row for row in results.get("counts", []) if row["contender"] == "ours"
    }
    for operation, what, bound in COUNTS:
        if operation in counts:
            yield Target(
                f"{operation}: {what.replace('_', ' ')}", counts[operation][what], bound, unit=""
            )


def _rest(results: Results) -> Iterator[Target]:
    for row in results.get("recall", []):
        where = f"{row['workload']}, {row['contender']}"
        yield Target(f"recall@20, {where}", row["recall"], 0.95, least=True, unit="")
        yield Target(f"answers with too few rows, {where}", row["too_few_rows"], 0, unit="")
    sizes = {
        (row["per_user"], row["contender"]): row["bytes_per_memory"]
        for row in results.get("sizes", [])
    }
    for per_user, name in sizes:
        if name == "mem0":
            share = sizes[per_user, "ours"] / sizes[per_user, name]
            yield Target(f"bytes on disk, {per_user:,} a user: to mem0's", share, 0.6)
    if "package" in results:
        package = results["package"]
        yield Target("import memlayer_pg", package["import_ms"]["ours"], IMPORT_MS, unit=" ms")
        yield Target("heavy packages it loads", len(package["loads"]), 0, unit="")


def _quality(results: Results) -> Iterator[Target]:
    for row in results.get("quality", []):
        if row["contender"] == "ours" and row["set"] in REFERENCE:
            bound = REFERENCE[row["set"]]["target"]
            yield Target(f"recall@10, {row['set']}", row["recall"], bound, least=True, unit="")
