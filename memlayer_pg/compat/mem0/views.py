"""mem0's stores as views of ours, for programs that look into them: `m.vector_store` and `m.db`.

All of them wait: with `AsyncMemory`, too, as mem0's do; call them in a thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import memlayer_pg
from memlayer_pg.checks import SCOPE_IDS
from memlayer_pg.errors import InputError, MemoryNotFound

MOST = 10_000
"""Rows where top_k is None."""
BESIDE = ("id", "memory", "metadata", "score", "score_details", "version", "superseded_by")
"""Keys of a result that are no keys of a payload, or stand there under another name."""
FIELDS = (*SCOPE_IDS, "created_at", "expiration_date", "role", "actor_id", "attributed_to",
          "memory_type", "observed_at")  # fmt: skip
"""Keys of a payload that an import takes as they are."""
DERIVED = ("data", "hash", "text_lemmatized", "updated_at")


@dataclass
class OutputData:
    """A row of the store."""

    id: str
    score: float | None
    payload: dict[str, Any]


Rows = list[OutputData]
Tables = list[Rows]
Names = list[str]


class VectorStore:
    """The memories as rows with a payload."""

    def __init__(self, memory: memlayer_pg.Memory, collection_name: str, model: str) -> None:
        """`collection_name`: the tenant; `model`: the name under which vectors are stored."""
        self.collection_name = collection_name
        self._memory = memory
        self._model = model

    def get(self, vector_id: str) -> OutputData | None:
        """One memory; None when there is none of this id."""
        found = self._memory.get(vector_id)
        return None if found is None else _row(found)

    def list(
        self,
        filters: Mapping[str, Any] | None = None,
        top_k: int | None = 100,
        limit: int | None = None,
    ) -> Tables:
        """The memories that match, expired ones too, as the only element of a list.

        Without an id in `filters` those of everybody. `limit`: an old name of top_k.
        """
        most = limit if limit is not None else MOST if top_k is None else top_k
        found: dict[str, OutputData] = {}
        for scope in self._scopes(filters):
            page = self._memory.get_all(filters=scope, top_k=most, show_expired=True)["results"]
            for item in page:
                found.setdefault(item["id"], _row(item))
            if len(found) >= most:
                break
        return [[*found.values()][:most]]

    def search(
        self,
        query: str,
        vectors: Sequence[float] | None = None,
        top_k: int = 5,
        filters: Mapping[str, Any] | None = None,
        limit: int | None = None,
    ) -> Rows:
        """The memories of one scope nearest to a query; `score` is the cosine similarity.

        `vectors`: not used, the query is embedded.
        """
        found = self._memory.search(
            query,
            top_k=top_k if limit is None else limit,
            filters=filters,
            threshold=0,
            explain=True,
            show_expired=True,
        )["results"]
        rows = [_row(item, item["score_details"]["semantic_score"]) for item in found]
        return sorted(rows, key=lambda row: -(row.score or 0.0))

    def keyword_search(
        self, query: str, top_k: int = 5, filters: Mapping[str, Any] | None = None
    ) -> Rows:
        """The memories of one scope that hold words of a query."""
        found = self._memory.keyword_search(query, top_k=top_k, filters=filters, show_expired=True)
        return [_row(item, item["score"]) for item in found["results"]]

    def insert(
        self,
        vectors: Sequence[Sequence[float]],
        payloads: Sequence[Mapping[str, Any]] | None = None,
        ids: Sequence[str] | None = None,
    ) -> None:
        """Store memories with their vectors; a payload names a scope and has the text as `data`."""
        if payloads is None or len(payloads) != len(vectors):
            raise InputError("insert needs a payload, with the text as 'data', for each vector")
        rows = [_ready(payload) for payload in payloads]
        for number, row in enumerate(rows):
            row["embedding"] = list(vectors[number])
            if ids is not None:
                row["id"] = ids[number]
        self._memory.import_memories(rows, model=self._model)

    def update(
        self,
        vector_id: str,
        vector: Sequence[float] | None = None,
        payload: Mapping[str, Any] | None = None,
    ) -> None:
        """Change a memory: its text is `data`, the rest of the payload is merged into it.

        `vector`: not used, another text is embedded.
        """
        if payload is None:
            return
        kept = {k: v for k, v in payload.items() if k not in DERIVED and k not in FIELDS}
        expiry = {k: payload[k] for k in ("expiration_date",) if k in payload}
        self._memory.update(vector_id, text=payload.get("data"), metadata=kept, **expiry)

    def delete(self, vector_id: str) -> None:
        """Forget one memory, if there is one."""
        try:
            self._memory.delete(vector_id)
        except MemoryNotFound:
            return

    def list_cols(self) -> Names:
        """The name of the tenant: others are not shown."""
        return [self.collection_name]

    def col_info(self) -> dict[str, Any]:
        """The name of the tenant, and how many memories it has."""
        [rows] = self.list(top_k=None)
        return {"name": self.collection_name, "count": len(rows)}

    def reset(self) -> None:
        """Forget everything of this tenant."""
        self._memory.reset()

    delete_col = reset

    def _scopes(self, filters: Mapping[str, Any] | None) -> Iterator[dict[str, Any]]:
        """The filter, or where it names nobody, the same for everybody there is."""
        given = dict(filters or {})
        if any(given.get(name) is not None for name in SCOPE_IDS):
            yield given
            return
        for scope in self._memory.scopes():
            yield {**given, f"{scope['type']}_id": scope["id"]}


class Db:
    """What mem0 keeps in SQLite: the history, and the last messages of a conversation."""

    def __init__(self, memory: memlayer_pg.Memory) -> None:
        self._memory = memory

    def get_history(self, memory_id: str) -> list[dict[str, Any]]:
        """As `Memory.history`."""
        return self._memory.history(memory_id)

    def get_last_messages(self, session_scope: str, limit: int = 10) -> list[dict[str, Any]]:
        """The newest messages of a combination of ids, oldest first.

        `session_scope`: as mem0 writes it, "agent_id=…&run_id=…&user_id=…", with what there is.
        """
        pairs = (pair.partition("=") for pair in session_scope.split("&") if pair)
        ids = {unquote(name): unquote(value) for name, _, value in pairs}
        if unknown := [name for name in ids if name not in SCOPE_IDS]:
            raise InputError(f"session_scope: unknown id {unknown[0]!r}")
        found = self._memory.messages(**ids)
        return found[-limit:] if limit > 0 else []

    def close(self) -> None:
        """Nothing: the history has no connection of its own."""


class Project:
    """mem0's settings of a project, which its open-source package has not either."""

    def update(
        self,
        custom_instructions: str | None = None,
        custom_categories: Any = None,
        multilingual: bool | None = None,
        decay: bool | None = None,
    ) -> None:
        """Not there, as in mem0: ValueError."""
        what = "The decay parameter is" if decay is True else "Project updates are"
        raise InputError(f"{what} not supported by the OSS Memory SDK.")


class AsyncProject:
    """The same for `AsyncMemory`."""

    async def update(
        self,
        custom_instructions: str | None = None,
        custom_categories: Any = None,
        multilingual: bool | None = None,
        decay: bool | None = None,
    ) -> None:
        """Not there, as in mem0: ValueError."""
        Project().update(custom_instructions, custom_categories, multilingual, decay)


def _row(item: Mapping[str, Any], score: float | None = None) -> OutputData:
    payload = {"data": item["memory"]}
    payload |= {key: value for key, value in item.items() if key not in BESIDE}
    payload |= item["metadata"] or {}
    # In the order of jsonb, which is how mem0 reads them.
    ordered = sorted(payload.items(), key=lambda pair: (len(pair[0]), pair[0]))
    return OutputData(item["id"], score, dict(ordered))


def _ready(payload: Mapping[str, Any]) -> dict[str, Any]:
    """A payload as a memory to be imported."""
    found: dict[str, Any] = {"memory": payload.get("data")}
    found |= {key: payload[key] for key in FIELDS if payload.get(key) is not None}
    found["metadata"] = {
        key: value for key, value in payload.items() if key not in FIELDS and key not in DERIVED
    }
    return found
