"""A conversation to try the package with, and what to ask of it: `memlayer demo` shows it.

Mei, who moved from Taipei to Lisbon, talks with her assistant in English and Chinese, over two
months; what she drinks in the morning changes on the way. Every name is made up.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from memlayer_pg.errors import InputError

if TYPE_CHECKING:
    from memlayer_pg import Memory

TENANT = "demo"
"""The tenant the demo keeps to: nobody else's memories are touched."""

USER = "mei"

QUERIES = (
    "What does she drink in the morning?",
    "姐姐什么时候来里斯本",
    "Who is Diogo of Ponte Studio?",
)

CORRECTED = "black coffee every morning"
"""Finds the memory that no longer holds."""

FORMERLY, NOW = "two cups of black coffee", "oolong tea"

PLAIN_SQL = """\
update memlayer.memory
   set metadata = metadata || '{"checked": true}'
 where tenant = 'demo' and id = %s"""
"""What somebody does to a memory in psql; it stands in the history like any call."""

VERIFY = "select * from memlayer.verify('demo');"


def conversations() -> list[dict[str, Any]]:
    """The sessions, oldest first, each as arguments of `Memory.add`."""
    text = files(__name__).joinpath("conversation.json").read_text("utf-8")
    found: list[dict[str, Any]] = json.loads(text)
    return found


def analysis() -> str:
    """The SQL that an analyst would run."""
    return files(__name__).joinpath("who.sql").read_text("utf-8").strip()


def clear(memory: Memory) -> None:
    """Empty the demo's tenant; InputError when it holds what the demo did not put there."""
    others = [scope["id"] for scope in memory.scopes() if scope["id"] != USER]
    if others:
        raise InputError(
            f"tenant {TENANT} holds memories of {', '.join(sorted(others)[:3])}, which are not the "
            "demo's and would be lost",
            suggestion="Run the demo on another database, or without --dsn.",
        )
    memory.reset()


def correction(text: str) -> str:
    """What the memory that `CORRECTED` finds says from now on."""
    changed = text.replace(FORMERLY, NOW)
    return changed if changed != text else f"{USER.title()} drinks {NOW} every morning."
