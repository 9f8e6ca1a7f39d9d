"""Reading conversations from a file: the three shapes that `memlayer add --file` takes."""

from __future__ import annotations

import json
from typing import Any

from memlayer_pg.cli.failures import WrongUse

SHAPES = (
    "a JSON list of messages, a JSON list of conversations, or one conversation "
    '{"messages": […], "user_id": "…"} a line'
)


def parse(text: str, name: str) -> list[dict[str, Any]]:
    """The conversations in a file's text, each as arguments of `add`; WrongUse names the place.

    `name` is the file's, for the message.
    """
    try:
        found = json.loads(text)
    except ValueError as error:
        found = _lines(text, name, error)
    if isinstance(found, dict):
        found = [found]
    if not isinstance(found, list):
        raise WrongUse(f"{name} holds no conversations", f"a file holds {SHAPES}")
    if found and all(_is_message(item) for item in found):
        return [{"messages": found}]
    return [_conversation(item, f"{name}, conversation {n}") for n, item in enumerate(found, 1)]


def _lines(text: str, name: str, whole: ValueError) -> list[Any]:
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            found.append(json.loads(line))
        except ValueError as error:
            # A file whose first line is no JSON by itself was meant to be one value.
            reason = error if found else whole
            raise WrongUse(
                f"{name} is not JSON: {reason}" + (f", in line {number}" if found else ""),
                f"a file holds {SHAPES}",
            ) from None
    return found


def _is_message(item: object) -> bool:
    return isinstance(item, dict) and "role" in item and "messages" not in item


def _conversation(item: object, where: str) -> dict[str, Any]:
    if isinstance(item, list) and all(_is_message(message) for message in item):
        return {"messages": item}
    if isinstance(item, dict) and "messages" in item:
        return item
    raise WrongUse(f"{where}: there are no messages", f"a file holds {SHAPES}")
