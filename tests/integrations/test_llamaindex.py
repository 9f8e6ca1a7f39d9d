"""The memory block, in LlamaIndex's own memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import Memory as Short
from sqlalchemy.ext.asyncio import create_async_engine

from memlayer_pg import AsyncMemory, Config, Memory
from memlayer_pg.integrations.llamaindex import MemlayerBlock
from tests.endpoint import Endpoint


@asynccontextmanager
async def short_term(block: MemlayerBlock) -> AsyncIterator[Short]:
    """A short-term memory that holds a few words, and hands the rest to the block."""
    engine = create_async_engine("sqlite+aiosqlite:///:memory:")
    yield Short.from_defaults(
        session_id="s1",
        token_limit=60,
        chat_history_token_ratio=0.3,
        token_flush_size=10,
        memory_blocks=[block],
        async_engine=engine,
    )
    await engine.dispose()  # LlamaIndex leaves it open


@pytest.mark.parametrize("kind", ["blocking", "awaited"])
def test_what_leaves_the_short_term_memory_is_remembered_and_comes_back(
    kind: str, config: Config, endpoint: Endpoint
) -> None:
    endpoint.facts("Ann likes oolong tea.")

    async def talk(memory: Any) -> tuple[list[ChatMessage], list[dict[str, Any]]]:
        async with short_term(MemlayerBlock(memory=memory, user_id="ann")) as short:
            await short.aput(ChatMessage(role="user", content="I like oolong tea most of all"))
            answer = "I shall remember that, Ann. " * 3
            await short.aput(ChatMessage(role="assistant", content=answer))
            await short.aput(ChatMessage(role="user", content="Which tea do I like?"))
            shown = await short.aget()
        found = (
            await memory.get_all(filters={"user_id": "ann"})
            if kind == "awaited"
            else memory.get_all(filters={"user_id": "ann"})
        )
        return shown, found["results"]

    async def run() -> tuple[list[ChatMessage], list[dict[str, Any]]]:
        if kind == "awaited":
            async with AsyncMemory(config) as memory:
                return await talk(memory)
        with Memory(config) as blocking:
            return await talk(blocking)

    shown, [stored] = asyncio.run(run())
    assert stored["memory"] == "Ann likes oolong tea."
    assert "I like oolong tea most of all" in endpoint.prompts[0]
    assert "- Ann likes oolong tea." in "\n".join(message.content or "" for message in shown)


def block(memory: Memory, **settings: Any) -> MemlayerBlock:
    return MemlayerBlock(memory=memory, user_id="ann", **settings)


def test_the_memories_that_fit_the_last_question_are_shown(memory: Memory) -> None:
    for text in ("Ann drinks oolong tea", "Ann lives in Porto"):
        memory.add(text, user_id="ann", infer=False)
    memory.add("Bob drinks tea", user_id="bob", infer=False)
    asked = [
        ChatMessage(role="user", content="Where do I live?"),
        ChatMessage(role="user", content="What tea do I drink?"),
        ChatMessage(role="assistant", content="Porto"),
    ]
    assert asyncio.run(block(memory, top_k=1).aget(asked)) == "- Ann drinks oolong tea"
    nothing: list[list[ChatMessage] | None] = [None, [], [ChatMessage(role="user", content=" ")]]
    for messages in nothing:
        assert asyncio.run(block(memory).aget(messages)) == ""


def test_what_is_too_long_loses_what_fits_least(memory: Memory) -> None:
    lines = "- one two three\n- four five six\n- seven"
    assert asyncio.run(block(memory).atruncate(lines, 1)) == "- one two three\n- four five six"
    assert asyncio.run(block(memory).atruncate(lines, 9)) is None


def test_what_is_added_can_be_stored_word_for_word(memory: Memory, endpoint: Endpoint) -> None:
    said = [ChatMessage(role="user", content="Tea"), ChatMessage(role="assistant", content=None)]
    asyncio.run(block(memory, add_kwargs={"infer": False}).aput(said))
    assert endpoint.chats == []
    assert memory.get_all(filters={"user_id": "ann"})["results"][0]["memory"] == "Tea"
