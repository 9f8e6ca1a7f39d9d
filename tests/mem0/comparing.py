"""Whether two outcomes are alike, and what is let pass everywhere."""

from __future__ import annotations

import json
from typing import Any

from tests.mem0.calls import Call

KEYS = "keys of a result"
ORDER = "order of `get_all`"
EVERYWHERE = (KEYS, ORDER)
"""Rows of the table that hold for every call; single calls show them."""
OURS = (
    "version", "observed_at", "superseded_by", "skipped", "next", "total", "rerank_error",
    "recency", "superseded", "cosine_similarity",
)  # fmt: skip
"""Keys that mem0 has not; they stand behind its own."""
CALLED = {"MemoryError": "MemlayerError"}
"""Classes of mem0's under another name."""
UNORDERED = ("get_all", "vector_store.list")


def alike(one: Call, theirs: dict[str, Any], ours: dict[str, Any]) -> bool:
    """Whether both answered alike, rows that hold everywhere aside."""
    if "raises" in theirs or "raises" in ours:
        return _same_error(theirs, ours)
    theirs, ours = theirs["gives"], _without(ours["gives"])
    if one.ties or one.method in UNORDERED:
        theirs, ours = _sorted(theirs), _sorted(ours)
    return same(theirs, ours)


def same(theirs: Any, ours: Any) -> bool:
    """Whether both are equal to the order of their keys."""
    return json.dumps(theirs) == json.dumps(ours)


def _same_error(theirs: dict[str, Any], ours: dict[str, Any]) -> bool:
    """Whether an `except` of mem0's class catches ours, and both say the same."""
    if "raises" not in theirs or "raises" not in ours:
        return False
    kind = theirs["raises"][0]
    if CALLED.get(kind, kind) not in ours["raises"]:
        return False
    return all(
        theirs[part] == ours.get(part)
        for part in ("says", "code", "details", "suggestion")
        if part in theirs
    )


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without(item) for key, item in value.items() if key not in OURS}
    return [_without(item) for item in value] if isinstance(value, list) else value


def _sorted(value: Any) -> Any:
    """Lists of results in an order of their own."""
    if isinstance(value, dict):
        return {key: _sorted(item) for key, item in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return sorted(value, key=json.dumps)
    return [_sorted(item) for item in value] if isinstance(value, list) else value
