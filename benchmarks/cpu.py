"""The processor time of a Postgres server on this machine, from /proc; 0 where there is none."""

from __future__ import annotations

import os
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
PROC = Path("/proc")
APART = ("checkpointer", "background writer", "walwriter", "autovacuum", "logical replication")
"""Processes that work at times of their own: what they do is nobody's in particular."""


class ServerCpu:
    """Reads the processor time of the backends below a postmaster."""

    def __init__(self, postmaster: int) -> None:
        self._postmaster = postmaster
        self._counts: dict[int, bool] = {}

    def now(self) -> float:
        """Seconds so far, of backends that run and of those that have ended."""
        try:
            children = (PROC / f"{self._postmaster}/task/{self._postmaster}/children").read_text()
            own = (PROC / f"{self._postmaster}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        ended = (int(own[13]) + int(own[14])) / TICKS
        return ended + sum(self._of(int(child)) for child in children.split())

    def _of(self, process: int) -> float:
        try:
            if process not in self._counts:
                title = (PROC / f"{process}/cmdline").read_text()
                self._counts[process] = not any(name in title for name in APART)
            if not self._counts[process]:
                return 0.0
            return int((PROC / f"{process}/schedstat").read_text().split()[0]) / 1e9
        except OSError:
            return 0.0
