"""Calls that Postgres gave up to let another go on are made again, and once those whose connection
was lost, where that can do no harm.

Only those that are a transaction of their own: such a call was undone wholly. Within a caller's
transaction the error is his, who alone can repeat all of it. With its connection a call loses its
answer, too, and may have been done: a read is repeated, and a write that has an idempotency key.
"""

from __future__ import annotations

import random

import psycopg

from memlayer_pg.effects import Call
from memlayer_pg.errors import DatabaseError

SQLSTATES = ("40001", "40P01")
"""serialization_failure and deadlock_detected."""
PAUSES = (0.01, 0.05, 0.2, 0.5, 1, 1, 2, 2)
"""Seconds before each new attempt, at most: after the last one the error is the caller's."""
RECONNECT = 0.5
"""Seconds before a lost connection is made anew."""
LOST = ("57P01", "57P02", "57P03", "08000", "08003", "08006", "08P01")
"""admin_shutdown, crash_shutdown, cannot_connect_now and those of connections."""
READS = (
    "belongs_to", "changes", "changes_since", "export_history", "export_memories", "get", "get_all",
    "handshake", "history", "keyword_search", "messages", "metadata_values", "pending",
    "recall_context", "scopes", "search", "similar_to",
)  # fmt: skip
"""Functions that write nothing."""


def unreachable(error: DatabaseError) -> bool:
    """Whether there was no connection to the server, or no longer one."""
    if error.sqlstate is None:
        return isinstance(error.__cause__, psycopg.OperationalError)
    return error.sqlstate in LOST


def _lost(error: DatabaseError) -> bool:
    """Whether a connection that stood is gone; one that could not be made is an error at once."""
    cause = error.__cause__
    return unreachable(error) and isinstance(cause, psycopg.Error) and cause.pgconn is None


def _repeatable(call: Call) -> bool:
    return call.function in READS or call.args.get("p_idempotency_key") is not None


def pause(error: DatabaseError, attempts: int, call: Call) -> float:
    """How long to wait after so many attempts, in seconds; raises the error when that is no use.

    By chance between half and all of it, so that two who met do not meet again.
    """
    if attempts == 1 and _lost(error) and _repeatable(call):
        return RECONNECT
    if error.sqlstate not in SQLSTATES or attempts > len(PAUSES):
        raise error
    return PAUSES[attempts - 1] * random.uniform(0.5, 1)
