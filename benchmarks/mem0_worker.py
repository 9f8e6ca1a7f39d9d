"""mem0 in a process, and an environment, of its own: reads requests from stdin, a line of JSON
each, and answers them on stdout.

    {"do": "open", "config": {…}, "spacy_model": null}     → {"version": "2.2.1", "spacy": false}
    {"do": "lemmatise", "texts": […]}                      → {"texts": […]}
    {"do": "run", "operation": "search", "arguments": […], "clients": 1} → what `timing.Batch` holds
    {"do": "store", "memories": [{"user", "text", "metadata"}]} → {}
    {"do": "find", "questions": [{"user", "question"}], "top_k": 10, "key": "doc"}
                                                           → {"found": [[value of the key, …], …]}

Imports nothing of memlayer-pg: it need not be installed there.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from typing import Any

from benchmarks.text import Writer
from benchmarks.timing import ModelClock, timed

TOP_K = 20


class Worker:
    """One mem0 memory."""

    def __init__(self) -> None:
        self._memory: Any = None
        self._writer = Writer(0, 1)
        self._clock = ModelClock()

    def open(
        self, config: dict[str, Any], spacy_model: str | None, seed: int, per_user: int
    ) -> dict[str, Any]:
        """Make the memory and its tables."""
        spacy = spacy_model is not None and _use(spacy_model)
        if not spacy:
            sys.modules["spacy"] = None  # type: ignore[assignment]  # else it downloads a model
        self._writer = Writer(seed, per_user)
        self._memory = import_module("mem0").Memory.from_config(config)
        self._memory.vector_store._ensure_collection()
        self._memory.entity_store._ensure_collection()
        self._clock.watch(self._memory.embedding_model, "embed", "embed_batch")
        self._clock.watch(self._memory.llm, "generate_response")
        return {"version": version("mem0ai"), "spacy": spacy}

    def lemmatise(self, texts: list[str]) -> dict[str, Any]:
        """What mem0 indexes of texts."""
        lemmatise = import_module("mem0.utils.lemmatization").lemmatize_for_bm25
        return {"texts": [lemmatise(text) for text in texts]}

    def run(self, operation: str, arguments: list[dict[str, Any]], clients: int) -> dict[str, Any]:
        """Make the calls and time them."""
        prepare = getattr(self, f"_{operation}")
        return timed([prepare(**given) for given in arguments], clients, self._clock).as_dict()

    def store(self, memories: list[dict[str, Any]]) -> dict[str, Any]:
        """Store texts word for word."""
        for memory in memories:
            self._memory.add(
                [{"role": "user", "content": memory["text"]}],
                user_id=memory["user"],
                metadata=memory["metadata"],
                infer=False,
            )
        return {}

    def find(self, questions: list[dict[str, Any]], top_k: int, key: str) -> dict[str, Any]:
        """For each question, what the results carry under a key of their metadata."""
        found = []
        for asked in questions:
            results = self._memory.search(
                asked["question"], top_k=top_k, filters={"user_id": asked["user"]}
            )["results"]
            found.append([result["metadata"][key] for result in results])
        return {"found": found}

    def _search(self, user: str, question: str) -> Callable[[], object]:
        return lambda: self._memory.search(question, top_k=TOP_K, filters={"user_id": user})

    def _search_filtered(self, user: str, question: str, category: str) -> Callable[[], object]:
        filters = {"user_id": user, "category": category}
        return lambda: self._memory.search(question, top_k=TOP_K, filters=filters)

    def _add(self, user: str, number: int) -> Callable[[], object]:
        talk = self._writer.talk(user, number)
        return lambda: self._memory.add(talk, user_id=user)

    def _add_verbatim(self, user: str, texts: list[str]) -> Callable[[], object]:
        said = [{"role": "user", "content": text} for text in texts]
        return lambda: self._memory.add(said, user_id=user, infer=False)

    def _update(self, id: str, text: str) -> Callable[[], object]:
        return lambda: self._memory.update(id, text)

    def _update_metadata(self, id: str, metadata: dict[str, Any]) -> Callable[[], object]:
        return lambda: self._memory.update(id, metadata=metadata)

    def _delete(self, id: str) -> Callable[[], object]:
        return lambda: self._memory.delete(id)

    def _delete_all(self, user: str) -> Callable[[], object]:
        return lambda: self._memory.delete_all(user_id=user)

    def _history(self, id: str) -> Callable[[], object]:
        return lambda: self._memory.history(id)

    def _get(self, id: str) -> Callable[[], object]:
        return lambda: self._memory.get(id)


def _use(model: str) -> bool:
    """Have mem0 load a spaCy model of another name than the one it asks for; False without."""
    try:
        spacy: Any = import_module("spacy")
    except ImportError:
        return False
    load, is_package = spacy.load, spacy.util.is_package
    if not is_package(model):
        return False
    spacy.load = lambda name, **given: load(model, **given)
    spacy.util.is_package = lambda name: is_package(model)
    return True


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever mem0 prints goes to stderr
    worker = Worker()
    for line in sys.stdin:
        request = json.loads(line)
        answer = getattr(worker, request.pop("do"))(**request)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
