"""A LangGraph store whose items are memories: `MemlayerStore`. Needs the extra `langgraph`.

An item is a memory of one agent, the store. Its id follows from namespace and key, so that a get is
one look-up and a put is never doubled; its text is what is searched, its metadata holds the value.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)

from memlayer_pg import AsyncMemory, Memory, MemoryNotFound, VersionConflict
from memlayer_pg.integrations import langgraph_items as items
from memlayer_pg.integrations.langgraph_items import Found, Kept
from memlayer_pg.integrations.langgraph_match import listed, matches, pushed
from memlayer_pg.integrations.steps import Steps, ask, run, run_async

PAGE = 1000
ATTEMPTS = 100
"""How often a put is tried while others are faster; each time one of them was done."""


class MemlayerStore(BaseStore):
    """Items of LangGraph in Postgres, found by meaning, by words and by names.

    `memory`: a Memory serves the blocking methods and, in a thread, the awaited ones; an
    AsyncMemory the awaited ones only. It is not closed by the store. `agent_id`: the agent whose
    memories the items are; stores with different ones see nothing of each other. `fields`: the
    paths whose texts are searched, "$" being the whole value; None searches nothing, and asks no
    embedder. `user_of`: the user an item is about, from its namespace, if it is about one: then
    what is known of that user, and what is erased with him, has the item too. `ttl`: the defaults
    for `ttl` (minutes) and `refresh_ttl`; what has expired is not found, and deleted by
    `sweep_ttl`.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: Memory | AsyncMemory,
        *,
        agent_id: str = "langgraph",
        fields: Sequence[str] | None = ("$",),
        user_of: Callable[[tuple[str, ...]], str | None] | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        self.memory = memory
        self.agent_id = agent_id
        self.fields = None if fields is None else list(fields)
        self.ttl_config = ttl
        self._user_of = user_of

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do the reads, then the puts, each item once: what LangGraph's own methods call.

        NotStorable for a value that Postgres cannot keep, VersionConflict when others were faster
        with the same items a hundred times.
        """
        return run(self.memory, self._batch(list(ops)))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """`batch`, awaited."""
        return await run_async(self.memory, self._batch(list(ops)))

    def sweep_ttl(self) -> int:
        """Delete the items that have expired; how many there were."""
        return run(self.memory, self._sweep())

    async def asweep_ttl(self) -> int:
        """`sweep_ttl`, awaited."""
        return await run_async(self.memory, self._sweep())

    def _batch(self, ops: list[Op]) -> Steps[list[Result]]:
        results: list[Result] = []
        puts: dict[uuid.UUID, PutOp] = {}
        for op in ops:
            match op:
                case GetOp():
                    results.append((yield from self._get(op)))
                case SearchOp():
                    results.append((yield from self._search(op)))
                case ListNamespacesOp():
                    results.append((yield from self._list(op)))
                case PutOp():
                    puts[self._id(op)] = op
                    results.append(None)
                case _:
                    raise ValueError(f"Unknown operation type: {type(op)}")
        yield from self._put(puts)
        return results

    def _id(self, op: GetOp | PutOp) -> uuid.UUID:
        return items.id_of(self.agent_id, op.namespace, op.key)

    def _where(self, **more: Any) -> dict[str, Any]:
        """The filter of the items that have not expired."""
        alive = {"NOT": [{"expires": {"lte": time.time()}}]}
        return {"agent_id": self.agent_id, "role": items.ROLE, **alive, **more}

    def _get(self, op: GetOp) -> Steps[Item | None]:
        found = yield from self._found(self._id(op))
        if found is None or found.has_expired:
            return None
        if op.refresh_ttl:
            yield from self._refresh([found])
        return found.item()

    def _found(self, id_: uuid.UUID) -> Steps[Found | None]:
        memory = yield from ask("get", str(id_))
        return None if memory is None else Found(memory)

    def _search(self, op: SearchOp) -> Steps[list[SearchItem]]:
        if op.query and op.query.strip() and self.fields is not None:
            found = yield from self._ranked(op, op.query)
        else:
            found = yield from self._newest(op, op.offset + op.limit)
        page = found[op.offset : op.offset + op.limit]
        if op.refresh_ttl:
            yield from self._refresh(page)
        return [one.scored() for one in page]

    def _ranked(self, op: SearchOp, query: str) -> Steps[list[Found]]:
        """The items that answer the query, best first; those that do not, behind them."""
        wanted = top_k = op.offset + op.limit
        where = self._where(indexed=True, **pushed(op))
        while True:
            answer = yield from ask("search", query, filters=where, top_k=top_k, threshold=0.0)
            found = [Found(memory) for memory in answer["results"]]
            fitting = [one for one in found if matches(one.value, op.filter)]
            if len(fitting) >= wanted or len(found) < top_k:
                break
            top_k *= 2
        if len(fitting) < wanted:
            ids = {one.id for one in fitting}
            rest = yield from self._newest(op, wanted)
            fitting += [one for one in rest if one.id not in ids]
        return fitting

    def _newest(self, op: SearchOp, wanted: int) -> Steps[list[Found]]:
        """So many items under the prefix that pass the filter, newest first."""
        where = self._where(**pushed(op))
        fitting: list[Found] = []
        after = None
        while len(fitting) < wanted:
            page = yield from ask(
                "get_all", filters=where, top_k=PAGE if op.filter else wanted, after=after
            )
            found = [Found(memory) for memory in page["results"]]
            fitting += [one for one in found if matches(one.value, op.filter)]
            after = page.get("next")
            if after is None:
                break
        return fitting

    def _list(self, op: ListNamespacesOp) -> Steps[list[tuple[str, ...]]]:
        rows = yield from ask("metadata_values", "namespace", filters=self._where())
        return listed([tuple(row["value"]) for row in rows], op)

    def _refresh(self, found: Sequence[Found]) -> Steps[None]:
        """Let items live on from now for as long as they were put for."""
        for one in found:
            if one.ttl is None:
                continue
            lives = items.lifetime(one.ttl)
            try:
                yield from ask("update", str(one.id), **lives.as_update())
            except MemoryNotFound:  # deleted meanwhile: what was read was right
                continue

    def _put(self, puts: dict[uuid.UUID, PutOp]) -> Steps[None]:
        """Store, change or delete; whoever else does the same meanwhile, each item stands once."""
        waiting = dict(puts)
        for attempt in range(1, ATTEMPTS + 1):
            new: list[Kept] = []
            for id_, op in list(waiting.items()):
                found = yield from self._found(id_)
                if op.value is None:
                    yield from self._delete(id_, found)
                elif found is None:
                    new.append(self._kept(id_, op))
                    continue
                elif not (yield from self._change(self._kept(id_, op), found)):
                    continue
                del waiting[id_]
            for indexed in (True, False):
                rows = [one.row() for one in new if one.indexed == indexed]
                if not rows:
                    continue
                done = yield from ask("import_memories", rows, embed=indexed)
                if done["added"] == len(rows):
                    for row in rows:
                        del waiting[uuid.UUID(row["id"])]
            if not waiting:
                return
            if attempt == ATTEMPTS:
                raise VersionConflict(
                    "others go on putting and deleting the same items", hint="Put them again."
                )

    def _kept(self, id_: uuid.UUID, op: PutOp) -> Kept:
        fields = self.fields if op.index is None or self.fields is None else op.index
        user = self._user_of(op.namespace) if self._user_of else None
        return items.kept(id_, op, self.agent_id, user, fields or None)

    def _change(self, kept: Kept, found: Found) -> Steps[bool]:
        """Make an item what was put; False when it has been deleted meanwhile."""
        text = None if (kept.text, kept.indexed) == (found.text, found.indexed) else kept.text
        try:
            yield from ask("update", str(kept.id), text, **kept.as_update())
        except MemoryNotFound:
            return False
        return True

    def _delete(self, id_: uuid.UUID, found: Found | None) -> Steps[None]:
        if found is None:
            return
        try:
            yield from ask("delete", str(id_))
        except MemoryNotFound:  # somebody else did
            return

    def _sweep(self) -> Steps[int]:
        where = {
            "agent_id": self.agent_id,
            "role": items.ROLE,
            "expires": {"lte": time.time()},
        }
        counted = yield from ask(
            "get_all", filters=where, top_k=0, show_expired=True, with_total=True
        )
        if counted["total"]:
            yield from ask("delete_all", filters=where)
        return cast(int, counted["total"])
