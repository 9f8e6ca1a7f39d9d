"""Runs the scripts on a memory, mem0's or ours, and writes down what came of each call.

Only the standard library: the process that has mem0 need not have memlayer-pg.
"""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import json
import re
from collections.abc import Callable
from typing import Any

from tests.endpoint import Endpoint, refusal
from tests.mem0.calls import SCRIPTS, Call, Ref, call

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)")
SCORES = (
    "score", "semantic_score", "bm25_score", "entity_boost", "raw_score", "max_possible_score",
    "final_score",
)  # fmt: skip
OF_THE_STORE = ("text_lemmatized",)
"""What mem0 keeps beside a memory for its own use."""

RESET = call("reset")
Make = Callable[[Endpoint], Any]
Outcomes = dict[str, list[dict[str, Any]]]


def run(make: Make) -> Outcomes:
    """What every call gave, by script. `make`: a memory, which is reset before each script."""
    outcomes = {}
    with Endpoint() as endpoint, asyncio.Runner() as loop:
        endpoint.embeddings = _boom
        memory = make(endpoint)
        for name, listed in SCRIPTS.items():
            outcomes[name] = _script(memory, endpoint, [RESET, *listed], loop)[1:]
        if hasattr(memory, "aclose"):
            loop.run(memory.aclose())
        else:
            memory.close()
    # As it arrives from another process.
    found: Outcomes = json.loads(json.dumps(outcomes))
    return found


def _boom(request: dict[str, Any]) -> Any:
    """The embedder fails where the text is "boom", in a way that is not tried again."""
    texts = request["input"] if isinstance(request["input"], list) else [request["input"]]
    return refusal(400, "boom") if any(text.strip() == "boom" for text in texts) else None


def _script(
    memory: Any, endpoint: Endpoint, listed: list[Call], loop: asyncio.Runner
) -> list[dict[str, Any]]:
    results: dict[str, Any] = {}
    ids: dict[str, str] = {}
    outcomes = []
    for one in listed:
        endpoint.reply('{"memory": []}' if one.llm is None else one.llm)
        # Where the two differ one of them may name a memory more, which counts for that call only.
        seen = dict(ids) if one.differs else ids
        try:
            result = _call(memory, one, results, loop)
        except Exception as error:
            outcomes.append(_error(error, seen))
            continue
        if one.name:
            results[one.name] = result
        outcomes.append({"gives": _masked(_plain(result), seen)})
    return outcomes


def _call(memory: Any, one: Call, results: dict[str, Any], loop: asyncio.Runner) -> Any:
    target = memory
    for part in one.method.split("."):
        target = getattr(target, part)
    args = [_filled(value, results) for value in one.args]
    given = {name: _filled(value, results) for name, value in one.given.items()}
    found = target(*args, **given)
    return loop.run(_awaited(found)) if inspect.isawaitable(found) else found


async def _awaited(found: Any) -> Any:
    return await found


def _filled(value: Any, results: dict[str, Any]) -> Any:
    if not isinstance(value, Ref):
        return value
    found = results[value.name]
    for step in value.path:
        found = found[step]
    return found


def _error(error: Any, ids: dict[str, str]) -> dict[str, Any]:
    """Its class and those above it, its message, and what mem0's own errors carry besides."""
    kinds = [kind.__name__ for kind in type(error).__mro__ if kind not in (object, BaseException)]
    found: dict[str, Any] = {"raises": kinds, "says": _masked(str(error), ids)}
    if hasattr(error, "error_code"):
        found |= {
            "code": error.error_code,
            "details": _masked(_plain(error.details), ids),
            "suggestion": error.suggestion,
        }
    return found


def _plain(value: Any) -> Any:
    """A result as JSON has it; rows of a store as dictionaries."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = dataclasses.asdict(value)
    elif hasattr(value, "model_dump"):
        value = value.model_dump()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    return value if isinstance(value, str | int | float | bool | None) else repr(value)


def _masked(value: Any, ids: dict[str, str]) -> Any:
    """Ids by the order in which they are seen, times and scores without what they say."""
    if isinstance(value, dict):
        return {
            key: "a score" if key in SCORES and isinstance(item, float) else _masked(item, ids)
            for key, item in value.items()
            if key not in OF_THE_STORE
        }
    if isinstance(value, list):
        if len(value) > 8 and all(isinstance(item, float) for item in value):
            return [round(item, 5) for item in value]
        return [_masked(item, ids) for item in value]
    if isinstance(value, str):
        value = UUID.sub(lambda seen: ids.setdefault(seen[0], f"id-{len(ids) + 1}"), value)
        return MOMENT.sub("a time", value)
    return value
