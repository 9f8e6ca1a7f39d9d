"""One flow for `Memory` and `AsyncMemory`: a generator that yields the methods it wants called."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeVar

from memlayer_pg import AsyncMemory, InputError, Memory

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ask:
    """A method of a memory and its arguments."""

    method: str
    args: tuple[Any, ...]
    given: dict[str, Any]


Steps = Generator[Ask, Any, T]


def ask(method: str, *args: Any, **given: Any) -> Steps[Any]:
    """What a method of the memory gives."""
    return (yield Ask(method, args, given))


def run(memory: Memory | AsyncMemory, steps: Steps[T]) -> T:
    """Run steps to their end; InputError for an AsyncMemory, which has to be awaited."""
    if not isinstance(memory, Memory):
        raise InputError(
            f"{type(memory).__name__} has to be awaited",
            suggestion="Use the methods that are awaited, or give a Memory, which serves both.",
        )
    try:
        wanted = next(steps)
        while True:
            try:
                answer = getattr(memory, wanted.method)(*wanted.args, **wanted.given)
            except Exception as error:
                wanted = steps.throw(error)
            else:
                wanted = steps.send(answer)
    except StopIteration as stop:
        result: T = stop.value
        return result


async def run_async(memory: Memory | AsyncMemory, steps: Steps[T]) -> T:
    """Run steps to their end; a Memory works in a thread."""
    if isinstance(memory, Memory):
        return await asyncio.to_thread(run, memory, steps)
    try:
        wanted = next(steps)
        while True:
            try:
                answer = await getattr(memory, wanted.method)(*wanted.args, **wanted.given)
            except Exception as error:
                wanted = steps.throw(error)
            else:
                wanted = steps.send(answer)
    except StopIteration as stop:
        result: T = stop.value
        return result
