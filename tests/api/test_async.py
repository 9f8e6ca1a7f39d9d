"""AsyncMemory: never blocks the loop, lives through several loops, can be cancelled."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from memlayer_pg import AsyncMemory, Config
from tests.api.harness import model
from tests.api.test_reading import ANN

HELLO = [{"role": "user", "content": "hello"}]


@pytest.fixture
def memory(live: str, tenant: str, endpoint: Any) -> AsyncMemory:
    return AsyncMemory(
        Config(dsn=live, tenant=tenant, llm=model(endpoint), embedder=model(endpoint), max_size=4)
    )


def test_the_loop_goes_on_while_a_memory_waits(memory: AsyncMemory, endpoint: Any) -> None:  # B080
    seen = threading.Event()

    def waits(request: Any) -> str:
        assert seen.wait(30), "the loop stood still"
        return '{"facts": ["Ann likes tea"]}'

    endpoint.chat = waits

    async def main() -> None:
        async with memory:
            add = asyncio.create_task(memory.add("I like tea", user_id="ann"))
            while not endpoint.chats:
                await asyncio.sleep(0.01)
            # The language model answers only once this ran: add() is not blocking the loop.
            seen.set()
            assert len((await add)["results"]) == 1
            [item] = (await memory.get_all(filters=ANN))["results"]
            assert len(await memory.history(item["id"])) == 1
            await memory.reset()
            assert await memory.get_all(filters=ANN) == {"results": []}

    asyncio.run(main())


def test_one_memory_serves_one_loop_after_the_other(memory: AsyncMemory) -> None:
    async def main() -> int:
        await memory.add(HELLO, user_id="ann", infer=False)
        await memory.embedding_model.aclose()  # its sockets are this loop's
        return len((await memory.get_all(filters=ANN))["results"])

    assert [asyncio.run(main()) for _ in range(3)] == [1, 2, 3]
    asyncio.run(memory.aclose())


def test_one_memory_serves_loops_of_several_threads(memory: AsyncMemory) -> None:
    async def main() -> None:
        for _ in range(5):
            await memory.add(HELLO, user_id="ann", infer=False)
            await memory.search("hello", filters=ANN)
        await memory.embedding_model.aclose()  # its sockets are this loop's

    threads = [threading.Thread(target=asyncio.run, args=(main(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    async def end() -> int:
        async with memory:
            return len((await memory.get_all(filters=ANN, top_k=100))["results"])

    assert asyncio.run(end()) == 20


def test_more_tasks_than_connections_take_turns(memory: AsyncMemory, endpoint: Any) -> None:
    endpoint.facts("Ann cycles to work")

    async def main() -> None:
        async with memory:
            adds = (memory.add("I cycle", user_id="ann") for _ in range(20))
            results = await asyncio.gather(*adds)
            assert sum(len(result["results"]) for result in results) == 1
            [item] = (await memory.get_all(filters=ANN))["results"]
            changes = (memory.update(item["id"], metadata={f"k{n}": n}) for n in range(20))
            await asyncio.gather(*changes)
            changed = await memory.get(item["id"])
            assert changed is not None
            assert len(changed["metadata"]) == 20

    asyncio.run(main())


def test_a_cancelled_add_leaves_nothing_and_gives_its_connection_back(
    memory: AsyncMemory, endpoint: Any, counts: Any
) -> None:  # B080
    def slow(request: Any) -> str:
        time.sleep(0.2)
        return '{"facts": ["Ann likes tea"]}'

    endpoint.chat = slow

    async def main() -> None:
        async with memory:
            for _ in range(6):
                add = asyncio.create_task(memory.add("I like tea", user_id="ann"))
                before = len(endpoint.chats)
                while len(endpoint.chats) == before:
                    await asyncio.sleep(0.01)
                add.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await add
            assert counts() == (0, 0, 0, 0, 0)
            assert (await memory.get_all(filters=ANN))["results"] == []

    asyncio.run(main())


def test_a_call_cancelled_in_the_middle_of_a_statement_harms_no_other(
    memory: AsyncMemory, sql: Any, tenant: str
) -> None:
    async def main() -> None:
        async with memory:
            await memory.add(HELLO, user_id="ann", infer=False)
            [item] = (await memory.get_all(filters=ANN))["results"]
            for delay in (0.0, 0.001, 0.003, 0.01):
                update = asyncio.create_task(memory.update(item["id"], metadata={"k": delay}))
                await asyncio.sleep(delay)
                update.cancel()
                await asyncio.gather(update, return_exceptions=True)
                assert len((await memory.get_all(filters=ANN))["results"]) == 1

    asyncio.run(main())
    assert sql("select * from memlayer.verify(%(tenant)s)") == []


def test_it_may_be_made_where_no_loop_is_running(live: str, endpoint: Any) -> None:  # B081
    made: list[AsyncMemory] = []
    config = Config(dsn=live, embedder=model(endpoint), llm=model(endpoint))
    thread = threading.Thread(target=lambda: made.append(AsyncMemory(config)))
    thread.start()
    thread.join()

    async def inside() -> AsyncMemory:
        return AsyncMemory(config)

    made += [asyncio.run(inside()), AsyncMemory.from_config({"dsn": live})]

    async def use(memory: AsyncMemory) -> None:
        async with memory:
            assert await memory.get("x") is None

    for memory in made:
        asyncio.run(use(memory))
