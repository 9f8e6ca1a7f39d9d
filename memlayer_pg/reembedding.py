"""What reembed does, without waiting for any of it: plan, fill, cut over, go back, finish.

Vectors of the next model are stored batch by batch, each paid once. The cut-over is one
transaction: who stores vectors waits while what came last is filled and all are exchanged.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from memlayer_pg import checks, context, retrying
from memlayer_pg.effects import Call, Embedded, Flow, Row, Together, Wait, call, embed
from memlayer_pg.errors import DatabaseError, InputError
from memlayer_pg.flows import Store

BATCH = 100
"""Texts that are embedded by one request: what is paid again after a crash."""
PATIENCE = 60.0
"""Seconds to wait for transactions that were open when the re-embedding began."""
TICK = 0.1
"""Seconds between two looks at them."""

Progress = Callable[[int, int], None]
"""Told how many texts are embedded and how many there are to be."""


def reembed(
    store: Store,
    model: str,
    *,
    dry_run: bool,
    rate: object,
    on_progress: Progress | None,
    actor: object,
) -> Flow[Row]:
    """Give every memory and entity a vector of another model, then make that the active one."""
    label = checks.actor(actor)
    filling = Filling(store, checks.rate(rate), on_progress)
    plan = yield from _plan(store, model)
    done = {**plan, "embedded": 0, "embedding_tokens": 0, "cut_over": False, "pending": 0}
    if dry_run or plan["model"] in (None, model):
        return done
    filling.total = plan["remaining"]
    if plan["next_model"] is None:
        if plan["kept_model"] == model:
            yield from _begin(store, model, plan["kept_dimensions"])
        else:
            yield from filling.begin()
    while (yield from filling.round()) > BATCH:
        pass
    row = yield from _cut_over(store, filling, actor=label)
    return {
        **done,
        "embedded": filling.done,
        "embedding_tokens": filling.tokens,
        "cut_over": True,
        "memories": row["memories"],
        "entities": row["entities"],
        "pending": row["pending"],
        "remaining": 0,
    }


def roll_back(store: Store, *, actor: object) -> Flow[Row]:
    """Give up a re-embedding, or go back to the model before it."""
    label = checks.actor(actor)
    plan = yield from _plan(store, None)
    kept = plan["kept_model"]
    if kept is None and plan["next_model"] is None:
        raise InputError("there is nothing to go back to: no vectors of another model are kept")
    if kept is None:
        [row] = yield from call("reembed_cancel", p_tenant=store.tenant)
        return {"model": plan["model"], "dropped": row["dropped"], "memories": 0, "pending": 0}
    yield from _begin(store, kept, plan["kept_dimensions"])
    row = yield from _cut_over(store, None, actor=label)
    return {"model": kept, "dropped": 0, "memories": row["memories"], "pending": row["pending"]}


def finish(store: Store) -> Flow[Row]:
    """Drop the vectors of the model before."""
    rows = yield from call("reembed_finish", p_tenant=store.tenant)
    return rows[0] if rows else {"model": None, "dimensions": None, "dropped": 0, "model_id": None}


class Filling:
    """Gives what has no vector of the next model one; counts texts and tokens."""

    def __init__(self, store: Store, rate: float | None, told: Progress | None) -> None:
        self._store, self._told = store, told
        self._pause = 60 / rate if rate else 0.0
        self._due = time.monotonic()
        self.total = self.done = self.tokens = 0

    def begin(self) -> Flow[None]:
        """Make the embedder's model the next one, of the size its first vectors have."""
        rows = yield from self._page(False, None)
        answer = yield from self._embed(rows or [{"text": "dimensions", "context": None}])
        yield from _begin(self._store, answer.model, len(answer.vectors[0]))
        if rows:
            yield from self._keep(False, rows, answer)

    def round(self) -> Flow[int]:
        """Go through all once; how many were embedded."""
        before = self.done
        for entities in (False, True):
            after = None
            while rows := (yield from self._page(entities, after)):
                after = rows[-1]["id"]
                yield from self._keep(entities, rows, (yield from self._embed(rows)))
        return self.done - before

    def _page(self, entities: bool, after: object) -> Flow[list[Row]]:
        return (
            yield from call(
                "reembed_page",
                p_tenant=self._store.tenant,
                p_entities=entities,
                p_after=after,
                p_limit=BATCH,
            )
        )

    def _embed(self, rows: list[Row]) -> Flow[Embedded]:
        if (pause := self._due - time.monotonic()) > 0:
            yield from _wait(pause)
        self._due = time.monotonic() + self._pause
        texts = [context.embedded(self._store, row["text"], row["context"]) for row in rows]
        answer = yield from embed(texts, "document")
        self.tokens += answer.tokens
        return answer

    def _keep(self, entities: bool, rows: list[Row], answer: Embedded) -> Flow[None]:
        yield from call(
            "reembed_store",
            p_tenant=self._store.tenant,
            p_model=answer.model,
            p_entities=entities,
            p_rows=[{"id": str(row["id"]), "basis": row["basis"]} for row in rows],
            p_embeddings=answer.vectors,
        )
        self.done += len(rows)
        if self._told is not None:
            self._told(self.done, max(self.done, self.total))


def _plan(store: Store, model: str | None) -> Flow[Row]:
    [row] = yield from call(
        "reembed_plan",
        p_tenant=store.tenant,
        p_model=model,
        p_with_context=store.context == "full",
    )
    extra = row.pop("bytes") - row["characters"]
    return {
        **row,
        # As models.budget.estimate: 0.4 for a character of one byte, rather too many for others.
        "tokens": round(0.4 * row["characters"] + 0.55 * extra),
        "requests": -(-row["remaining"] // BATCH),
    }


def _begin(store: Store, model: str, dimensions: int) -> Flow[None]:
    yield from call("reembed_begin", p_tenant=store.tenant, p_model=model, p_dimensions=dimensions)


def _cut_over(store: Store, filling: Filling | None, *, actor: str | None) -> Flow[Row]:
    """Cut over as soon as nobody is left who may not know of it; without `filling` what has no
    vector is left to wait for one."""

    def closed() -> Flow[Row | None]:
        [ready] = yield from call("reembed_close", p_tenant=store.tenant)
        if not ready["is_ready"]:
            return None
        if filling is not None:
            yield from filling.round()
        [row] = yield from call(
            "reembed_cut_over",
            p_tenant=store.tenant,
            p_incomplete=filling is None,
            p_actor=actor,
        )
        return row

    end = time.monotonic() + PATIENCE
    attempts = 0
    while time.monotonic() < end:
        try:
            row: Row | None = yield Together(closed())
        except DatabaseError as error:  # who met others in a circle begins anew
            attempts += 1
            yield from _wait(retrying.pause(error, attempts, Call("reembed_cut_over")))
            continue
        if row is not None and not row["remaining"]:
            return row
        yield from _wait(TICK)
    raise DatabaseError(
        "the new vectors are complete, but a transaction that began before has not ended",
        hint="End it (select pid, xact_start, query from pg_stat_activity where xact_start is not "
        "null order by 2), and run memlayer reembed again.",
    )


def _wait(seconds: float) -> Flow[None]:
    yield Wait(seconds)
