"""An MCP server whose tools are the memories of one scope: `memlayer mcp`. Needs the extra `mcp`.

Whose memories they are is fixed when it is made: no tool takes an id of a user, agent or run that
is fixed, and the id of a memory outside the scope is one that does not exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, cast

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from memlayer_pg import AsyncMemory, MemlayerError, __version__, checks
from memlayer_pg.checks import UNSET
from memlayer_pg.integrations.mcp_shapes import (
    Added,
    Done,
    Event,
    Found,
    History,
    Item,
    Made,
    Page,
    Restored,
)

INSTRUCTIONS = """\
Long-term memory that outlives this conversation. Search it before you answer what may depend on \
earlier conversations, preferences or decisions. Add what is worth remembering when you learn it. \
When something has changed, update the memory that says it instead of adding another."""

Id = Annotated[str, Field(description="The id of a memory, as the other tools give it (a UUID).")]
Metadata = Annotated[
    dict[str, Any] | None,
    Field(description='Keys of your own to filter by later, such as {"topic": "food"}.'),
]
Conditions = Annotated[
    dict[str, Any] | None,
    Field(
        description='Conditions on metadata, such as {"topic": "food"}, {"price": {"lte": 30}} or '
        '{"topic": {"in": ["food", "drink"]}}. Operators: eq, ne, gt, gte, lt, lte, in, nin, '
        "contains, icontains. Groups: AND, OR, NOT, each with a list of conditions. created_at and "
        "updated_at are compared with ISO 8601 times."
    ),
]
Limit = Annotated[int, Field(ge=1, le=100, description="How many memories at most.")]
Day = Annotated[
    str | None, Field(description="The last day (UTC) on which it is found, as YYYY-MM-DD.")
]


class Tools:
    """The tools; each is a method.

    `scope`: user_id, agent_id and run_id as far as they are fixed, at least one. `infer`: let the
    language model, if there is one, draw facts from what is added; else it is stored as it is.
    `actor`: whom the history names. ScopeMissing when nobody is named.
    """

    def __init__(
        self, memory: AsyncMemory, scope: Mapping[str, str | None], *, infer: bool, actor: str
    ) -> None:
        fixed = checks.scope_to_read(scope)
        self._memory = memory
        self._scope = {
            name: value for name in checks.SCOPE_IDS if (value := getattr(fixed, name)) is not None
        }
        self._infer = infer
        self._actor = actor

    async def search_memories(
        self,
        query: Annotated[str, Field(description="What you want to know, as a question or words.")],
        limit: Limit = 10,
        filters: Conditions = None,
    ) -> Found:
        """Find the memories that best answer a question: by meaning, by words and by names."""
        with _told():
            where = self._where(filters)
            found = await self._memory.search(query, top_k=limit, filters=where)
            return {"results": [_item(item) for item in found["results"]]}

    async def list_memories(
        self,
        limit: Limit = 20,
        filters: Conditions = None,
        after: Annotated[
            str | None, Field(description="`next` of the page before; leave out for the first.")
        ] = None,
    ) -> Page:
        """List memories, newest first, a page at a time."""
        with _told():
            where = self._where(filters)
            found = await self._memory.get_all(
                top_k=limit, filters=where, after=after, with_total=True
            )
            page: Page = {
                "results": [_item(item) for item in found["results"]],
                "total": found["total"],
            }
            if "next" in found:
                page["next"] = found["next"]
            return page

    async def get_memory(self, memory_id: Id) -> Item:
        """Read one memory by its id."""
        with _told():
            await self._check(memory_id)
            found = await self._memory.get(memory_id)
            if found is None:
                raise _none(memory_id, "get_memory_history shows it; restore_memory restores it.")
            return _item(found)

    async def get_memory_history(self, memory_id: Id) -> History:
        """Show how one memory changed, also when it was deleted, oldest change first."""
        with _told():
            await self._check(memory_id)
            return {"events": [_event(event) for event in await self._memory.history(memory_id)]}

    async def add_memory(
        self,
        text: Annotated[
            str,
            Field(
                description="What to remember, in sentences that can be understood alone: names "
                "instead of pronouns, dates instead of 'tomorrow'."
            ),
        ],
        metadata: Metadata = None,
        expiration_date: Day = None,
        timestamp: Annotated[
            str | None,
            Field(description="When it was said or happened, in ISO 8601. Leave out for now."),
        ] = None,
    ) -> Added:
        """Remember facts, preferences, decisions or events for later conversations.

        The result names the memories that were made. What is known already is not stored again and
        stands in `skipped`.
        """
        with _told():
            added = await self._memory.add(
                text,
                user_id=self._scope.get("user_id"),
                agent_id=self._scope.get("agent_id"),
                run_id=self._scope.get("run_id"),
                metadata=metadata,
                expiration_date=expiration_date,
                timestamp=timestamp,
                infer=self._infer,
                actor=self._actor,
            )
            results = [
                {key: made[key] for key in Made.__annotations__} for made in added["results"]
            ]
            return cast(Added, {**added, "results": results})

    async def update_memory(
        self,
        memory_id: Id,
        text: Annotated[
            str | None, Field(description="Its new wording. Leave out to keep the old one.")
        ] = None,
        metadata: Annotated[
            dict[str, Any] | None,
            Field(description="Keys to set; others stay. Leave out to change none."),
        ] = None,
        expiration_date: Day = None,
    ) -> Done:
        """Change the wording, metadata or expiry of one memory; its history keeps what it was."""
        with _told():
            await self._check(memory_id)
            done = await self._memory.update(
                memory_id,
                text,
                metadata=metadata,
                expiration_date=UNSET if expiration_date is None else expiration_date,
                actor=self._actor,
            )
            return {"message": done["message"]}

    async def delete_memory(self, memory_id: Id) -> Done:
        """Forget one memory. restore_memory brings it back."""
        with _told():
            await self._check(memory_id)
            done = await self._memory.delete(memory_id, actor=self._actor)
            return {"message": done["message"]}

    async def restore_memory(
        self,
        memory_id: Id,
        changed_at: Annotated[
            str | None,
            Field(
                description="`changed_at` of the event in its history after which it was as it "
                "shall be again. Leave out for a memory that was deleted."
            ),
        ] = None,
    ) -> Restored:
        """Make one memory what it was: after an earlier change, or before it was deleted."""
        with _told():
            await self._check(memory_id)
            found = await self._memory.restore(memory_id, as_of=changed_at, actor=self._actor)
            return {**_item(found), "event": found["event"]}

    def _where(self, filters: Mapping[str, Any] | None) -> dict[str, Any]:
        """The conditions within the scope; a ToolError when they name who is fixed."""
        given = dict(filters or {})
        if fixed := [name for name in self._scope if name in given]:
            raise ToolError(f"{', '.join(fixed)}: fixed for this server. Leave it out of filters.")
        return {**given, **self._scope}

    async def _check(self, memory_id: str) -> None:
        """A ToolError unless this id is one of the scope's, of old or now."""
        if not await self._memory.belongs_to(memory_id, **self._scope):
            raise _none(memory_id, "search_memories and list_memories give the ids there are.")


READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
ADDS = ToolAnnotations(destructive_hint=False, idempotent_hint=False, open_world_hint=False)
DELETES = ToolAnnotations(destructive_hint=True, idempotent_hint=False, open_world_hint=False)
CHANGES = ToolAnnotations(destructive_hint=True, idempotent_hint=True, open_world_hint=False)

READING = {
    "search_memories": READS,
    "list_memories": READS,
    "get_memory": READS,
    "get_memory_history": READS,
}
WRITING = {
    "add_memory": ADDS,
    "update_memory": CHANGES,
    "delete_memory": DELETES,
    "restore_memory": CHANGES,
}


def server(
    memory: AsyncMemory,
    *,
    user_id: str | None = None,
    agent_id: str | None = None,
    run_id: str | None = None,
    read_only: bool = False,
    infer: bool = True,
    actor: str = "mcp",
) -> MCPServer:
    """A server for the memories that carry these ids, at least one of which must be given.

    `read_only`: without the tools that write. `infer`: let the language model, if there is one,
    draw facts from what is added. `actor`: whom the history names. The memory is not closed by it.
    ScopeMissing when nobody is named.
    """
    scope = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
    tools = Tools(memory, scope, infer=infer, actor=actor)
    # At INFO the SDK logs what a tool refused, ids and all.
    found = MCPServer(
        "memlayer", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING"
    )
    for name, hints in (READING if read_only else READING | WRITING).items():
        found.add_tool(getattr(tools, name), annotations=hints, structured_output=True)
    return found


@contextmanager
def _told() -> Iterator[None]:
    """An error of ours as one that the model is told, with what to do about it."""
    try:
        yield
    except MemlayerError as error:
        said = error.message.rstrip(".")
        if error.suggestion and error.suggestion not in error.message:
            said = f"{said}. {error.suggestion}"
        raise ToolError(said) from error


def _none(memory_id: str, next_step: str) -> ToolError:
    return ToolError(f"There is no memory {checks.shown(memory_id)}. {next_step}")


def _item(found: Mapping[str, Any]) -> Item:
    """A memory without the keys that say nothing to a model."""
    kept = {key: found[key] for key in Item.__annotations__ if found.get(key) is not None}
    return cast(Item, {"metadata": None, **kept})


def _event(event: Mapping[str, Any]) -> Event:
    kept = {key: event[key] for key in ("event", "old_memory", "new_memory")}
    if "actor" in event:
        kept["actor"] = event["actor"]
    return cast(Event, {"changed_at": event["updated_at"], **kept})
