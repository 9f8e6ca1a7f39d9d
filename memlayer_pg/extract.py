"""What was said, from the many shapes in which chat programs keep it.

| role given | kept as | what it counts for |
|---|---|---|
| user, human | user | a source of facts |
| assistant, ai, model | assistant | a source of what the assistant recommended, found or promised |
| system, developer | system | background; shown to the extractor, never stored as a memory |
| tool, function | tool | results; shown to the extractor, cut after 4,000 characters |
| any other | itself, lower case | a source of facts, by that name |

A message without text is left out: no content, blank content, only images or tool calls.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from memlayer_pg.checks import blank, instant, storable
from memlayer_pg.errors import InputError, ValidationError

log = logging.getLogger("memlayer_pg")

ROLES = {
    "human": "user",
    "ai": "assistant",
    "model": "assistant",
    "developer": "system",
    "function": "tool",
}
TEXT_KEYS = ("text", "content", "output", "result")
WHEN = ("timestamp", "created_at")
DEEPEST = 100
"""Levels of lists and parts in the content of a message."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message that has text: the role it was said in, the speaker's name where it is known,
    and when it was said (in UTC), where the message itself tells."""

    role: str
    content: str
    name: str | None = None
    created_at: datetime | None = None


def normalise(messages: object) -> list[Message]:
    """The messages given to `add` that have text: a text, a message, or a list of messages.

    ValidationError VALIDATION_003 for anything else, InputError for a message that cannot be read,
    NotStorable for characters that Postgres cannot keep.
    """
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    elif isinstance(messages, Mapping):
        messages = [messages]
    if not isinstance(messages, list) or not all(isinstance(item, Mapping) for item in messages):
        raise ValidationError(
            "messages must be str, dict, or list[dict]",
            "VALIDATION_003",
            {"provided_type": _kind(messages), "valid_types": ["str", "dict", "list[dict]"]},
            "Convert your input to a string, dictionary, or list of dictionaries.",
        )
    found = (_message(f"messages[{n}]", item) for n, item in enumerate(messages))
    return [message for message in found if message is not None]


def parse_timestamp(value: object, name: str = "timestamp") -> datetime:
    """A moment in UTC, from seconds since 1970, ISO 8601 text, a date or a datetime.

    What names no time zone is UTC. InputError for anything else, None included.
    """
    moment = instant(name, value)
    if moment is None:
        raise InputError(f"{name} must not be None")
    return moment.astimezone(UTC)


def _message(where: str, given: Mapping[str, Any]) -> Message | None:
    role = given.get("role")
    if not isinstance(role, str) or blank(role):
        raise InputError(f"{where}: needs a role such as 'user'")
    name = given.get("name")
    if name is not None and not isinstance(name, str):
        raise InputError(f"{where}.name: must be a string, not {type(name).__name__}")
    text = _text(f"{where}.content", given.get("content"))
    if blank(text):
        return None
    moment = next((given[key] for key in WHEN if given.get(key) is not None), None)
    role = role.strip().lower()
    return Message(
        role=storable(f"{where}.role", ROLES.get(role, role)),
        content=storable(f"{where}.content", text),
        name=storable(f"{where}.name", name.strip()) if name and not blank(name) else None,
        created_at=None if moment is None else parse_timestamp(moment, f"{where}.timestamp"),
    )


def _text(where: str, content: object, depth: int = 0) -> str:
    """The text of a content: a text, a part, or a list of both, joined by a space."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if depth > DEEPEST:
        raise InputError(f"{where:.80}: more than {DEEPEST} levels deep")
    if isinstance(content, list | tuple):
        texts = [_text(f"{where}[{n}]", part, depth + 1) for n, part in enumerate(content)]
        return " ".join(text for text in texts if not blank(text))
    if isinstance(content, Mapping):
        return _part(where, content, depth + 1)
    raise InputError(f"{where}: must be text or content parts, not {type(content).__name__}")


def _part(where: str, part: Mapping[str, Any], depth: int) -> str:
    """The text of a part; the data of one that has no type, which is how tools answer."""
    for key in TEXT_KEYS:
        if isinstance(part.get(key), str | list | tuple):
            return _text(f"{where}.{key}", part[key], depth)
    if part and "type" not in part:
        try:
            return json.dumps(dict(part), ensure_ascii=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise InputError(f"{where}: must be text, content parts or JSON") from error
    log.info("%s: a part of type %.40r has no text and is left out", where, part.get("type"))
    return ""


def _kind(messages: object) -> str:
    """The type of what was given, as the error names it."""
    if isinstance(messages, list):
        wrong = next(item for item in messages if not isinstance(item, Mapping))
        return f"list[{type(wrong).__name__}]"
    return type(messages).__name__
