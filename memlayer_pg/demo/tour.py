"""What the demo does, step by step; how it is shown is the command line's business."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
from psycopg.rows import dict_row

from memlayer_pg import Memory, db, demo, shapes
from memlayer_pg.effects import Call, Row

MINE = {"user_id": demo.USER}


class Tour:
    """The steps of the demo on one memory; each does its part and returns what came of it.

    `conn`: a connection to the same database, for what is plain SQL. `steps`: in their order.
    """

    def __init__(self, memory: Memory, conn: psycopg.Connection[Any], location: str) -> None:
        self.memory = memory
        self.conn = conn
        self.location = location
        self.contradictions: list[Row] = []
        self.steps: dict[str, Callable[[], Any]] = {
            "setting": self.setting,
            "memories": self.remember,
            "searches": self.search,
            "correction": self.correct,
            "messages": self.recent,
            "analysis": self.analyse,
            "verify": self.verify,
        }

    @property
    def verbatim(self) -> bool:
        """Whether messages are stored word for word, for want of a language model."""
        return self.memory.llm is None

    def setting(self) -> dict[str, Any]:
        """Where the memories are kept, and which models are at work."""
        return {
            "location": self.location,
            "tenant": demo.TENANT,
            "embedder": self.memory.embedding_model.name,
            "llm": None if self.memory.llm is None else self.memory.llm.name,
        }

    def remember(self) -> list[dict[str, Any]]:
        """Empty the tenant, add the sessions; the memories, oldest first."""
        demo.clear(self.memory)
        for session in demo.conversations():
            self.memory.add(**session, user_id=demo.USER)
        call = Call("get_all", {"p_tenant": demo.TENANT, "p_user_id": demo.USER, "p_top_k": 100})
        return [
            {**shapes.memory(row), "observed_at": shapes.moment(row["observed_at"])}
            for row in reversed(db.perform(self.conn, call))
        ]

    def search(self) -> list[dict[str, Any]]:
        """Three questions, each with the best three memories and why they are the best."""
        return [
            {"query": query, **self.memory.search(query, filters=MINE, top_k=3, explain=True)}
            for query in demo.QUERIES
        ]

    def correct(self) -> dict[str, Any]:
        """One memory changed by a call, then by plain SQL; its id and history."""
        [old] = self.memory.search(demo.CORRECTED, filters=MINE, top_k=1)["results"]
        self.memory.update(old["id"], demo.correction(old["memory"]))
        self.conn.execute(demo.PLAIN_SQL.encode(), [old["id"]])
        call = Call("history", {"p_tenant": demo.TENANT, "p_id": old["id"]})
        return {"id": old["id"], "history": db.perform(self.conn, call)}

    def recent(self) -> list[dict[str, Any]]:
        """The messages that the ring buffer holds."""
        return self.memory.messages(demo.USER)

    def analyse(self) -> dict[str, Any]:
        """A query of an analyst, and its rows."""
        return {"sql": demo.analysis(), "rows": self._rows(demo.analysis())}

    def verify(self) -> list[Row]:
        """Whatever contradicts itself in the demo's tenant: nothing."""
        self.contradictions = self._rows(demo.VERIFY)
        return self.contradictions

    def _rows(self, query: str) -> list[Row]:
        return self.conn.cursor(row_factory=dict_row).execute(query.encode()).fetchall()
