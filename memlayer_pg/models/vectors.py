"""Checks of what an embedder gave: one usable vector for each text, all of one size."""

from __future__ import annotations

import binascii
import math
import sys
from array import array
from base64 import b64decode
from collections.abc import Iterable, Sequence
from typing import Any

from memlayer_pg.errors import EmbeddingError

HALF_MAX = 65504.0
"""The largest number a halfvec holds."""


def checked(given: Iterable[Any], texts: int, dimensions: int | None = None) -> list[list[float]]:
    """The vectors as lists of floats; EmbeddingError names the first that cannot be used.

    A vector of zeros has no direction, so it is near to nothing and has no cosine: an error.
    """
    vectors = [_vector(vector, position) for position, vector in enumerate(given, 1)]
    if len(vectors) != texts:
        raise EmbeddingError(f"the embedder gave {len(vectors)} vectors for {texts} texts")
    for position, vector in enumerate(vectors, 1):
        size = dimensions or len(vectors[0])
        if len(vector) != size:
            wanted = f"{size} were asked for" if dimensions else f"the first has {size}"
            raise EmbeddingError(
                f"vector {position} has {len(vector)} dimensions, {wanted}",
                details={"expected": size, "actual": len(vector)},
            )
    return vectors


def in_order(data: Any, texts: int) -> list[Any]:
    """The `embedding` values of an answer by their `index`, whatever order they came in."""
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise EmbeddingError("the embedder's answer has no list of vectors")
    if len(data) != texts:
        raise EmbeddingError(f"the embedder gave {len(data)} vectors for {texts} texts")
    places = [item.get("index") for item in data]
    if all(place is None for place in places):
        return [item.get("embedding") for item in data]
    by_place = dict(zip(places, data, strict=True))
    if set(by_place) != set(range(texts)):
        raise EmbeddingError(
            "the embedder numbered its vectors wrongly",
            details={"texts": texts, "indexes": [str(place) for place in places[:20]]},
        )
    return [by_place[place].get("embedding") for place in range(texts)]


def joined(parts: Sequence[list[list[float]]]) -> list[list[float]]:
    """The vectors of several requests; EmbeddingError when their sizes differ."""
    vectors = [vector for part in parts for vector in part]
    return checked(vectors, len(vectors)) if len(parts) > 1 else vectors


def _vector(given: Any, position: int) -> list[float]:
    vector = _decoded(given, position) if isinstance(given, str) else _floats(given, position)
    if not vector:
        raise EmbeddingError(f"vector {position} is empty")
    weight = sum(map(abs, vector))
    if not math.isfinite(weight):
        raise EmbeddingError(f"vector {position} holds values that are not finite numbers")
    if weight == 0:
        raise EmbeddingError(f"vector {position} consists of zeros")
    if weight > HALF_MAX and max(map(abs, vector)) > HALF_MAX:
        raise EmbeddingError(f"vector {position} holds values above {HALF_MAX:.0f}")
    return vector


def _floats(given: Any, position: int) -> list[float]:
    """Numbers of any kind, numpy's too, as floats."""
    if hasattr(given, "tolist"):
        given = given.tolist()
    if not isinstance(given, list | tuple) or any(
        isinstance(number, bool | str) for number in given
    ):
        raise EmbeddingError(f"vector {position} is not a list of numbers")
    try:
        return [float(number) for number in given]
    except (TypeError, ValueError) as error:
        raise EmbeddingError(f"vector {position} is not a list of numbers") from error


def _decoded(given: str, position: int) -> list[float]:
    """base64 of little-endian 32-bit floats."""
    numbers = array("f")
    try:
        numbers.frombytes(b64decode(given, validate=True))
    except (binascii.Error, ValueError) as error:
        raise EmbeddingError(f"vector {position} is not readable base64") from error
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tolist()
