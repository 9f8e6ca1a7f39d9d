"""Vectors of real texts by the local model, kept on disk: the model takes tens of milliseconds a
text.

The cache is one .npz a model, `texts` beside `vectors`. A text is known by its words and by whether
it is a question. Vectors made elsewhere can be taken over: `emb_<set>_docs.npy` and
`emb_<set>_queries.npy`, a row for each line of the set's file.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.progress import bar
from benchmarks.sets import RetrievalSet
from benchmarks.vectors import Matrix
from memlayer_pg.effects import Purpose
from memlayer_pg.models.local import LocalEmbedder

BATCH = 32
QUESTION, DOCUMENT = "query\n", "document\n"


class Cache:
    """The vectors of one model. `folder`: where they are kept, made when missing."""

    def __init__(self, folder: Path) -> None:
        self._embedder = LocalEmbedder()
        self.model = self._embedder.name
        self._path = folder / f"{self.model}.npz"
        self._vectors: dict[str, Matrix] = {}
        self._new = 0
        if self._path.exists():
            with np.load(self._path) as kept:
                self._vectors = dict(zip(kept["texts"].tolist(), kept["vectors"], strict=True))

    def take_over(self, folder: Path, given: RetrievalSet) -> None:
        """Use vectors that were made elsewhere for this set, where the folder has them.

        ValueError when there are more or fewer than the set's files have lines.
        """
        for kind, prefix, texts in (
            ("docs", DOCUMENT, [doc.text for doc in given.docs]),
            ("queries", QUESTION, given.asked),
        ):
            path = folder / f"emb_{given.name}_{kind}.npy"
            if path.exists():
                rows = np.load(path)
                if len(rows) != len(texts):
                    raise ValueError(f"{path}: {len(rows)} vectors for {len(texts)} texts")
                for text, row in zip(texts, rows, strict=True):
                    self._vectors[prefix + key(text)] = row.astype(np.float32)

    def prepare(self, given: RetrievalSet) -> None:
        """Embed whatever of a set is not known yet."""
        for prefix, purpose, texts in (
            (DOCUMENT, "document", [doc.text for doc in given.docs]),
            (QUESTION, "query", [question.text for question in given.questions]),
        ):
            missing = [*{key(t): t for t in texts if prefix + key(t) not in self._vectors}.values()]
            if missing:
                with bar(f"{given.name}: embedding {purpose}s", len(missing)) as done:
                    for begin in range(0, len(missing), BATCH):
                        batch = missing[begin : begin + BATCH]
                        self._add(batch, prefix, "query" if prefix == QUESTION else "document")
                        done(len(batch))
                self.save()

    def of(self, texts: Sequence[str]) -> Matrix:
        """The vectors of texts as an endpoint gives them, which is not told what a text is for:
        questions that are known as such are questions, everything else is a document."""
        missing = [t for t in texts if self._known(t) is None]
        if missing:
            self._add(list(dict.fromkeys(missing)), DOCUMENT, "document")
        return np.stack([vector for t in texts if (vector := self._known(t)) is not None])

    def question(self, text: str) -> Matrix:
        """The vector of a question that was prepared."""
        return self._vectors[QUESTION + key(text)]

    def save(self) -> None:
        """Write what is new to the disk."""
        if not self._new:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        draft = self._path.with_suffix(".new.npz")
        np.savez(
            draft, texts=np.array(list(self._vectors)), vectors=np.stack([*self._vectors.values()])
        )
        draft.replace(self._path)
        self._new = 0

    def _known(self, text: str) -> Matrix | None:
        found = self._vectors.get(QUESTION + key(text))
        return self._vectors.get(DOCUMENT + key(text)) if found is None else found

    def _add(self, texts: list[str], prefix: str, purpose: Purpose) -> None:
        # One by one for questions: behind the first, a question's texts are names in it.
        given: list[Any] = []
        for batch in [[text] for text in texts] if purpose == "query" else [texts]:
            given += self._embedder.embed(batch, purpose).vectors
        for text, vector in zip(texts, given, strict=True):
            self._vectors[prefix + key(text)] = np.asarray(vector, np.float32)
        self._new += len(texts)


def key(text: str) -> str:
    """A text as it is known: mem0 makes spaces of line breaks before it embeds."""
    return " ".join(text.split())
