"""For OpenAI's Agents SDK: a session, and tools that search and add. Needs the extra `agents`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, cast

from agents import FunctionTool, Session, SessionSettings, TResponseInputItem, function_tool
from agents.memory.session_settings import resolve_session_limit

from memlayer_pg import AsyncMemory, Memory, checks
from memlayer_pg.integrations.steps import ask, run_async
from memlayer_pg.integrations.transcript import Entry, Transcript


class MemlayerSession(Session):
    """The items of a conversation, kept in Postgres.

    `session_id`: the conversation; its items are memories of the run of this id, of `user_id` and
    `agent_id` too where these are given. `memory`: an AsyncMemory, or a Memory, which works in a
    thread; it is not closed by the session. `embed`: False stores without asking the embedder, and
    leaves the vectors to `embed_pending`. `session_settings`: the SDK's, with the default limit.
    """

    def __init__(
        self,
        session_id: str,
        memory: Memory | AsyncMemory,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        embed: bool = True,
        session_settings: SessionSettings | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings
        self.memory = memory
        self._transcript = Transcript("agents", session_id, user_id, agent_id, embed)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The items, oldest first; with a limit the newest so many."""
        limit = resolve_session_limit(limit, self.session_settings)
        found = await run_async(self.memory, self._transcript.read(limit))
        return cast(list[TResponseInputItem], found)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items at the end; NotStorable for one that Postgres cannot keep."""
        entries = [_entry(cast(Mapping[str, Any], item)) for item in items]
        await run_async(self.memory, self._transcript.append(entries))

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the newest item away; None when there is none."""
        found = await run_async(self.memory, self._transcript.pop())
        return cast(TResponseInputItem | None, found)

    async def clear_session(self) -> None:
        """Take all items away; their history stays until it is erased."""
        await run_async(self.memory, self._transcript.clear())


def memory_tools(
    memory: Memory | AsyncMemory,
    *,
    user_id: str | None = None,
    agent_id: str | None = None,
    run_id: str | None = None,
    top_k: int = 10,
) -> list[FunctionTool]:
    """`search_memories` and `add_memory` for an agent, in the scope of these ids.

    The model chooses neither ids nor tenant. ScopeMissing, a ValueError, when nobody is named.
    """
    given = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
    checks.scope_to_read(given)
    ids = {name: value for name, value in given.items() if value is not None}

    @function_tool
    async def search_memories(
        query: Annotated[str, "What you want to know, as a question or words."],
    ) -> str:
        """Search what is known from earlier conversations, before you answer what depends on it."""
        found = await run_async(memory, ask("search", query, filters=ids, top_k=top_k))
        return "\n".join(f"- {item['memory']}" for item in found["results"]) or "Nothing is known."

    @function_tool
    async def add_memory(
        text: Annotated[
            str, "What to remember, in sentences that can be understood alone: names, dates."
        ],
    ) -> str:
        """Remember a fact, preference or decision for later conversations."""
        added = await run_async(memory, ask("add", text, **ids))
        texts = [item["memory"] for item in added["results"]]
        return f"Remembered: {' '.join(texts)}" if texts else "This is known already."

    return [search_memories, add_memory]


def _entry(item: Mapping[str, Any]) -> Entry:
    """An item with its words; where it has none, with what it is."""
    content = item.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = [str(part["text"]) for part in parts if isinstance(part.get("text"), str)]
    text = " ".join(texts).strip()
    kind = str(item.get("type") or "message")
    name = str(item.get("name") or "")
    plain = json.loads(json.dumps(item))
    return Entry(str(item.get("role") or kind), text or f"{kind} {name}".strip(), plain)
