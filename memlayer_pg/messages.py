"""What was said, from the many shapes chat programs keep it in.

A message is kept when it has text. System and developer messages are kept as "system"; content
parts are joined, images and other parts that are no text are left out with a log line.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memlayer_pg.checks import storable
from memlayer_pg.errors import InputError, ValidationError

log = logging.getLogger("memlayer_pg")


@dataclass(frozen=True, slots=True)
class Message:
    """One message with text: who spoke ("user", "assistant", "system", "tool", …), and his name."""

    role: str
    content: str
    name: str | None = None


def conversation(given: object) -> list[Message]:
    """The messages of `add` that have text; ValidationError VALIDATION_003 for another type."""
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
    elif isinstance(given, Mapping):
        given = [given]
    if not isinstance(given, list) or not all(isinstance(item, Mapping) for item in given):
        raise ValidationError(
            "messages must be str, dict, or list[dict]",
            "VALIDATION_003",
            {"provided_type": type(given).__name__, "valid_types": ["str", "dict", "list[dict]"]},
            "Convert your input to a string, dictionary, or list of dictionaries.",
        )
    found = (_message(f"messages[{n}]", item) for n, item in enumerate(given))
    return [message for message in found if message is not None]


def _message(where: str, given: Mapping[str, Any]) -> Message | None:
    role = given.get("role")
    if not isinstance(role, str) or not role.strip():
        raise InputError(f"{where}: needs a role such as 'user'")
    name = given.get("name")
    if name is not None and not isinstance(name, str):
        raise InputError(f"{where}.name: must be a string, not {type(name).__name__}")
    text = _text(f"{where}.content", given.get("content"))
    if not text.strip():
        return None
    return Message(
        role="system" if role == "developer" else storable(f"{where}.role", role),
        content=storable(f"{where}.content", text),
        name=storable(f"{where}.name", name) if name else None,
    )


def _text(where: str, content: object) -> str:
    """The text of a message's content: a text, a part, or a list of both."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return _part(where, content)
    if isinstance(content, list | tuple):
        texts = [_text(f"{where}[{n}]", part) for n, part in enumerate(content)]
        return " ".join(text for text in texts if text)
    raise InputError(f"{where}: must be text or content parts, not {type(content).__name__}")


def _part(where: str, part: Mapping[str, Any]) -> str:
    for key in ("text", "content"):  # text parts, then the results of tools
        if isinstance(part.get(key), str | list | tuple):
            return _text(f"{where}.{key}", part[key])
    log.info("%s: a part of type %.40r has no text and is left out", where, part.get("type"))
    return ""
