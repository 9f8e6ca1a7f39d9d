"""Memory and AsyncMemory with one call syntax, so that one test is a test of both."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from memlayer_pg import AsyncMemory, Config, Endpoint, Memory
from tests.endpoint import Endpoint as Scripted

KINDS = ("sync", "async")


def model(server: Scripted, **settings: Any) -> Endpoint:
    """A model of the scripted server."""
    return Endpoint(model="scripted", base_url=server.base_url, api_key="k", **settings)


class Harness:
    """A Memory, or an AsyncMemory whose coroutines are run to their end by one event loop."""

    def __init__(self, kind: str, config: Config, **parts: Any) -> None:
        self.is_async = kind == "async"
        self.memory: Any = (AsyncMemory if self.is_async else Memory)(config, **parts)
        self._runner = asyncio.Runner() if self.is_async else None

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.memory, name)
        if self._runner is None or not inspect.iscoroutinefunction(found):
            return found

        def call(*args: Any, **given: Any) -> Any:
            return self.run(found(*args, **given))

        return call

    def run(self, coroutine: Any) -> Any:
        """Run a coroutine in the event loop of this memory."""
        assert self._runner is not None
        return self._runner.run(coroutine)

    def close(self) -> None:
        if self._runner is None:
            self.memory.close()
        else:
            self.run(self.memory.aclose())
            self._runner.close()


Make = Callable[..., Harness]
