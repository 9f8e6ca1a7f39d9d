"""What a run is told on the command line."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.measure import Effort


@dataclass(frozen=True)
class Options:
    """`scale` shrinks what there is much of: users and scopes, not memories of a user.

    `keep`: a folder whose server and large databases outlast the run, and serve the next one.
    `mem0_python`: an interpreter with mem0ai; None leaves mem0 out. `spacy_model`: what mem0 loads
    in place of en_core_web_sm; None has it work without spaCy.
    """

    results: Path
    keep: Path | None = None
    seed: int = 1
    dimensions: int = 1536
    postgres: int | None = None
    mem0_python: str | None = None
    spacy_model: str | None = None
    workloads: str = "ABCI"
    users: int = 100
    per_user: tuple[int, ...] = (10, 100, 1000)
    clients: tuple[int, ...] = (1, 8)
    scope: int = 100_000
    many_users: int = 1000
    imported: int = 10_000
    scale: float = 1.0
    hnsw: bool = True
    repeat_delete_all: int = 3
    effort: Effort = field(default_factory=Effort)

    def scaled(self, number: int) -> int:
        return max(2, round(number * self.scale))
