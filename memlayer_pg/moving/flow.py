"""What import_mem0 does, without waiting for our database: read, move, compare, report."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median
from typing import Any

from memlayer_pg import checks, importing
from memlayer_pg.checks import SCOPE_IDS
from memlayer_pg.effects import Flow, call, embed
from memlayer_pg.errors import InputError
from memlayer_pg.flows import Store as Ours
from memlayer_pg.importing_rows import Placed
from memlayer_pg.moving import dump, payload, sqlite, store
from memlayer_pg.moving.comparing import Comparison, compare
from memlayer_pg.moving.defects import Defects
from memlayer_pg.moving.events import Event
from memlayer_pg.moving.joined import Following

SAMPLE = 8
"""Texts that are embedded to see whether mem0's vectors are of our model."""
ALIKE = 0.99
"""Their median cosine, from which on they are."""
MESSAGES = 500
"""Scopes whose messages are written by one statement."""
LEFT_OUT = ("no text", "nobody's", "not storable")


def import_mem0(
    ours: Ours,
    *,
    vector_dsn: object,
    collection: object,
    history_db: str | Path | None,
    dump_: importing.Rows | None,
    user_id: object,
    agent_id: object,
    run_id: object,
    model: object,
    embeds: bool,
    dry_run: bool,
    on_progress: importing.Progress | None,
    actor: object = None,
) -> Flow[dict[str, Any]]:
    """Move a store of mem0; the result is the report."""
    ids = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
    nobody = checks.Scope(**{name: checks.scope_id(name, value) for name, value in ids.items()})
    name = checks.optional_text("model", model)
    dsn = checks.optional_text("vector_dsn", vector_dsn)
    table = checks.optional_text("collection", collection)
    if (dsn is None) == (dump_ is None):
        raise InputError("either vector_dsn or dump says what is to be moved")
    if dsn is None and history_db is not None:
        raise InputError("history_db goes with vector_dsn: a dump is moved without history")
    with ExitStack() as stack:
        theirs = stack.enter_context(store.opened(dsn, table or "mem0")) if dsn else None
        history = stack.enter_context(sqlite.opened(history_db))
        move = Move(ours, theirs, history, dump_, nobody)
        return (yield from move.run(name, embeds, dry_run, on_progress, actor))


class Move:
    """One store of mem0 that is being moved."""

    def __init__(
        self,
        ours: Ours,
        theirs: store.Store | None,
        history: sqlite.History | None,
        dump_: importing.Rows | None,
        nobody: checks.Scope,
    ) -> None:
        self._ours = ours
        self._theirs = theirs
        self._history = history
        self._dump = dump_
        self._nobody = nobody

    def run(
        self,
        model: str | None,
        embeds: bool,
        dry_run: bool,
        on_progress: importing.Progress | None,
        actor: object,
    ) -> Flow[dict[str, Any]]:
        """Move it; see `import_mem0`."""
        theirs = self._theirs
        total = None if theirs is None else theirs.memories * (1 if dry_run else 2)
        vectors: dict[str, Any] = {"kept": False, "why": "a dump has none"}
        if theirs is not None:
            vectors = yield from self._vectors(theirs, model)
            model = vectors["model"] if vectors["kept"] else None

        def told(before: int) -> importing.Progress | None:
            if on_progress is None:
                return None
            return lambda done, _: on_progress(before + done, total)

        defects = Defects()
        with closing(self._rows("memlayer_move", model, defects)) as rows:
            moved = yield from importing.import_memories(
                self._ours,
                rows,
                user_id=None,
                agent_id=None,
                run_id=None,
                model=None,
                embeds=embeds,
                dry_run=dry_run,
                on_progress=told(0),
                actor=actor,
            )
        if theirs is not None:
            defects.note("fact stands twice", times=theirs.twice)
        messages = yield from self._messages(dry_run, defects)
        result = {
            "memories": theirs.memories if theirs else _seen(moved) + defects.without(LEFT_OUT),
            **moved,
            "left_out": defects.without(LEFT_OUT),
            "vectors": vectors,
            "messages": messages,
            "defects": defects.result(),
        }
        if theirs is not None and not dry_run:
            with closing(self._rows("memlayer_compare", model, Defects())) as rows:
                found = Comparison()
                yield from compare(self._ours, rows, found, told(theirs.memories))
            search = yield from self._searches(theirs, found) if vectors["kept"] else _nothing()
            result["verification"] = {**found.result(), "search": search}
        return result

    def _rows(self, cursor: str, model: str | None, defects: Defects) -> Generator[Placed]:
        """What can be moved: of tables in the order of ids, of a dump in its own."""
        if self._theirs is None:
            yield from dump.rows(self._dump or (), self._nobody, defects)
            return
        links = Following(self._theirs.links(f"{cursor}_links", defects))
        history = self._history
        past = Following(history.events(defects) if history else iter(()))
        recorded = history is not None and history.history is not None
        for id_, given, vector in self._theirs.rows(cursor):
            yield from self._gone(past, id_, defects)
            ready = payload.ready(
                id_,
                given,
                vector=vector,
                named=(links.at(id_) or []) if self._theirs.has_entities else None,
                past=(past.at(id_) or []) if recorded else None,
                nobody=self._nobody,
                model=model,
                defects=defects,
            )
            if ready is not None:
                yield Placed(f"memory {id_}", ready)
        yield from self._gone(past, None, defects)
        for _ in links.upto(None):  # those that lead nowhere are noted
            pass

    def _gone(
        self, past: Following[list[Event]], before: str | None, defects: Defects
    ) -> Iterator[Placed]:
        for id_, events in past.upto(before):
            ready = payload.gone(id_, events, self._nobody, defects)
            if ready is not None:
                yield Placed(f"history of {id_}", ready)

    def _vectors(self, theirs: store.Store, model: str | None) -> Flow[dict[str, Any]]:
        """Whether the vectors are taken, and as those of which model."""
        if model is not None:
            return {"kept": True, "model": model, "why": "the model was named"}
        sample = theirs.sample(SAMPLE)
        if not sample:
            return {"kept": False, "model": None, "why": "there are none"}
        answer = yield from embed([text for text, _ in sample], "document")
        found: dict[str, Any] = {"kept": False, "model": answer.model}
        size = len(answer.vectors[0])
        if size != theirs.dimensions:
            return found | {"why": f"{theirs.dimensions} dimensions, the embedder makes {size}"}
        alike = median(
            _cosine(mine, known) for mine, (_, known) in zip(answer.vectors, sample, strict=True)
        )
        if alike < ALIKE:
            return found | {"why": f"of another model: cosine {alike:.2f} for the same texts"}
        return found | {"kept": True, "why": f"of our model: cosine {alike:.2f} for the same texts"}

    def _messages(self, dry_run: bool, defects: Defects) -> Flow[dict[str, int]]:
        """Put the messages into the buffers of scopes that have none yet."""
        counts = {"scopes": 0, "messages": 0, "stored": 0}
        if self._history is None:
            return counts
        waiting: list[dict[str, Any]] = []
        for messages in [*self._history.buffered(defects), None]:
            if messages:
                counts["scopes"] += 1
                counts["messages"] += len(messages)
                waiting += messages
            if waiting and not dry_run and (messages is None or counts["scopes"] % MESSAGES == 0):
                [answer] = yield from call(
                    "import_messages", p_tenant=self._ours.tenant, p_messages=waiting
                )
                counts["stored"] += answer["stored"]
                waiting = []
        return counts

    def _searches(self, theirs: store.Store, found: Comparison) -> Flow[dict[str, Any] | None]:
        """How far mem0's ranking by vectors and ours agree, for a few memories as questions."""
        shares = []
        for id_, scope in found.sample():
            expected = theirs.nearest(id_, dict(zip(SCOPE_IDS, scope, strict=True)), 10)
            rows = yield from call(
                "similar_to", p_tenant=self._ours.tenant, p_memory_id=id_, p_top_k=10
            )
            got = {str(row["id"]) for row in rows}
            if expected:
                shares.append(len(got.intersection(expected)) / len(expected))
        if not shares:
            return None
        return {"questions": len(shares), "agreement": round(sum(shares) / len(shares), 3)}


def _nothing() -> Flow[None]:
    """No search to compare."""
    yield from ()


def _seen(moved: dict[str, Any]) -> int:
    counted: int = moved["added"] + moved["known"] + moved["duplicates"]
    return counted + len(moved["conflicts"])


def _cosine(a: Any, b: Any) -> float:
    product = sum(x * y for x, y in zip(a, b, strict=True))
    length = sum(x * x for x in a) * sum(y * y for y in b)
    return float(product / length**0.5) if length else 0.0
