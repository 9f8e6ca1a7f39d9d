"""Adding several conversations at once, each in a transaction of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from memlayer_pg.config import nearest
from memlayer_pg.errors import InputError

Result = dict[str, Any]
Progress = Callable[[int, int], None]
"""Told how many conversations are done and how many there are."""


def add_many(
    add: Callable[..., Result], jobs: list[dict[str, Any]], concurrency: int, told: Progress | None
) -> list[Result]:
    """The results of `add` for each job, in their order; an error is a result too."""

    def one(job: dict[str, Any]) -> Result:
        try:
            return add(**job)
        except Exception as error:  # of a foreign object, too: the others' results are not lost
            return {"error": error}

    done: list[Result] = [{} for _ in jobs]
    threads = ThreadPoolExecutor(concurrency, thread_name_prefix="memlayer-add")
    try:
        running = {threads.submit(one, job): place for place, job in enumerate(jobs)}
        for count, future in enumerate(as_completed(running), 1):
            done[running[future]] = future.result()
            if told is not None:
                told(count, len(jobs))
    finally:
        # Interrupted: what has begun is finished, the rest is not begun.
        threads.shutdown(cancel_futures=True)
    return done


async def add_many_async(
    add: Callable[..., Awaitable[Result]],
    jobs: list[dict[str, Any]],
    concurrency: int,
    told: Progress | None,
) -> list[Result]:
    """`add_many`, awaited."""
    room = asyncio.Semaphore(concurrency)
    count = 0

    async def one(job: dict[str, Any]) -> Result:
        nonlocal count
        async with room:
            try:
                result = await add(**job)
            except Exception as error:
                result = {"error": error}
        count += 1
        if told is not None:
            told(count, len(jobs))
        return result

    return await asyncio.gather(*(one(job) for job in jobs))


def arguments(
    conversations: Iterable[Any], common: Mapping[str, Any], known: Iterable[str]
) -> list[dict[str, Any]]:
    """The arguments of `add` for each conversation; InputError for a key that add does not take."""
    known = [name for name in known if name not in ("self", "connection")]
    found = []
    for number, item in enumerate(conversations):
        if not isinstance(item, Mapping):
            raise InputError(f"conversations[{number}] must be a dictionary of arguments of add()")
        merged = {**common, **item}
        for key in merged:
            if key not in known:
                raise InputError(
                    f"conversations[{number}]: add() takes no {key!r}{nearest(key, known)}"
                )
        if "messages" not in merged:
            raise InputError(f"conversations[{number}] has no 'messages'")
        found.append(merged)
    return found
