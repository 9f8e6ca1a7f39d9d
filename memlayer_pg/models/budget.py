"""What an embedder gets to see of the texts.

A text longer than the model's window is embedded by its beginning; it is stored and indexed by
words in full. Tokens are estimated, on the high side: 0.4 for an ASCII character, half a token for
each UTF-8 byte of any other (1.5 for a Chinese character, where tokenizers need about 1.2).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memlayer_pg.effects import Purpose

WINDOW = 8000
"""Tokens of one text that are embedded unless the endpoint turns out to take fewer."""

NARROWEST = 250
"""Tokens below which a refusal for length is not believed."""

REQUEST_TOKENS = 200_000
REQUEST_TEXTS = 128

ASCII_TOKENS = 0.4
BYTE_TOKENS = 0.5
STEP = re.compile(r"[\x00-\x7f]+|[^\x00-\x7f]+")


def estimate(text: str) -> float:
    """About how many tokens a text has, rather too many than too few."""
    if text.isascii():
        return len(text) * ASCII_TOKENS
    size = len(text.encode("utf-8", "replace"))
    plain = sum(len(run) for run in re.findall(r"[\x00-\x7f]+", text))
    return plain * ASCII_TOKENS + (size - plain) * BYTE_TOKENS


def shortened(text: str, tokens: float = WINDOW) -> str:
    """The beginning of a text that has about so many tokens; the text itself when it has fewer."""
    if len(text) * 4 * BYTE_TOKENS <= tokens or estimate(text) <= tokens:
        return text
    end, left = 0, tokens
    for run in STEP.finditer(text):
        piece = run.group()
        each = estimate(piece) / len(piece)
        if each * len(piece) > left:
            return text[: max(1, end + int(left / each))]
        left -= each * len(piece)
        end = run.end()
    return text


def batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in order, in groups that one request can carry."""
    group: list[str] = []
    tokens = 0.0
    for text in texts:
        size = estimate(text)
        if group and (len(group) == REQUEST_TEXTS or tokens + size > REQUEST_TOKENS):
            yield group
            group, tokens = [], 0.0
        group.append(text)
        tokens += size
    if group:
        yield group


def split(texts: list[str], purpose: Purpose) -> tuple[list[str], list[str]]:
    """Which texts are questions and which are not: the names behind a question are compared with
    names that were stored, so they are embedded the way those were."""
    return (texts[:1], texts[1:]) if purpose == "query" else ([], texts)
