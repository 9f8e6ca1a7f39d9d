"""From the language model's answer to facts: what can be saved is saved, the rest is said.

| the answer | becomes |
|---|---|
| JSON in fences, in prose, after thinking aloud, slightly broken, cut short | its complete facts |
| `{"facts": []}`, `[]`, `{}`, `null`, a fact list that is null | no facts: there was nothing |
| facts under other names, as texts, as objects with other keys, a bare list or text | facts |
| a fact that is blank, or no text (a number, a list) | left out, with a warning |
| an empty answer, whatever it ended for; prose without JSON; an object without facts | LLMError |

An answer is never taken for "nothing to record" unless it says so. `details["reason"]` of the error
is "empty", "length", "content_filter" or "unreadable".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from memlayer_pg import lenient
from memlayer_pg.checks import blank
from memlayer_pg.lenient import Value
from memlayer_pg.prompts import ENTITY_TYPES, LINK_KINDS, SPEAKERS
from memlayer_pg.spoken import FENCE, Spoken, clean, fenced, spoken, unreadable

OURS = ("facts", "memory", "memories", "extracted_facts", "extracted_memories", "new_facts")
FACTS = (*OURS, "results", "items", "data", "output", "answer", "response")
TEXTS = ("text", "fact", "memory", "content", "statement", "value", "data")
TYPES = {
    "people": "person", "human": "person", "animal": "person", "pet": "person",
    "location": "place", "city": "place", "country": "place", "address": "place",
    "org": "organization", "organisation": "organization", "company": "organization",
    "work": "product", "brand": "product", "software": "product",
}  # fmt: skip
NOTHING = object()
NOBODY = {"user", "assistant", "the user", "the assistant", "ai", "system"}
LONGEST_NAME = 100
MOST_ENTITIES = 16


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact: its text, who said it ("user", "assistant" or None when unknown), what it names as
    (name, type), and the numbers of existing memories it is about as (number, kind)."""

    text: str
    attributed_to: str | None = None
    entities: list[tuple[str, str]] = field(default_factory=list)
    links: list[tuple[int, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Extracted:
    """The facts of an answer, no text twice; and in words what of it could not be used."""

    facts: list[Fact]
    warnings: list[str]


def facts(text: str | None, *, finish_reason: str | None = None) -> Extracted:
    """The facts that an answer holds; LLMError when nothing of it can be read.

    `finish_reason` "length" or "content_filter" says that the answer was cut: what is complete is
    kept, with a warning.
    """
    answer = spoken(text, finish_reason)
    found = list(_answers(answer))
    stopped = finish_reason if finish_reason in ("length", "content_filter") else None
    cut = any(value.cut for value in found)
    items = [item for value in found for item in _items(value.value) or []]
    if not items and (cut or (stopped and not found)):
        raise unreadable("the answer broke off before its first fact", stopped or "unreadable", "")
    if not found:
        raise unreadable("the answer holds no facts in JSON", "unreadable", answer.text)
    warnings: list[str] = []
    if stopped or cut:
        warnings.append(f"the answer broke off ({stopped or 'unfinished JSON'})")
    kept: dict[str, Fact] = {}
    for number, item in enumerate(items, 1):
        fact = _fact(item)
        if isinstance(fact, str):
            warnings.append(f"fact {number} of the answer was left out: {fact}")
        else:
            kept[fact.text] = _merged(kept.get(fact.text), fact)
    return Extracted(list(kept.values()), warnings)


def plain(text: str | None, *, finish_reason: str | None = None) -> str:
    """An answer meant to be text, without thinking and fences; LLMError when it is empty."""
    answer = spoken(text, finish_reason)
    if answer.thinking:
        raise unreadable("the answer ended while the model was thinking", "empty", "")
    fence = FENCE.match(answer.text)
    body = clean(fence.group(1) if fence else answer.text)
    if not body:
        raise unreadable("the answer is empty", "empty", "")
    return body


def _answers(answer: Spoken) -> Iterator[Value]:
    """The JSON values that answer; of an unfinished thought only the last, the others are drafts.

    Two fenced blocks are two parts of an answer. What only looks like JSON in prose is passed over.
    """
    single = lenient.whole(answer.text) or fenced(answer.text)
    if single is not None and not isinstance(single.value, bool | int | float):
        if not isinstance(single.value, dict) or _items(single.value) is not None:
            yield single
        return
    found = [
        value
        for value in lenient.values(answer.text)
        if _items(value.value) is not None and not _is_footnote(value.value)
    ]
    telling = [value for value in found if value.value]
    yield from (telling or found)[-1 if answer.thinking else 0 :]


def _is_footnote(value: Any) -> bool:
    """Whether this is the `[1]` of a prose text and no list of facts."""
    return isinstance(value, list) and any(
        not isinstance(item, str | dict | list | None) for item in value
    )


def _items(value: Any) -> list[Any] | None:
    """The facts of an answer, whatever it calls them and however it holds them; None when this is
    no answer."""
    if value is None or value in ({}, []):
        return []
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        return [value]
    lower = {str(key).lower(): inner for key, inner in value.items()}
    for key in FACTS:
        if isinstance(lower.get(key), list):
            return list(lower[key])
    if _text(lower) is not None:
        return [value]
    for key in FACTS:
        inner = lower.get(key, NOTHING)
        if inner is not NOTHING and (key in OURS or isinstance(inner, dict)):
            return _items(inner)
    if all(str(key).isdigit() for key in value):
        return list(value.values())
    return None


def _fact(item: Any) -> Fact | str:
    """A fact, or why there is none."""
    if isinstance(item, str):
        item = {"text": item}
    if not isinstance(item, dict):
        return f"it is a {type(item).__name__}, not a text"
    lower = {str(key).lower(): value for key, value in item.items()}
    event = str(lower.get("event") or "ADD").upper()
    if event not in ("ADD", "UPDATE"):
        return f"it asks for {event[:20]!r}, and an add only adds"
    text = _text(lower)
    if text is None:
        return "it has no text"
    text = clean(text)
    if blank(text.replace("\ufffd", "")):
        return "it is blank"
    said_by = str(lower.get("attributed_to") or "").strip().lower()
    links = list(_links(lower.get("links")))
    links += [(number, "related") for number in _numbers(lower.get("linked_memory_ids"))]
    if event == "UPDATE":
        links += [(number, "updates") for number in _numbers([lower.get("id")])]
    return Fact(
        text=text,
        attributed_to=said_by if said_by in SPEAKERS else None,
        entities=list(_entities(lower.get("entities"))),
        links=list(dict(links).items()),
    )


def _text(item: dict[str, Any]) -> str | None:
    return next((item[key] for key in TEXTS if isinstance(item.get(key), str)), None)


def _entities(given: Any) -> Iterator[tuple[str, str]]:
    """What a fact names, each name once; (name, type) pairs, objects and bare names are read."""
    seen: set[str] = set()
    for item in given if isinstance(given, list) else []:
        kind: Any = None
        name = item
        if isinstance(item, dict):
            name, kind = (
                item.get("name") or item.get("text") or item.get("entity"),
                item.get("type"),
            )
        elif isinstance(item, list) and len(item) == 2:
            name, kind = item
        if not isinstance(name, str):
            continue
        name = " ".join(clean(name).split())
        folded = name.casefold()
        if not name or len(name) > LONGEST_NAME or folded in seen or folded in NOBODY:
            continue
        seen.add(folded)
        kind = str(kind or "").strip().lower()
        kind = TYPES.get(kind, kind)
        yield name, kind if kind in ENTITY_TYPES else "thing"
        if len(seen) == MOST_ENTITIES:
            return


def _links(given: Any) -> Iterator[tuple[int, str]]:
    """The memories a fact is about; whether such numbers were offered, the caller knows."""
    for item in given if isinstance(given, list) else []:
        kind = str(item.get("kind") or "").lower() if isinstance(item, dict) else ""
        for number in _numbers([item.get("id") if isinstance(item, dict) else item]):
            yield number, kind if kind in LINK_KINDS else "related"


def _numbers(given: Any) -> Iterator[int]:
    for item in given if isinstance(given, list) else []:
        if isinstance(item, int) and not isinstance(item, bool):
            yield item
        elif isinstance(item, str) and re.fullmatch(r"\s*\[?\d{1,9}\]?\s*", item):
            yield int(item.strip(" []"))


def _merged(known: Fact | None, fact: Fact) -> Fact:
    """Two facts of one text as one."""
    if known is None:
        return fact
    names = {name.casefold() for name, _ in known.entities}
    return replace(
        known,
        attributed_to=known.attributed_to or fact.attributed_to,
        entities=known.entities + [e for e in fact.entities if e[0].casefold() not in names],
        links=list((dict(fact.links) | dict(known.links)).items()),
    )
