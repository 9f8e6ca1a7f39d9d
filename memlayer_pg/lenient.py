"""JSON as language models write it.

Reads what `json` reads, and: trailing, missing and doubled commas, single and typographic quotes,
bare keys, comments, raw line breaks, unescaped quotes inside a text, escapes that are none, None,
True, NaN, and text that breaks off (what was complete up to there is kept).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

DEEPEST = 64
MOST_STARTS = 400
"""Brackets tried as the start of a value before a text is given up."""

CLOSING = {'"': '"', "'": "'", "\u201c": "\u201d", "\u2018": "\u2019"}
ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
BRACKET = re.compile(r"[{\[]")
BLANK = re.compile(r"(?:[\s,\ufeff]|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
SPACE = re.compile(r"\s*")
WORD = re.compile(r"[^\s,:\[\]{}\"'\u201c\u201d]+")
PLAIN = re.compile(r"[^\"'\u201c\u201d\u2018\u2019\\]+")
HEX = re.compile(r"[0-9a-fA-F]{4}")
CONSTANTS: dict[str, Any] = {
    "true": True, "false": False, "null": None, "none": None, "undefined": None,
    "nan": None, "infinity": None, "-infinity": None, "inf": None, "-inf": None,
}  # fmt: skip

STRICT = json.JSONDecoder(strict=False)


class Unreadable(ValueError):
    """This is not JSON, however kindly read."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value found in a text; `cut` when the text ended inside it."""

    value: Any
    cut: bool = False


def whole(text: str) -> Value | None:
    """The text as one correct JSON value; None when it is not one."""
    try:
        return Value(json.loads(text, strict=False))
    except (ValueError, RecursionError):
        return None


def values(text: str) -> Iterator[Value]:
    """The objects and lists that stand in a text, whatever stands around them."""
    position = 0
    for _ in range(MOST_STARTS):
        bracket = BRACKET.search(text, position)
        if bracket is None:
            return
        start = bracket.start()
        try:
            value, position = STRICT.raw_decode(text, start)
        except (ValueError, RecursionError):
            reader = _Reader(text, start)
            try:
                value = reader.value(0)
            except Unreadable:
                position = start + 1
                continue
            except _Cut as cut:
                yield Value(cut.partial, cut=True)
                return
            position = reader.at
        yield Value(value)


class _Cut(Exception):
    """The text ended here; `partial` is what was complete, `NOTHING` when that is nothing."""

    def __init__(self, partial: Any) -> None:
        super().__init__()
        self.partial = partial


NOTHING = object()


@dataclass(slots=True)
class _Reader:
    """Reads one value from `at` on."""

    text: str
    at: int

    def value(self, depth: int) -> Any:
        if depth > DEEPEST:
            raise Unreadable("nested too deeply")
        letter = self._peek()
        if letter == "{":
            return self._object(depth)
        if letter == "[":
            return self._list(depth)
        if letter in CLOSING:
            return self._string()
        return self._word()

    def _list(self, depth: int) -> list[Any]:
        found: list[Any] = []
        self.at += 1
        while True:
            try:
                if self._peek() == "]":
                    self.at += 1
                    return found
                found.append(self.value(depth + 1))
            except _Cut as cut:
                if cut.partial is not NOTHING:
                    found.append(cut.partial)
                raise _Cut(found) from None

    def _object(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self.at += 1
        while True:
            key: str | None = None
            try:
                letter = self._peek()
                if letter == "}":
                    self.at += 1
                    return found
                key = self._string() if letter in CLOSING else self._match(WORD)
                if self._peek() != ":":
                    raise Unreadable("a key without a value")
                self.at += 1
                found[key] = self.value(depth + 1)
            except _Cut as cut:
                if key is not None and cut.partial is not NOTHING:
                    found[key] = cut.partial
                raise _Cut(found) from None

    def _string(self) -> str:
        closing = CLOSING[self.text[self.at]]
        self.at += 1
        parts: list[str] = []
        while self.at < len(self.text):
            plain = PLAIN.match(self.text, self.at)
            if plain:
                parts.append(plain.group())
                self.at = plain.end()
                continue
            letter = self.text[self.at]
            if letter == "\\":
                parts.append(self._escape())
            elif letter == closing and self._ends_here():
                self.at += 1
                return "".join(parts)
            else:
                parts.append(letter)
                self.at += 1
        raise _Cut(NOTHING)

    def _ends_here(self) -> bool:
        """Whether the quote at this place closes the text: after it something has to come that can
        follow a text. A quote inside a text is rarely followed by that."""
        after = SPACE.match(self.text, self.at + 1)
        end = after.end() if after else self.at + 1
        return (
            end == len(self.text)
            or self.text[end] in ",:]}"
            or self.text[end : end + 2]
            in (
                "//",
                "/*",
            )
        )

    def _escape(self) -> str:
        """What a backslash stands for; a broken \\u is U+FFFD, any other unknown one stays."""
        letter = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        if letter != "u":
            return ESCAPES.get(letter, letter if letter in "\"'\\/\n" else f"\\{letter}")
        digits = HEX.match(self.text, self.at)
        if digits:
            self.at = digits.end()
            return chr(int(digits.group(), 16))
        while self.at < len(self.text) and self.text[self.at] in "0123456789abcdefABCDEF":
            self.at += 1
        return "\ufffd"

    def _word(self) -> Any:
        word = self._match(WORD)
        if word.lower() in CONSTANTS:
            return CONSTANTS[word.lower()]
        try:
            return int(word) if re.fullmatch(r"-?\d{1,18}", word) else float(word)
        except ValueError:
            raise Unreadable(f"not a value: {word[:20]}") from None

    def _match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if found is None:
            raise Unreadable("something else was expected")
        self.at = found.end()
        if self.at == len(self.text):
            raise _Cut(NOTHING)
        return found.group()

    def _peek(self) -> str:
        """The next letter that is no blank, comma or comment."""
        blank = BLANK.match(self.text, self.at)
        self.at = blank.end() if blank else self.at
        if self.at >= len(self.text):
            raise _Cut(NOTHING)
        return self.text[self.at]
