"""An item of a LangGraph store as a memory, and back."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from langgraph.store.base import Item, PutOp, SearchItem, get_text_at_path

ROLE = "item"
"""Tells an item from other memories; what has a role may say what another says."""
NAMESPACE = uuid.UUID("6d656d6c-6179-4572-8000-6c616e676772")


def id_of(agent_id: str, namespace: Sequence[str], key: str) -> uuid.UUID:
    """The id of an item: the same for the same store, namespace and key."""
    return uuid.uuid5(NAMESPACE, json.dumps([agent_id, list(namespace), key]))


def path(namespace: Sequence[str]) -> str:
    """A namespace as one text that no other has, whatever its labels hold."""
    return json.dumps(list(namespace), ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Lifetime:
    """`ttl`: minutes; None is for ever. `expires`: seconds since 1970."""

    ttl: float | None
    expires: float | None

    @property
    def day(self) -> str | None:
        """The last day (UTC) on which others find it, too."""
        if self.expires is None:
            return None
        return datetime.fromtimestamp(self.expires, UTC).date().isoformat()

    def metadata(self) -> dict[str, Any]:
        return {"ttl": self.ttl, "expires": self.expires}

    def as_update(self) -> dict[str, Any]:
        return {"metadata": self.metadata(), "expiration_date": self.day}


def lifetime(ttl: float | None) -> Lifetime:
    """From now on, so many minutes."""
    return Lifetime(ttl, None if ttl is None else time.time() + ttl * 60)


@dataclass(frozen=True, slots=True)
class Kept:
    """An item as it shall stand. `text` is searched where it is `indexed`."""

    id: uuid.UUID
    namespace: tuple[str, ...]
    key: str
    value: dict[str, Any]
    agent_id: str
    user_id: str | None
    text: str
    indexed: bool
    lives: Lifetime

    def metadata(self) -> dict[str, Any]:
        return {
            "namespace": list(self.namespace),
            "prefixes": [path(self.namespace[:n]) for n in range(1, len(self.namespace) + 1)],
            "key": self.key,
            "value": self.value,
            "indexed": self.indexed,
            **self.lives.metadata(),
        }

    def as_update(self) -> dict[str, Any]:
        return {"metadata": self.metadata(), "expiration_date": self.lives.day}

    def row(self) -> dict[str, Any]:
        """What import_memories takes."""
        return {
            "id": str(self.id),
            "memory": self.text,
            "agent_id": self.agent_id,
            "user_id": self.user_id,
            "role": ROLE,
            "entities": [],
            **self.as_update(),
        }


def kept(
    id_: uuid.UUID,
    op: PutOp,
    agent_id: str,
    user_id: str | None,
    fields: Sequence[str] | Literal[False] | None,
) -> Kept:
    """What an operation puts. `fields`: the paths of the texts that are searched, if any are."""
    value = dict(op.value or {})
    texts = [text for field in fields or () for text in get_text_at_path(value, field)]
    text = "\n".join(texts).strip()
    return Kept(
        id=id_,
        namespace=tuple(op.namespace),
        key=op.key,
        value=value,
        agent_id=agent_id,
        user_id=user_id,
        # A memory has a text; one that is not searched says where the item is.
        text=text or json.dumps([*op.namespace, op.key], ensure_ascii=False),
        indexed=bool(text),
        lives=lifetime(op.ttl),
    )


class Found:
    """A memory that is an item."""

    def __init__(self, memory: dict[str, Any]) -> None:
        self._memory = memory
        self._metadata: dict[str, Any] = memory["metadata"]
        self.id = uuid.UUID(memory["id"])
        self.text: str = memory["memory"]
        self.value: dict[str, Any] = self._metadata["value"]
        self.indexed: bool = self._metadata["indexed"]
        self.ttl: float | None = self._metadata.get("ttl")

    @property
    def has_expired(self) -> bool:
        expires = self._metadata.get("expires")
        return expires is not None and expires <= time.time()

    def item(self) -> Item:
        return Item(**self._parts())

    def scored(self) -> SearchItem:
        """As an item of a search; the score is None where no query was answered."""
        return SearchItem(**self._parts(), score=self._memory.get("score"))

    def _parts(self) -> dict[str, Any]:
        return {
            "namespace": tuple(self._metadata["namespace"]),
            "key": self._metadata["key"],
            "value": self.value,
            "created_at": datetime.fromisoformat(self._memory["created_at"]),
            "updated_at": datetime.fromisoformat(self._memory["updated_at"]),
        }
