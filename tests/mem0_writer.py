"""Writes a store with the mem0 that is installed: a process, and an environment, of its own.

    python -m tests.mem0_writer DSN FOLDER ENDPOINT

Prints what mem0 answers about it. Imports nothing of memlayer-pg: it need not be installed there.
"""

from __future__ import annotations

import json
import os
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

ANN = {"user_id": "ann"}
DIMENSIONS = 64


def opened(mem0: Any, dsn: str, folder: str, endpoint: str) -> Any:
    """A memory of mem0 on collection `shop`."""
    shared = {"api_key": "none", "openai_base_url": endpoint, "model": "scripted"}
    store = {
        "connection_string": dsn,
        "collection_name": "shop",
        "embedding_model_dims": DIMENSIONS,
    }
    return mem0.Memory.from_config({
        "vector_store": {"provider": "pgvector", "config": store},
        "llm": {"provider": "openai", "config": shared},
        "embedder": {"provider": "openai", "config": {**shared, "embedding_dims": DIMENSIONS}},
        "history_db_path": str(Path(folder) / "history.db"),
    })  # fmt: skip


def names(text: str) -> list[tuple[str, str]]:
    """Entities without a model of spaCy: words with a capital, but for the first."""
    return [("PROPER", name) for name in re.findall(r"(?<= )[A-Z]\w+", text)]


def write(memory: Any, again: Any) -> None:
    """Facts and what is said word for word; updates, deletions, and what mem0 lets happen."""
    talk = [{"role": "user", "content": f"line {number}"} for number in range(13)]
    added = memory.add(talk, **ANN)["results"]
    one, two, three, four, *_ = [item["id"] for item in added]
    memory.add([{"role": "user", "content": "I sing", "name": "Ann"}], **ANN, infer=False)
    memory.add("I plan", user_id="bob", agent_id="tutor", run_id="r=1", infer=False)
    memory.add("steps", agent_id="tutor", memory_type="procedural_memory")
    memory.update(one, text="User met Eve in Porto twice", metadata={"topic": "travel"})
    memory.update(two, metadata={"expiration_date": "soon"})
    memory.update(three, text=memory.get(four)["memory"])  # a duplicate
    again.delete(added[-1]["id"])  # a process that never opened the entities: links stay behind


def main(dsn: str, folder: str, endpoint: str) -> None:
    """Write the store and print what there is."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever mem0 prints goes to stderr
    sys.modules["spacy"] = None  # type: ignore[assignment]  # else it downloads a model
    mem0: Any = import_module("mem0")
    main_module: Any = import_module("mem0.memory.main")
    main_module.extract_entities = names
    main_module.extract_entities_batch = lambda texts: [names(text) for text in texts]
    memory, again = (opened(mem0, dsn, folder, endpoint) for _ in range(2))
    write(memory, again)
    found = [
        item
        for scope in (ANN, {"user_id": "bob"}, {"agent_id": "tutor"})
        for item in memory.get_all(filters=scope, top_k=100)["results"]
    ]
    by_id = {item["id"]: item for item in found}
    ids = {row[0] for row in memory.db.connection.execute("select memory_id from history")}
    answers.write(
        json.dumps({
            "memories": list(by_id.values()),
            "histories": {id_: memory.history(id_) for id_ in ids},
        })
    )  # fmt: skip
    answers.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
