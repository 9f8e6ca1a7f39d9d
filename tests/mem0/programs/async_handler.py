"""A handler of web requests, without the web framework: one AsyncMemory for all of them."""

import asyncio
import json
import os

from memlayer_pg.compat.mem0 import AsyncMemory


async def handle(memory: AsyncMemory, request: dict) -> dict:
    match request["path"]:
        case "/memories":
            return await memory.add(
                request["messages"],
                user_id=request["user"],
                infer=False,
                metadata={"source": "web"},
            )
        case "/search":
            return await memory.search(
                request["query"], filters={"user_id": request["user"]}, top_k=1, threshold=0.2
            )
        case "/forget":
            return await memory.delete_all(user_id=request["user"])
    return {"error": "not found"}


async def main() -> None:
    config = json.loads(os.environ["MEM0_CONFIG"])
    async with AsyncMemory.from_config(config) as memory:
        messages = [{"role": "user", "content": "{} plays chess."}]
        await handle(memory, {"path": "/memories", "user": "warm", "messages": messages})
        requests = [
            {
                "path": "/memories",
                "user": f"user-{number}",
                "messages": [{"role": "user", "content": f"User {number} plays chess."}],
            }
            for number in range(8)
        ]
        added = await asyncio.gather(*(handle(memory, request) for request in requests))
        print([answer["results"][0]["memory"] for answer in added])
        found = await asyncio.gather(
            *(
                handle(memory, {"path": "/search", "user": f"user-{n}", "query": "who plays chess"})
                for n in range(8)
            )
        )
        print([answer["results"][0]["memory"] for answer in found])
        memory_id = added[0]["results"][0]["id"]
        await memory.update(memory_id, data="User 0 plays go.")
        item = await memory.get(memory_id)
        print(item["memory"], item["metadata"], item["score"], list(item)[:7])
        print([change["event"] for change in await memory.history(memory_id)])
        print(await handle(memory, {"path": "/forget", "user": "user-0"}))
        print(await memory.get_all(filters={"user_id": "user-0"}))
        print(await handle(memory, {"path": "/other"}))
        try:
            await memory.chat("hello")
        except NotImplementedError as error:
            print(error)


if __name__ == "__main__":
    asyncio.run(main())
