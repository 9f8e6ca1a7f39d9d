"""Vectors of invented texts, shaped like those of real embedding models.

Each word has a place in a space of 64 dimensions that is laid obliquely into the large one, and a
little noise of its own in all dimensions. A text lies where its words lie together, away from the
origin as real models have it. So texts of one topic form clusters, unrelated texts have a cosine
similarity of about 0.3, and an index has as much to work with as on real data, not pure noise.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

WORDS = 8192
HIDDEN = 64
COMMON = 0.65  # how far all texts lie in one direction, beside 1 for what tells them apart
NOISE = 0.25

Matrix = np.ndarray[Any, np.dtype[np.float32]]


class Vectors:
    """The vectors of `dimensions` dimensions that a seed gives to texts."""

    def __init__(self, dimensions: int, seed: int) -> None:
        chance = np.random.default_rng(seed)
        self.dimensions = dimensions
        self._places = self._drawn(chance, WORDS, HIDDEN) / np.float32(HIDDEN**0.5)
        self._slope = self._drawn(chance, HIDDEN, dimensions) / np.float32(dimensions**0.5)
        self._noise = self._drawn(chance, WORDS, dimensions) * np.float32(NOISE / dimensions**0.5)
        common = self._drawn(chance, 1, dimensions)
        self._common = common * np.float32(COMMON) / np.linalg.norm(common)

    def of(self, texts: Sequence[str]) -> Matrix:
        """One row of length 1 for each text."""
        hidden = np.empty((len(texts), HIDDEN), np.float32)
        noise = np.empty((len(texts), self.dimensions), np.float32)
        for place, text in enumerate(texts):
            words = re.findall(r"\w+", text.lower()) or [""]
            numbers = [zlib.crc32(word.encode()) % WORDS for word in words]
            # Short words are the ones every text has.
            weights = np.array([0.15 if len(word) < 4 else 1.0 for word in words], np.float32)
            hidden[place] = weights @ self._places[numbers]
            noise[place] = weights @ self._noise[numbers]
        length = np.linalg.norm(hidden, axis=1, keepdims=True)
        found = (hidden @ self._slope + noise) / np.maximum(length, 1e-6) + self._common
        unit: Matrix = (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)
        return unit

    @staticmethod
    def _drawn(chance: np.random.Generator, rows: int, columns: int) -> Matrix:
        return chance.standard_normal((rows, columns), np.float32)
