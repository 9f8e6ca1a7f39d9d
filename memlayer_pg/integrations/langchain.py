"""For LangChain: a chat message history and a retriever. Needs the extra `langchain`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict
from langchain_core.retrievers import BaseRetriever
from pydantic import Field

from memlayer_pg import AsyncMemory, Memory
from memlayer_pg.integrations.steps import Steps, ask, run, run_async
from memlayer_pg.integrations.transcript import Entry, Transcript

ROLES = {"human": "user", "ai": "assistant", "function": "tool"}


class MemlayerChatMessageHistory(BaseChatMessageHistory):
    """The messages of a conversation, kept in Postgres.

    `session_id`: the conversation; its messages are memories of the run of this id, of `user_id`
    and `agent_id` too where these are given. `memory`: a Memory serves all methods, an AsyncMemory
    those that are awaited; it is not closed. `embed`: False stores without asking the embedder, and
    leaves the vectors to `embed_pending`.
    """

    def __init__(
        self,
        session_id: str,
        memory: Memory | AsyncMemory,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        embed: bool = True,
    ) -> None:
        self.session_id = session_id
        self.memory = memory
        self._transcript = Transcript("langchain", session_id, user_id, agent_id, embed)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """All messages, oldest first."""
        return messages_from_dict(run(self.memory, self._transcript.read()))

    async def aget_messages(self) -> list[BaseMessage]:
        """All messages, oldest first."""
        return messages_from_dict(await run_async(self.memory, self._transcript.read()))

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages at the end; NotStorable for one that Postgres cannot keep."""
        run(self.memory, self._transcript.append(list(map(_entry, messages))))

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """`add_messages`, awaited."""
        await run_async(self.memory, self._transcript.append(list(map(_entry, messages))))

    def clear(self) -> None:
        """Take all messages away; their history stays until it is erased."""
        run(self.memory, self._transcript.clear())

    async def aclear(self) -> None:
        """`clear`, awaited."""
        await run_async(self.memory, self._transcript.clear())


class MemlayerRetriever(BaseRetriever):
    """Memories as documents: `page_content` the text, `id` its id, and the rest in `metadata`.

    `memory`: a Memory, or an AsyncMemory, which has to be awaited. `filters`: as in `search`, with
    at least one of user_id, agent_id and run_id. `k`: how many at most. `search_kwargs`: further
    arguments of `search`, such as `rerank` or `threshold`.
    """

    memory: Any
    filters: dict[str, Any]
    k: int = 4
    search_kwargs: dict[str, Any] = Field(default_factory=dict)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return _documents(run(self.memory, self._search(query)))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        return _documents(await run_async(self.memory, self._search(query)))

    def _search(self, query: str) -> Steps[Any]:
        return ask("search", query, filters=self.filters, top_k=self.k, **self.search_kwargs)


def _entry(message: BaseMessage) -> Entry:
    """A message with its words; where it has none, with what it is and calls."""
    calls = [call["name"] for call in getattr(message, "tool_calls", [])]
    text = str(message.text).strip() or " ".join([message.type, *calls])
    return Entry(ROLES.get(message.type, message.type), text, message_to_dict(message))


def _documents(found: dict[str, Any]) -> list[Document]:
    return [
        Document(
            id=item["id"],
            page_content=item["memory"],
            metadata={
                **(item["metadata"] or {}),
                **{key: item[key] for key in item if key not in ("memory", "metadata", "hash")},
            },
        )
        for item in found["results"]
    ]
