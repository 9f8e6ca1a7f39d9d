"""Memories as mem0 returns them, whatever store it keeps them in: results of get_all, an export of
the hosted service, points of Qdrant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from memlayer_pg import checks
from memlayer_pg.importing import Rows
from memlayer_pg.importing_rows import Placed, Ready
from memlayer_pg.moving import payload
from memlayer_pg.moving.defects import Defects

TEXT = ("memory", "data", "text")
RETURNED = ("id", "metadata", "score", "score_details", "rerank_score", "version", "vector")
"""Keys of a result that are no metadata."""


def rows(items: Rows, nobody: checks.Scope, defects: Defects) -> Iterator[Placed]:
    """The memories that can be moved, without vectors."""
    for number, item in enumerate(items):
        where, given = item if isinstance(item, Placed) else (f"rows[{number}]", item)
        found = _ready(where, given, nobody, defects)
        if found is not None:
            yield Placed(where, found)


def _ready(where: str, given: object, nobody: checks.Scope, defects: Defects) -> Ready | None:
    if not isinstance(given, Mapping):
        defects.note("no text", where)
        return None
    id_ = str(given.get("id") or where)
    if isinstance(given.get("payload"), Mapping):  # a point of a vector store
        return payload.ready(id_, given["payload"], nobody=nobody, model=None, defects=defects)
    columns = {key: given[key] for key in payload.COLUMNS if given.get(key) is not None}
    text = next((given[key] for key in TEXT if isinstance(given.get(key), str)), None)
    metadata = dict(_others(given.items()))
    if isinstance(given.get("metadata"), Mapping):
        metadata |= given["metadata"]
    return payload.ready(
        id_,
        {**columns, "data": text},
        metadata=metadata,
        nobody=nobody,
        model=None,
        defects=defects,
    )


def _others(items: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """What else there is said of a memory, such as categories."""
    for key, value in items:
        if key not in (*payload.COLUMNS, *TEXT, *RETURNED) and value is not None:
            yield key, value
