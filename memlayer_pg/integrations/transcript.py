"""The messages of a conversation, whole and in order: what chat histories and sessions are made of.

Each is a memory of the run that the conversation is, its text what was said and its metadata the
message as the framework has it.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memlayer_pg import MemoryNotFound, ScopeMissing
from memlayer_pg.integrations.steps import Steps, ask

PAGE = 1000


@dataclass(frozen=True, slots=True)
class Entry:
    """A message. `text`: what was said, or a word for what has no text. `item`: all of it."""

    role: str
    text: str
    item: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Transcript:
    """The messages of one conversation.

    `kind`: of which framework, for each has messages of its own. `embed`: False leaves the vectors
    to embed_pending, so that no embedder is asked.
    """

    kind: str
    session_id: str
    user_id: str | None
    agent_id: str | None
    embed: bool

    def __post_init__(self) -> None:
        if not self.session_id:
            raise ScopeMissing("A conversation needs a session_id.")

    @property
    def _ids(self) -> dict[str, str]:
        ids = {"user_id": self.user_id, "agent_id": self.agent_id, "run_id": self.session_id}
        return {name: value for name, value in ids.items() if value is not None}

    @property
    def _where(self) -> dict[str, Any]:
        return {**self._ids, "transcript": self.kind}

    def append(self, entries: Sequence[Entry]) -> Steps[None]:
        """Add messages at the end: all, or none, up to a thousand."""
        rows = [
            {
                "id": uuid.uuid4(),
                "memory": entry.text,
                "role": entry.role,
                "metadata": {"transcript": self.kind, "item": entry.item},
                **self._ids,
            }
            for entry in entries
        ]
        if rows:
            yield from ask("import_memories", rows, embed=self.embed)

    def read(self, limit: int | None = None) -> Steps[list[dict[str, Any]]]:
        """The messages, oldest first; the newest so many where there is a limit."""
        newest: list[dict[str, Any]] = []
        after = None
        while limit is None or len(newest) < limit:
            size = PAGE if limit is None else min(PAGE, limit - len(newest))
            page = yield from ask("get_all", filters=self._where, top_k=size, after=after)
            newest += [memory["metadata"]["item"] for memory in page["results"]]
            after = page.get("next")
            if after is None:
                break
        return newest[::-1]

    def pop(self) -> Steps[dict[str, Any] | None]:
        """Take the newest message away; None when there is none. Nobody else gets the same one."""
        while True:
            page = yield from ask("get_all", filters=self._where, top_k=1)
            if not page["results"]:
                return None
            [newest] = page["results"]
            try:
                yield from ask("delete", newest["id"])
            except MemoryNotFound:  # somebody else took it
                continue
            item: dict[str, Any] = newest["metadata"]["item"]
            return item

    def clear(self) -> Steps[None]:
        """Take all messages away; their history stays."""
        yield from ask("delete_all", filters=self._where)
