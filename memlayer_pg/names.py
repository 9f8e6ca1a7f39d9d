"""Names in a text, without a model: for the entities of a query, and of what is stored verbatim.

Finds what is quoted (also in 《》「」『』 and the like), identifiers (AC-123, config.py, a@b.org),
and runs of capitalised words (with "of", "de", "van" between them). It only proposes: a name that
the database does not know costs nothing, so a doubtful one is kept, but for words that usually
begin a sentence. Scripts without capitals are found by their quotation marks; names that are known
in the scope are found by the database itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memlayer_pg.common_words import COMMON

SCANNED = 20_000
"""Characters of a text that are looked at."""
LONGEST = 100
SHORTEST = 2

QUOTES = (
    ("《", "》"), ("〈", "〉"), ("「", "」"), ("『", "』"), ("【", "】"),
    ("\u201c", "\u201d"), ("\u201e", "\u201c"), ("«", "»"), ("»", "«"), ('"', '"'),
)  # fmt: skip
QUOTED = re.compile(
    "|".join(
        f"{re.escape(start)}([^{re.escape(start + end)}\n]{{1,{LONGEST}}}){re.escape(end)}"
        for start, end in QUOTES
    )
    + r"|(?:(?<=\s)|^)['\u2018]([^'\u2018\u2019\n]{2,60})['\u2019](?=[\s.,;:!?)]|$)",
    re.MULTILINE,
)
CJK = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\u0e00-\u0e7f"
LETTER = rf"[^\W_{CJK}]"
WORD = re.compile(rf"{LETTER}(?:{LETTER}|['\u2019&.\-_/@+#](?={LETTER}))*[+#]{{0,2}}")
IDENTIFIER = re.compile(
    r"[a-z0-9._%+\-]+@[a-z0-9\-]+(\.[a-z0-9\-]+)+"  # a@b.org
    r"|[\w\-]+([._/][\w\-]+)+"  # a.b.c, snake_case, a/b
    r"|[a-z]+[\-_]?\d[\w\-]*"  # AC-123, gpt4
    r"|\d+[\-_]?[a-z][\w\-]*",  # 3M, 737-MAX
    re.IGNORECASE,
)
CAMEL = re.compile(r"[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*")
MEASURE = re.compile(r"\d+(st|nd|rd|th|am|pm|h|s|kg|km|cm|mm|m|g|ml|l|k|x)", re.IGNORECASE)
NUMBER = re.compile(r"[\d.,:/\-]+")
TOKEN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.%+\-/@]*[A-Za-z0-9_]")
POSSESSIVE = re.compile(r"['\u2019]s?$")
CONTRACTED = re.compile(r"['\u2019](m|s|re|ve|ll|d|t)$", re.IGNORECASE)
GAP = re.compile(r"[ \t]{1,2}| ?& ?")
TITLE = re.compile(r"(?:Dr|Mr|Mrs|Ms|Prof|St|Jr|Sr|Mt)\. ?|(?:[A-Z])\. ")

INNER = """
of the de del della di da do dos das du des la le les el los las van von der den het ter bin ibn al
zu zum zur
"""
CONNECTORS = frozenset(INNER.split())
Span = tuple[int, int, int, str]
"""Rank (lower is better), start, end, text."""


def candidates(text: str, limit: int = 8) -> list[str]:
    """At most `limit` names in a text, in its order, no name twice whatever its case."""
    text = text[:SCANNED]
    spans = sorted([*_quoted(text), *_identifiers(text), *_capitalised(text)])
    kept: list[Span] = []
    seen: set[str] = set()
    for span in spans:
        _, start, end, name = span
        folded = name.casefold()
        if len(kept) == limit:
            break
        if folded in seen or any(start < k_end and k_start < end for _, k_start, k_end, _ in kept):
            continue
        seen.add(folded)
        kept.append(span)
    return [name for _, _, _, name in sorted(kept, key=lambda span: span[1])]


def _quoted(text: str) -> Iterator[Span]:
    for found in QUOTED.finditer(text):
        inner = next(group for group in found.groups() if group is not None).strip(" ,.;")
        if len(inner) >= SHORTEST and len(inner.split()) <= 8:
            yield 0, found.start(), found.end(), inner


def _identifiers(text: str) -> Iterator[Span]:
    for found in TOKEN.finditer(text):
        word = found.group()
        if NUMBER.fullmatch(word) or MEASURE.fullmatch(word):
            continue  # a number, a date, a time, an amount
        if IDENTIFIER.fullmatch(word) or CAMEL.fullmatch(word):
            yield 2, found.start(), found.end(), word


def _capitalised(text: str) -> Iterator[Span]:
    """Runs of capitalised words; a common word at either end of a run is no part of it."""
    words = [(found.start(), found.end(), found.group()) for found in WORD.finditer(text)]
    letters = [word for _, _, word in words if len(word) > 2]
    if len(letters) > 3 and sum(word.isupper() for word in letters) > len(letters) / 2:
        return  # all of it is shouted: capitals mean nothing
    run: list[tuple[int, int, str]] = []
    for word in words:
        joins = bool(run) and _joins(run[-1][2], text[run[-1][1] : word[0]])
        if run and not (joins and (_is_name(word[2]) or word[2].lower() in CONNECTORS)):
            yield from _run(text, run)
            run = []
        if run or _is_name(word[2]):
            run.append(word)
    yield from _run(text, run)


def _joins(word: str, gap: str) -> bool:
    """Whether two words with this between them may be one name: "Dr. Smith", "Barnes & Noble"."""
    if POSSESSIVE.search(word):
        return False
    return GAP.fullmatch(gap) is not None or TITLE.fullmatch(word + gap) is not None


def _run(text: str, run: list[tuple[int, int, str]]) -> Iterator[Span]:
    while run and (not _is_name(run[-1][2]) or _is_common(run[-1][2])):
        run = run[:-1]
    while run and (not _is_name(run[0][2]) or _is_common(run[0][2])):
        run = run[1:]
    if not run:
        return
    start, end = run[0][0], run[-1][1]
    name = POSSESSIVE.sub("", " ".join(text[start:end].split()))
    if SHORTEST <= len(name) <= LONGEST:
        yield (1 if len(run) > 1 else 3), start, end, name


def _is_name(word: str) -> bool:
    return word[0].isupper() or (word[0].islower() and word[1:2].isupper())


def _is_common(word: str) -> bool:
    lower = word.lower().replace("\u2019", "'")
    return lower in COMMON or CONTRACTED.sub("", lower) in COMMON
