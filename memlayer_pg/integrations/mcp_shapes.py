"""What the tools of the MCP server give: their output schemas are made from these."""

from __future__ import annotations

from typing import Any, NotRequired

# Pydantic reads those of the standard library from Python 3.12 on only.
from typing_extensions import TypedDict


class Item(TypedDict):
    """A memory. `score`, in a search: the higher, the better it answers."""

    id: str
    memory: str
    score: NotRequired[float]
    metadata: dict[str, Any] | None
    created_at: str
    updated_at: str
    user_id: NotRequired[str]
    agent_id: NotRequired[str]
    run_id: NotRequired[str]
    actor_id: NotRequired[str]
    role: NotRequired[str]
    attributed_to: NotRequired[str]
    expiration_date: NotRequired[str]
    observed_at: NotRequired[str]
    version: int
    superseded_by: NotRequired[str]


class Found(TypedDict):
    """Memories, best first."""

    results: list[Item]


class Page(TypedDict):
    """Memories, newest first; `next` is there when there are more, `total` counts all."""

    results: list[Item]
    total: int
    next: NotRequired[str]


class Made(TypedDict):
    """A memory that was made."""

    id: str
    memory: str
    event: str


class Skipped(TypedDict):
    """A memory that stood there already."""

    id: str
    memory: str
    reason: str


class Added(TypedDict):
    """What an add did."""

    results: list[Made]
    skipped: NotRequired[list[Skipped]]


class Done(TypedDict):
    """That it was done."""

    message: str


class Event(TypedDict):
    """One change of a memory: ADD, UPDATE, DELETE, or BASELINE in place of older ones."""

    changed_at: str
    event: str
    old_memory: str | None
    new_memory: str | None
    actor: NotRequired[str]


class History(TypedDict):
    """What happened to a memory, oldest first."""

    events: list[Event]


class Restored(Item):
    """The memory as it stands now. `event`: ADD, UPDATE, or null where nothing had to change."""

    event: str | None
