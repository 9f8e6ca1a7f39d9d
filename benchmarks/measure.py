"""Measuring contenders in turns, so that whatever disturbs the machine disturbs all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

from benchmarks.contenders import Contender
from benchmarks.endpoint import Running
from benchmarks.place import one
from benchmarks.script import Arguments, Script, method
from benchmarks.timing import Batch
from benchmarks.wire import Wire

Row = dict[str, Any]
Take = Callable[[int], list[Arguments]]

WARM = 6
"""Calls before the clock starts: statements are prepared on the server at the fifth."""
COUNTED = 4


@dataclass(frozen=True)
class Effort:
    """`rounds` of `calls` for each contender in turn; who has taken `seconds` does no more rounds
    than `fewest`."""

    rounds: int = 12
    calls: int = 5
    seconds: float = 15.0
    fewest: int = 2
    warm: int = WARM


def in_turns(
    contenders: Sequence[Contender],
    operation: str,
    take: Take,
    effort: Effort,
    clients: int = 1,
) -> dict[str, Batch]:
    """What each contender's calls took, by name; `take` gives arguments for so many calls."""
    able = [contender for contender in contenders if contender.can(method(operation))]
    spent = {contender.name: Batch() for contender in able}
    if effort.warm:
        warm = take(effort.warm * clients)
        for contender in able:
            contender.run(method(operation), warm, clients)
    for number in range(effort.rounds):
        # With several clients a round has to be long enough for all of them to be at work.
        arguments = take(effort.calls * clients)
        if not arguments:
            break
        for contender in able if number % 2 else reversed(able):
            known = spent[contender.name]
            if number < effort.fewest or known.elapsed < effort.seconds:
                known.extend(contender.run(method(operation), arguments, clients))
    return spent


def rows(found: dict[str, Batch], **about: Any) -> list[Row]:
    """A row of the results for each contender that made a call."""
    return [
        {**about, "contender": name, **batch.summary()}
        for name, batch in found.items()
        if batch.walls
    ]


def count(
    contender: Contender, wire: Wire, dsn: str, endpoint: Running, script: Script, operation: str
) -> Row:
    """What one call of a contender, which talks through the wire, makes others do on average.

    `writes` are transactions that wrote, told by the transaction ids they took.
    """
    contender.run(method(operation), script.take(operation, WARM), 1)
    arguments = script.take(operation, COUNTED)
    with psycopg.connect(dsn, autocommit=True) as conn:
        begun = _next_transaction(conn)
        endpoint.counts()
        wire.forget()
        contender.run(method(operation), arguments, 1)
        told = endpoint.counts()
        calls = max(len(arguments), 1)
        return {
            "operation": operation,
            "contender": contender.name,
            "statements": wire.statements / calls,
            "round_trips": wire.round_trips / calls,
            "writes": (_next_transaction(conn) - begun) / calls,
            "http": (told["embeddings"] + told["chats"]) / calls,
            "texts": told["texts"] / calls,
            "prompt_tokens": told["prompt_tokens"] / calls,
        }


def _next_transaction(conn: psycopg.Connection[Any]) -> int:
    return int(one(conn, "select pg_snapshot_xmax(pg_current_snapshot())::text::bigint"))
