"""A memory block of LlamaIndex's `Memory`: `MemlayerBlock`. Needs the extra `llamaindex`."""

from __future__ import annotations

from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import BaseMemoryBlock
from pydantic import Field

from memlayer_pg.integrations.steps import ask, run_async

CHARACTERS = 4
"""About as many make a token."""


class MemlayerBlock(BaseMemoryBlock[str]):
    """What is known about a user, agent or run, and fits what was said last.

    Messages that leave the short-term memory are added: a language model, if the memory has one,
    draws facts from them. `memory`: an AsyncMemory, or a Memory, which works in a thread; it is not
    closed. `user_id`, `agent_id`, `run_id`: whose memories, at least one. `top_k`: how many are
    shown at most. `search_kwargs` and `add_kwargs`: further arguments of `search` and `add`.
    """

    name: str = "memlayer"
    description: str | None = "What is known from earlier conversations."
    memory: Any
    user_id: str | None = None
    agent_id: str | None = None
    run_id: str | None = None
    top_k: int = 10
    search_kwargs: dict[str, Any] = Field(default_factory=dict)
    add_kwargs: dict[str, Any] = Field(default_factory=dict)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        """The memories that fit the last message of the user, a line each; "" when none does."""
        said = [message.content for message in messages or () if message.role == MessageRole.USER]
        query = (said[-1] or "").strip() if said else ""
        if not query:
            return ""
        found = await run_async(
            self.memory,
            ask("search", query, filters=self._ids(), top_k=self.top_k, **self.search_kwargs),
        )
        return "\n".join(f"- {item['memory']}" for item in found["results"])

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Remember what was said."""
        said = [
            {"role": message.role.value, "content": message.content}
            for message in messages
            if message.content
        ]
        if said:
            await run_async(self.memory, ask("add", said, **self._ids(), **self.add_kwargs))

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Leave out the memories that fit least; None when none is left."""
        lines = content.splitlines()
        left = len(content) - tokens_to_truncate * CHARACTERS
        while lines and len("\n".join(lines)) > left:
            lines.pop()
        return "\n".join(lines) or None

    def _ids(self) -> dict[str, str]:
        ids = {"user_id": self.user_id, "agent_id": self.agent_id, "run_id": self.run_id}
        return {name: value for name, value in ids.items() if value is not None}
