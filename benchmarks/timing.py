"""Timing calls, in this process or in mem0's: needs nothing but Python."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any


class ModelClock:
    """Adds up, thread by thread, the time that calls spend on models: HTTP and decoding it."""

    def __init__(self) -> None:
        self._local = threading.local()

    def spent(self) -> float:
        """Seconds spent by this thread since it was asked last."""
        seconds = getattr(self._local, "seconds", 0.0)
        self._local.seconds = 0.0
        return float(seconds)

    def watch(self, owner: Any, *methods: str) -> None:
        """Have the methods of an object timed from now on."""
        for method in methods:
            setattr(owner, method, self._timed(getattr(owner, method)))

    def _timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **given: Any) -> Any:
            begun = time.perf_counter()
            try:
                return function(*args, **given)
            finally:
                seconds = time.perf_counter() - begun
                self._local.seconds = getattr(self._local, "seconds", 0.0) + seconds

        return timed


@dataclass
class Batch:
    """Some calls of one kind. All in seconds, a call or (`elapsed`, `cpu`) in all; `models`: the
    part of each call that models took; `server_cpu` is Postgres's."""

    walls: list[float] = field(default_factory=list)
    models: list[float] = field(default_factory=list)
    elapsed: float = 0.0
    cpu: float = 0.0
    server_cpu: float = 0.0

    def extend(self, other: Batch) -> None:
        self.walls += other.walls
        self.models += other.models
        self.elapsed += other.elapsed
        self.cpu += other.cpu
        self.server_cpu += other.server_cpu

    def summary(self) -> dict[str, float]:
        """Milliseconds a call, without models' time but for `model_ms`, and calls a second."""
        own = [wall - model for wall, model in zip(self.walls, self.models, strict=True)]
        count = max(len(own), 1)
        return {
            "calls": len(own),
            "median_ms": statistics.median(own) * 1000,
            "p95_ms": quantile(own, 0.95) * 1000,
            "model_ms": statistics.median(self.models) * 1000,
            "cpu_ms": (self.cpu + self.server_cpu) / count * 1000,
            "server_cpu_ms": self.server_cpu / count * 1000,
            "per_second": count / self.elapsed if self.elapsed else 0.0,
        }

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which this share of the values lies."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def timed(calls: Sequence[Callable[[], object]], clients: int, clock: ModelClock) -> Batch:
    """Make the calls, `clients` of them at a time."""

    def one(call: Callable[[], object]) -> tuple[float, float]:
        clock.spent()
        begun = time.perf_counter()
        call()
        return time.perf_counter() - begun, clock.spent()

    cpu, begun = time.process_time(), time.perf_counter()
    if clients == 1:
        done = [one(call) for call in calls]
    else:
        with ThreadPoolExecutor(clients) as threads:
            done = list(threads.map(one, calls))
    return Batch(
        walls=[wall for wall, _ in done],
        models=[model for _, model in done],
        elapsed=time.perf_counter() - begun,
        cpu=time.process_time() - cpu,
    )
