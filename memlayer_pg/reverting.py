"""What restore, undo and changes do, without waiting for any of it: each is one statement."""

from __future__ import annotations

from typing import Any

from memlayer_pg import checks, shapes
from memlayer_pg.checks import Scope
from memlayer_pg.effects import Flow, call
from memlayer_pg.errors import InputError, MemoryNotFound
from memlayer_pg.flows import Store


def restore(
    store: Store,
    memory_id: object,
    *,
    version: object,
    as_of: object,
    expected_version: object,
    actor: object,
) -> Flow[dict[str, Any]]:
    """Make a memory what it was at a version or a moment."""
    if version is not None and as_of is not None:
        raise InputError("version and as_of exclude each other")
    wanted = checks.memory_id(memory_id)
    args = {
        "p_version": checks.version("version", version),
        "p_as_of": checks.instant("as_of", as_of),
        "p_expected_version": checks.version("expected_version", expected_version),
        "p_actor": checks.actor(actor),
    }
    if wanted is None:
        raise MemoryNotFound(f"Memory with id {checks.shown(memory_id)} not found")
    [row] = yield from call("restore", p_tenant=store.tenant, p_id=wanted, **args)
    return shapes.restored(row)


def undo(store: Store, change_id: object, *, force: bool, actor: object) -> Flow[dict[str, Any]]:
    """Reverse what one call did to memories."""
    label = checks.actor(actor)
    wanted = checks.memory_id(change_id)
    if wanted is None:
        raise MemoryNotFound(f"Change with id {checks.shown(change_id)} not found")
    rows = yield from call(
        "undo", p_tenant=store.tenant, p_change_id=wanted, p_actor=label, p_force=bool(force)
    )
    return {"results": [shapes.undone(row) for row in rows]}


def changes(
    store: Store,
    user_id: object,
    agent_id: object,
    run_id: object,
    *,
    top_k: object,
    after: object,
) -> Flow[dict[str, Any]]:
    """A page of the calls that wrote, newest first."""
    ids = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
    scope = Scope(**{name: checks.scope_id(name, value) for name, value in ids.items()})
    rows = yield from call(
        "changes",
        p_tenant=store.tenant,
        **scope.args(),
        p_top_k=checks.top_k(top_k),
        p_after=checks.optional_text("after", after),
    )
    found: dict[str, Any] = {"results": [shapes.operation(row) for row in rows]}
    if rows and rows[-1]["has_more"]:
        found["next"] = rows[-1]["cursor"]
    return found
