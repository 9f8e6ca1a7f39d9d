"""A session and tools for the Agents SDK, run by its own runner."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

pytest.importorskip("agents")

from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    RunConfig,
    Runner,
    Session,
    SessionSettings,
)
from openai import AsyncOpenAI

from memlayer_pg import AsyncMemory, Config, Memory, NotStorable, ScopeMissing
from memlayer_pg.integrations.agents import MemlayerSession, memory_tools
from tests.endpoint import Endpoint, completion

ITEMS: list[Any] = [
    {"role": "user", "content": "What is the weather in Porto?"},
    {"type": "reasoning", "id": "r1", "summary": []},
    {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{}", "id": "f1"},
    {"type": "function_call_output", "call_id": "c1", "output": "rain"},
    {
        "type": "message",
        "role": "assistant",
        "id": "m1",
        "status": "completed",
        "content": [{"type": "output_text", "text": "It rains.", "annotations": []}],
    },
    {"role": "user", "content": "What is the weather in Porto?"},
]
Body = Callable[[Memory | AsyncMemory], Awaitable[None]]


@pytest.fixture(params=["blocking", "awaited"])
def with_memory(request: pytest.FixtureRequest, config: Config) -> Callable[[Body], None]:
    """Runs something with a memory of either kind."""

    async def run(body: Body) -> None:
        if request.param == "awaited":
            async with AsyncMemory(config) as memory:
                await body(memory)
        else:
            with Memory(config) as blocking:
                await body(blocking)

    return lambda body: asyncio.run(run(body))


def test_the_items_come_back_as_they_were(with_memory: Callable[[Body], None]) -> None:
    async def body(memory: Memory | AsyncMemory) -> None:
        session = MemlayerSession("s1", memory, user_id="ann")
        assert isinstance(session, Session)
        assert await session.pop_item() is None
        await session.add_items(ITEMS[:3])
        await session.add_items(ITEMS[3:])
        await session.add_items([])
        assert await session.get_items() == ITEMS
        assert await session.get_items(limit=2) == ITEMS[-2:]
        assert await session.get_items(limit=0) == []
        assert await MemlayerSession("s2", memory, user_id="ann").get_items() == []
        assert await MemlayerSession("s1", memory, user_id="bob").get_items() == []
        short = MemlayerSession(
            "s1", memory, user_id="ann", session_settings=SessionSettings(limit=1)
        )
        assert await short.get_items() == ITEMS[-1:]
        assert await session.pop_item() == ITEMS[-1]
        assert await session.get_items() == ITEMS[:-1]
        await session.clear_session()
        assert await session.get_items() == []

    with_memory(body)


def test_two_who_pop_get_different_items(memory: Memory) -> None:
    async def pops() -> list[Any]:
        session = MemlayerSession("s1", memory, embed=False)
        await session.add_items([{"role": "user", "content": str(n)} for n in range(12)])
        popped: list[Any] = await asyncio.gather(*(session.pop_item() for _ in range(13)))
        return [item and item["content"] for item in popped]

    found = asyncio.run(pops())
    assert sorted(item for item in found if item) == sorted(str(n) for n in range(12))
    assert found.count(None) == 1


def test_an_item_that_cannot_be_kept_is_refused_and_the_rest_with_it(memory: Memory) -> None:
    """B024"""
    session = MemlayerSession("s1", memory)
    with pytest.raises(NotStorable):
        asyncio.run(session.add_items([ITEMS[0], {"role": "user", "content": "a\x00b"}]))
    assert asyncio.run(session.get_items()) == []


@asynccontextmanager
async def agent(endpoint: Endpoint, **parts: Any) -> AsyncIterator[Agent[Any]]:
    """An agent whose model is the scripted one."""
    async with AsyncOpenAI(base_url=endpoint.base_url, api_key="k") as client:
        model = OpenAIChatCompletionsModel("scripted", client)
        settings = ModelSettings(temperature=0)
        yield Agent("helper", model=model, model_settings=settings, **parts)


QUIET = RunConfig(tracing_disabled=True)


def test_a_runner_goes_on_where_it_was_left(config: Config, endpoint: Endpoint) -> None:
    endpoint.reply("Hello Ann.", "You are Ann.")

    async def talk() -> None:
        async with agent(endpoint) as helper:
            for question in ("I am Ann.", "Who am I?"):
                async with AsyncMemory(config) as memory:
                    session = MemlayerSession("s1", memory, user_id="ann")
                    await Runner.run(helper, question, session=session, run_config=QUIET)

    asyncio.run(talk())
    said = [message["content"] for message in endpoint.chats[-1]["messages"]]
    assert said == ["I am Ann.", "Hello Ann.", "Who am I?"]


def calls(tool: str, **arguments: Any) -> dict[str, Any]:
    """The answer of a model that wants a tool called."""
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return completion(
        None,
        finish_reason="tool_calls",
        tool_calls=[{"id": f"call-{tool}", "type": "function", "function": function}],
    )


def test_an_agent_adds_and_finds_with_the_tools(config: Config, endpoint: Endpoint) -> None:
    scripted = [
        calls("add_memory", text="Ann likes oolong tea."),
        '{"facts": ["Ann likes oolong tea."]}',
        calls("search_memories", query="tea"),
        "Oolong.",
    ]
    endpoint.reply(*scripted)

    async def talk() -> Any:
        async with AsyncMemory(config) as memory, AsyncMemory(config) as other:
            await other.add("Bob likes black tea.", user_id="bob", infer=False)
            tools = memory_tools(memory, user_id="ann")
            async with agent(endpoint, tools=tools) as helper:
                result = await Runner.run(helper, "What do I drink?", run_config=QUIET)
            found = await memory.get_all(filters={"user_id": "ann"})
            return result.final_output, found["results"]

    output, [stored] = asyncio.run(talk())
    assert output == "Oolong."
    assert stored["memory"] == "Ann likes oolong tea."
    outputs = [m["content"] for m in endpoint.chats[-1]["messages"] if m["role"] == "tool"]
    assert outputs == ["Remembered: Ann likes oolong tea.", "- Ann likes oolong tea."]
    for tool in endpoint.chats[0]["tools"]:
        assert len(tool["function"]["parameters"]["properties"]) == 1
        assert tool["function"]["description"]


def test_tools_of_nobody_are_refused(memory: Memory) -> None:
    with pytest.raises(ScopeMissing):
        memory_tools(memory)
