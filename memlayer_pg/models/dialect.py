"""What one endpoint does not understand, learnt from its refusals.

OpenAI-compatible servers differ in the parameters they take, and lists of model names go stale. So
everything that was asked for is sent first; what the server names in a refusal is left out, or
said in another way, and the request is made again. The outcome is remembered.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from memlayer_pg.models.client import Answer, Conversation, Request

log = logging.getLogger("memlayer_pg")

Format = Literal["json_schema", "json_object", "plain"]

FORMAT = "response_format"
RENAMED = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
SAYING = ("param", "code", "message", "msg", "type", "loc", "detail", "error", "errors", "reason")
FORMAT_WORDS = (
    r"response[_ ]format|json[_ ]schema|json[_ ]object|json[_ ]mode|structured[_ ]outputs?"
)
ABOUT_THE_KIND = re.compile(r"schema|(?<![a-z])type|(?<![a-z])value")
UNSAID = re.compile(
    r"unknown|unrecogni[sz]ed|unexpected|unsupported|not supported|not permitted|not allowed"
    r"|invalid (request|param|argument)|extra|bad request|unprocessable"
)
OTHER_TROUBLE = re.compile(
    r"context|too long|token|model|polic|filter|key|quota|billing|image|role"
)
TOO_LONG = re.compile(
    r"context.?(length|window|size)|too (long|large|many tokens)|longer than|above_max"
    r"|max\w*\b.{0,40}(token|length|char|input|sequence)"
    r"|(token|length|char|input|sequence).{0,60}(exceed|limit|maximum|larger)|exceed.{0,40}(token|length|char|limit)"
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """How to speak to an endpoint: the best `response_format` it takes, which parameters it
    refuses, which it wants by another name."""

    format: Format = "json_schema"
    dropped: frozenset[str] = frozenset()
    renamed: frozenset[str] = frozenset()

    def spoken(self, wanted: dict[str, Any]) -> dict[str, Any]:
        """The optional parameters as this endpoint takes them."""
        sent: dict[str, Any] = {}
        for name, value in wanted.items():
            if name == FORMAT and self.format != "json_schema":
                if self.format == "json_object":
                    sent[name] = {"type": "json_object"}
                continue
            known = RENAMED[name] if name in self.renamed else name
            if known not in self.dropped:
                sent[known] = value
        return sent

    def without(self, name: str, said: str) -> Dialect:
        """This dialect after `name`, as it was sent, has been refused in these words."""
        if name == FORMAT:
            kind_only = self.format == "json_schema" and ABOUT_THE_KIND.search(said)
            stubborn = re.search(r"must be.{0,20}json_schema", said)
            return replace(self, format="json_object" if kind_only and not stubborn else "plain")
        if name in RENAMED and not self.renamed & {name, RENAMED[name]}:
            return replace(self, renamed=self.renamed | {name})
        return replace(self, dropped=self.dropped | {name})


def negotiate(
    path: str, required: dict[str, Any], wanted: dict[str, Any], dialect: Dialect
) -> Conversation[tuple[Answer, Dialect]]:
    """Post, leaving out what the endpoint refuses; the last answer, and the dialect it was in.

    Ends because every refusal leaves less to refuse. A refusal that does not say of what is
    answered with the bare request, once.
    """
    while True:
        sent = dialect.spoken(wanted)
        answer = yield Request(path, {**required, **sent})
        said = refusal(answer)
        if said is None:
            return answer, dialect
        name = refused(answer.body, said, sent)
        if name is not None:
            log.info("the model's endpoint refuses %s: asking again without or renamed", name)
            dialect = dialect.without(name, said)
        elif sent and vague(answer, said):
            bare = Dialect("plain", dialect.dropped | frozenset(sent), dialect.renamed)
            second = yield Request(path, required)
            return (answer, dialect) if second.problem is not None else (second, bare)
        else:
            return answer, dialect


def refusal(answer: Answer) -> str | None:
    """What a server said that would not take the request as it stands; None if it was not that."""
    if answer.problem is None or answer.status not in (400, 404, 422):
        return None
    return words(answer.body)


def refused(body: Any, said: str, sent: dict[str, Any]) -> str | None:
    """Which of the parameters sent the refusal names."""
    param = body.get("param") if isinstance(body, dict) else None
    if isinstance(param, str) and param:
        name = re.split(r"[.\[]", param)[0]
        return name if name in sent else None
    for name in sent:
        names = FORMAT_WORDS if name == FORMAT else re.escape(name.lower())
        if re.search(rf"(?<![a-z_])({names})(?![a-z_])", said):
            return name
    return None


def vague(answer: Answer, said: str) -> bool:
    """Whether a refusal may be of some parameter although it names none."""
    if answer.status == 404 or OTHER_TROUBLE.search(said):
        return False
    return answer.status == 422 or not said or UNSAID.search(said) is not None


def too_long(answer: Answer) -> bool:
    """Whether the input was refused for its length."""
    return answer.status in (400, 413, 422, 500) and speaks_of_length(words(answer.body))


def speaks_of_length(said: str) -> bool:
    """Whether an error's words are about a text that is too long."""
    return TOO_LONG.search(said.lower()) is not None


def words(body: Any) -> str:
    """Everything an error body says, lower case; not the input that some servers repeat in it."""
    return " ".join(_said(body)).lower()


def _said(body: Any) -> Iterator[str]:
    if isinstance(body, dict):
        for key in SAYING:
            yield from _said(body.get(key))
    elif isinstance(body, list):
        for item in body:
            yield from _said(item)
    elif isinstance(body, str):
        yield body
