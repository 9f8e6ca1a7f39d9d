"""What was said before a message, which is indexed with it: an answer by itself is hard to find.

Its words are indexed by default, and not its vector with it ("full"): measured on a dialogue of
4,124 turns both find about as much more, but a vector of both as often puts the reply to what is
looked for before it. docs/retrieval.md has the figures.
"""

from __future__ import annotations

from memlayer_pg.checks import Scope
from memlayer_pg.effects import Flow, call
from memlayer_pg.extract import Message
from memlayer_pg.flows import Store

BACKGROUND = ("system", "tool")
"""Roles that say nothing to be remembered by themselves."""
LONGEST = 2000
"""Characters of the message before, its last, that are kept and indexed by words."""
EMBEDDED = 1000
"""Bytes that a message and the one before it have in an embedding: at most 500 tokens, which the
smallest models take. A longer message is embedded alone."""


def before(tenant: str, scope: Scope, spoken: list[Message]) -> Flow[list[str | None]]:
    """For each message that is stored word for word (all but those of systems), what somebody else
    said just before it: in this call, or for its first message in the buffer of exactly this scope.

    None where nothing was said before, or by the same speaker: one who goes on may be speaking of
    anything. What systems and tools say is no part of a conversation.
    """
    found: list[str | None] = []
    last: Message | None = None
    for message in spoken:
        if message.role != "system":
            if not found and last is None:
                last = yield from _newest(tenant, scope)
            heard = last is not None and _speaker(last) != _speaker(message)
            found.append(_ending(last.content) if heard and last else None)
        if message.role not in BACKGROUND:
            last = message
    return found


def _newest(tenant: str, scope: Scope) -> Flow[Message | None]:
    """The newest message of the buffer that is part of a conversation."""
    rows = yield from call("messages", p_tenant=tenant, **scope.args())
    said = [row for row in rows if row["role"] not in BACKGROUND]
    return Message(said[-1]["role"], said[-1]["content"], said[-1]["name"]) if said else None


def _speaker(message: Message) -> tuple[str, str | None]:
    return message.role, message.name


def embedded(store: Store, text: str, before: str | None) -> str:
    """What the vector of a memory is made of: its text; where the context is "full", what was said
    before it stands before it, as far as there is room, for no text is cut for that."""
    room = EMBEDDED - len(text.encode())
    if before is None or store.context != "full" or room <= 0:
        return text
    return f"{before.encode()[-room:].decode(errors='ignore')}\n{text}"


def _ending(text: str) -> str:
    return text.rstrip()[-LONGEST:].lstrip()
