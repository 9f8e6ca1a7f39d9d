"""What embed_pending does, without waiting for any of it: find, let the texts be embedded, write.

Each memory is written by itself, so what is done stays done when the rest fails or is
interrupted. A write names the version that was read: a memory that changed meanwhile is left as it
is, and looked at again in the next round.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memlayer_pg import checks, context, entities
from memlayer_pg.effects import Flow, Row, call, embed
from memlayer_pg.entities import Entities
from memlayer_pg.errors import MemoryNotFound, VersionConflict
from memlayer_pg.flows import Store

BATCH = 50
"""Memories that are embedded by one request."""
ROUNDS = 5
"""How often those are looked at again that somebody else was changing."""

Progress = Callable[[int, int], None]
"""Told how many memories are embedded and how many there are to be."""


def embed_pending(
    store: Store, *, limit: object, on_progress: Progress | None, actor: object = None
) -> Flow[Row]:
    """Give memories that wait for a vector theirs, until none is left or `limit` is reached."""
    most = None if limit is None else checks.at_least_one("limit", limit)
    label = checks.actor(actor)
    waiting = yield from _count(store)
    wanted = waiting if most is None else min(waiting, most)
    done = 0
    for _ in range(ROUNDS):
        overtaken = False
        after = None
        while room := BATCH if most is None else min(BATCH, most - done):
            rows = yield from call("pending", p_tenant=store.tenant, p_after=after, p_limit=room)
            if not rows:
                break
            after = rows[-1]["id"]
            for update in (yield from _updates(store, rows)):
                try:
                    yield from call("update", **update, p_actor=label)
                except VersionConflict:
                    overtaken = True
                except MemoryNotFound:  # deleted meanwhile
                    continue
                else:
                    done += 1
                    if on_progress is not None:
                        on_progress(done, max(done, wanted))
        if not overtaken:
            break
    return {"embedded": done, "pending": (yield from _count(store))}


def _count(store: Store) -> Flow[int]:
    [row] = yield from call("pending", p_tenant=store.tenant, p_limit=0, p_with_total=True)
    total: int = row["total"]
    return total


def _updates(store: Store, rows: list[Row]) -> Flow[list[dict[str, Any]]]:
    """The arguments of `update` for each memory: its own text, its vector and the names in it."""
    named = [Entities() for _ in rows]
    for row, found in zip(rows, named, strict=True):
        found.places(entities.named(row["text"]))
    texts = [context.embedded(store, row["text"], row["context"]) for row in rows]
    names = list(dict.fromkeys(name for found in named for name in found.names))
    embedded = yield from embed([*texts, *names], "document")
    known = dict(zip(names, embedded.vectors[len(texts) :], strict=True))
    tokens, rest = divmod(embedded.tokens, len(rows))
    return [
        {
            "p_tenant": store.tenant,
            "p_id": row["id"],
            "p_text": row["text"],
            "p_embedding": vector,
            "p_model": embedded.model,
            "p_entities": found.rows,
            "p_entity_embeddings": [known[name] for name in found.names],
            "p_expected_version": row["version"],
            "p_usage": {"embedding_tokens": tokens + (rest if place == 0 else 0)},
        }
        for place, (row, vector, found) in enumerate(
            zip(rows, embedded.vectors, named, strict=False)
        )
    ]
