"""The speed benchmark, from its options to its results."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from benchmarks import decoding, machine, package, place, workload_a, workload_bc, workload_import
from benchmarks.options import Options
from benchmarks.vectors import Vectors


def run(options: Options) -> dict[str, Any]:
    """Everything that was measured, ready for JSON."""
    results: dict[str, Any] = {
        "about": machine.about(),
        "options": {key: str(value) for key, value in asdict(options).items()},
        "package": package.imports(options.mem0_python),
        "decoding": decoding.cost(options.dimensions, options.seed),
    }
    vectors = Vectors(options.dimensions, options.seed)
    with place.started(options.keep, options.postgres) as here:
        results["about"]["postgres"] = here.settings()
        if "A" in options.workloads:
            found, peer = workload_a.run(options, here, vectors)
            results |= found
            results["about"]["peer"] = peer
        more = [workload_bc.run(options, here, vectors)]
        if "I" in options.workloads:
            more.append(workload_import.run(options, here, vectors))
        for found in more:
            for kind, rows in found.items():
                results[kind] = results.get(kind, []) + rows
    return results
