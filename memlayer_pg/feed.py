"""The change feed: what happened since a place where somebody stopped reading."""

from __future__ import annotations

from typing import Any

from memlayer_pg import checks, shapes
from memlayer_pg.effects import Flow, call
from memlayer_pg.errors import InputError
from memlayer_pg.flows import Store

CHANNEL = "memlayer_change"
"""Where Postgres says that a tenant has changes, if its settings want that."""
LIMIT = 1000
"""Changes of one page, unless it is said otherwise."""


def changes_since(store: Store, cursor: object, limit: object) -> Flow[dict[str, Any]]:
    """A page of changes after a cursor, and the cursor to go on from: one statement."""
    if cursor is not None and not isinstance(cursor, str):
        raise InputError("cursor: must be one that changes_since gave, or None")
    rows = yield from call(
        "changes_since",
        p_tenant=store.tenant,
        p_cursor=cursor,
        p_limit=checks.at_least_one("limit", limit),
    )
    results = [shapes.change(row) for row in rows]
    return {"results": results, "cursor": results[-1]["cursor"] if results else cursor}
