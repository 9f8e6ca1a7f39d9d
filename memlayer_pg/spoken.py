"""What a language model says aloud: its answer without the thoughts before it.

Models put thoughts in tags (`<think>`), some servers swallow the opening tag, others use channels
(`<|channel|>analysis`). A thought must never be stored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from memlayer_pg import lenient
from memlayer_pg.errors import LLMError
from memlayer_pg.lenient import Value

FAILED = "LLM extraction failed"
TAGS = r"think|thinking|thought|thoughts|reasoning|reflection|analysis|scratchpad"
OPENED = re.compile(rf"<({TAGS})\b[^<>]*>", re.IGNORECASE)
CLOSED = re.compile(rf"</({TAGS})\s*>", re.IGNORECASE)
CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)[^<]*<\|message\|>")
TOKEN = re.compile(r"<\|[a-z_]+\|>")
FENCE = re.compile(r"\A\s*```[\w-]*\s*(.*?)\s*```\s*\Z", re.DOTALL)
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f]")


@dataclass(frozen=True, slots=True)
class Spoken:
    """What a model said aloud; `thinking` when a thought was opened and never closed, so that the
    end of it cannot be told."""

    text: str
    thinking: bool = False


def spoken(text: str | None, finish_reason: str | None = None, failed: str = FAILED) -> Spoken:
    """An answer without what the model thought; LLMError when nothing is left.

    `failed`: how the message of the error begins.
    """
    answer = Spoken((text or "").lstrip("\ufeff").strip())
    if lenient.whole(answer.text) is None and fenced(answer.text) is None:
        answer = _aloud(answer.text)
    if answer.text:
        return answer
    if finish_reason == "length":
        raise unreadable("the answer is empty: the model used up its tokens", "length", "", failed)
    if finish_reason == "content_filter":
        raise unreadable(
            "the answer is empty: a content filter held it back", "content_filter", "", failed
        )
    raise unreadable("the answer is empty", "empty", "", failed)


def clean(text: str) -> str:
    """A model's text as Postgres can keep it: no NUL or other control characters (line breaks and
    tabs stay), halves of surrogate pairs joined or replaced, no blanks around it."""
    text = UNPRINTABLE.sub("", text)
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.strip()


def _aloud(text: str) -> Spoken:
    if "<|" in text:
        return _channelled(text)
    said: list[str] = []
    position = 0
    while opened := OPENED.search(text, position):
        said.append(text[position : opened.start()])
        closed = CLOSED.search(text, opened.end())
        if closed is None:
            return Spoken(("".join(said) + text[opened.end() :]).strip(), thinking=True)
        position = closed.end()
    rest = "".join(said) + text[position:]
    # Some servers swallow the tag that opens a thought.
    closings = [closed.end() for closed in CLOSED.finditer(rest)]
    return Spoken(rest[closings[-1] if closings else 0 :].strip())


def _channelled(text: str) -> Spoken:
    """The final channel of an answer in channels; all of it, as a thought, when there is none."""
    final = [found for found in CHANNEL.finditer(text) if found.group(1) == "final"]
    aloud = TOKEN.sub(" ", text[final[-1].end() :] if final else text).strip()
    return Spoken(aloud, thinking=not final and "<|channel|>" in text)


def fenced(text: str) -> Value | None:
    """The JSON value that is the whole of a fenced block that is the whole of a text."""
    fence = FENCE.match(text)
    return lenient.whole(fence.group(1)) if fence else None


def unreadable(problem: str, reason: str, text: str, failed: str = FAILED) -> LLMError:
    """The excerpt is for whoever debugs; it may hold what people said, so no message shows it."""
    return LLMError(
        f"{failed}: {problem}",
        details={"reason": reason},
        debug_info={"excerpt": text[:200]} if text else None,
    )
