"""The same call, blocking and awaited: a test that takes `way` runs once for each."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from memlayer_pg.config import Endpoint as Settings

both_ways = pytest.mark.parametrize("way", ["sync", "async"])

QUESTION = [{"role": "user", "content": "What is said? Answer in JSON."}]
SCHEMA = {
    "type": "object",
    "properties": {"facts": {"type": "array", "items": {"type": "string"}}},
    "required": ["facts"],
    "additionalProperties": False,
}
AT_ONCE = {"retry-after-ms": "1"}
"""What a server says that wants to be asked again without the client's usual half a second."""


def settings(server: Any, **more: Any) -> Settings:
    """An endpoint's settings for the scripted server."""
    given = {"model": "m", "base_url": server.base_url, "api_key": "secret-key"}
    return Settings(**(given | more))


def ask(chat: Any, way: str, *, times: int = 1, schema: Any = SCHEMA) -> list[Any]:
    """So many answers of a language model; its connections are closed afterwards."""

    async def awaited() -> list[Any]:
        try:
            return [await chat.agenerate(QUESTION, schema) for _ in range(times)]
        finally:
            await chat.aclose()

    if way == "async":
        return asyncio.run(awaited())
    try:
        return [chat.generate(QUESTION, schema) for _ in range(times)]
    finally:
        chat.close()


def embed(embedder: Any, way: str, *texts: str, times: int = 1, purpose: str = "document") -> Any:
    """The last of so many answers of an embedder; its connections are closed afterwards."""

    async def awaited() -> Any:
        try:
            return [await embedder.aembed(texts, purpose) for _ in range(times)][-1]
        finally:
            await embedder.aclose()

    if way == "async":
        return asyncio.run(awaited())
    try:
        return [embedder.embed(texts, purpose) for _ in range(times)][-1]
    finally:
        embedder.close()
