"""Calls that Postgres gave up to let another go on are made again.

Only those that are a transaction of their own: such a call was undone wholly. Within a caller's
transaction the error is his, who alone can repeat all of it.
"""

from __future__ import annotations

import random

from memlayer_pg.errors import DatabaseError

SQLSTATES = ("40001", "40P01")
"""serialization_failure and deadlock_detected."""
PAUSES = (0.01, 0.05, 0.2, 0.5, 1, 1, 2, 2)
"""Seconds before each new attempt, at most: after the last one the error is the caller's."""


def pause(error: DatabaseError, attempts: int) -> float:
    """How long to wait after so many attempts, in seconds; raises the error when that is no use.

    By chance between half and all of it, so that two who met do not meet again.
    """
    if error.sqlstate not in SQLSTATES or attempts > len(PAUSES):
        raise error
    return PAUSES[attempts - 1] * random.uniform(0.5, 1)
