"""mem0 as a contender: the worker's other end."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from benchmarks.endpoint import ROOT, Running
from benchmarks.timing import Batch

Arguments = dict[str, Any]


class Mem0Failed(Exception):
    """The worker ended; the message is the end of what it said."""


class Mem0:
    """A mem0 memory in a process of its own. `python`: an interpreter that has mem0ai installed.

    `version` and `spacy` (whether it uses spaCy) are what the worker found.
    """

    name = "mem0"

    def __init__(
        self,
        python: str,
        url: str,
        endpoint: Running,
        folder: Path,
        *,
        dimensions: int,
        seed: int = 0,
        per_user: int = 1,
        spacy_model: str | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.history = folder / "history.db"
        self._log = (folder / "worker.log").open("w+")
        environment = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("OPENAI_", "OPENROUTER_", "PG"))
        }
        self._process = subprocess.Popen(
            [python, "-m", "benchmarks.mem0_worker"],
            cwd=ROOT,
            env={
                **environment,
                "MEM0_DIR": str(folder),
                "MEM0_TELEMETRY": "False",
                "OPENAI_API_KEY": "none",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        shared = {"api_key": "none", "openai_base_url": endpoint.base_url}
        opened = self.ask(
            do="open",
            config={
                "vector_store": {
                    "provider": "pgvector",
                    "config": {
                        "connection_string": url,
                        "collection_name": "mem0",
                        "embedding_model_dims": dimensions,
                    },
                },
                "llm": {"provider": "openai", "config": {"model": "mem0", **shared}},
                "embedder": {"provider": "openai", "config": {"model": "benchmark", **shared}},
                "history_db_path": str(self.history),
            },
            spacy_model=spacy_model,
            seed=seed,
            per_user=per_user,
        )
        self.version: str = opened["version"]
        self.spacy: bool = opened["spacy"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def can(self, operation: str) -> bool:
        return True

    def run(self, operation: str, arguments: Sequence[Arguments], clients: int) -> Batch:
        return Batch(
            **self.ask(do="run", operation=operation, arguments=list(arguments), clients=clients)
        )

    def lemmatise(self, texts: list[str]) -> list[str]:
        """What mem0 indexes of texts."""
        found: list[str] = self.ask(do="lemmatise", texts=texts)["texts"]
        return found

    def ask(self, **request: Any) -> dict[str, Any]:
        """The worker's answer to a request; Mem0Failed when it gives none."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self._log.seek(0)
            raise Mem0Failed(self._log.read()[-2000:].strip())
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._log.close()
