"""mem0's SQLite file: the history of memories, and the last messages of each scope."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from memlayer_pg import checks
from memlayer_pg.checks import SCOPE_IDS
from memlayer_pg.errors import InputError, MemlayerError
from memlayer_pg.moving.defects import Defects
from memlayer_pg.moving.events import Event
from memlayer_pg.moving.payload import kept, time

HISTORY = ("memory_id", "old_memory", "new_memory", "event", "created_at", "updated_at")
LATER = ("actor_id", "role")
"""Columns that older files do not have."""
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MOST = 10
"""Messages of a scope that mem0 reads."""


class History:
    """The file; `history` and `messages` count the rows of its tables, None without the table."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        self.history = self._count("history")
        self.messages = self._count("messages")

    def _count(self, table: str) -> int | None:
        found = self._connection.execute(
            "select count(*) from sqlite_master where type = 'table' and name = ?", (table,)
        ).fetchone()
        if not found[0]:
            return None
        [count] = self._connection.execute(f"select count(*) from {table}").fetchone()
        return int(count)

    def events(self, defects: Defects) -> Iterator[tuple[str, list[Event]]]:
        """The ids of memories in their order, each with what happened to it, oldest first."""
        if self.history is None:
            defects.note("no table of history")
            return
        there = {row[1] for row in self._connection.execute("pragma table_info(history)")}
        if missing := [name for name in HISTORY if name not in there]:
            raise InputError(
                f"the history of mem0 has no {', '.join(missing)}",
                suggestion="Open the file with mem0 2 once: it brings older ones up to date.",
            )
        later = [name if name in there else f"null as {name}" for name in LATER]
        rows = self._connection.execute(
            f"select lower(memory_id), {', '.join([*HISTORY[1:], *later])} from history"
            # By the order they were written in: times may be missing, or have other zones.
            " order by lower(memory_id), rowid"
        )
        for id_, group in groupby(rows, key=lambda row: row[0]):
            if not isinstance(id_, str) or not UUID.fullmatch(id_):
                defects.note("history of what is no UUID", str(id_), len(list(group)))
                continue
            yield id_, [_event(id_, row[1:], defects) for row in group]

    def buffered(self, defects: Defects) -> Iterator[list[dict[str, Any]]]:
        """The messages of one scope after another, oldest first, each with the ids of the scope."""
        if self.messages is None:
            defects.note("no table of messages")
            return
        rows = self._connection.execute(
            "select session_scope, role, content, name, created_at from messages"
            " order by session_scope, rowid"
        )
        for scope, group in groupby(rows, key=lambda row: row[0]):
            ids = scope_of(scope)
            if ids is None:
                defects.note("messages of a scope that cannot be read", str(scope))
                continue
            found = [_message(ids, row[1:], str(scope), defects) for row in group]
            yield [message for message in found if message is not None][-MOST:]


@contextmanager
def opened(path: str | Path | None) -> Iterator[History | None]:
    """The file at a path, None without one; InputError when it cannot be read."""
    if path is None:
        yield None
        return
    file = Path(path).expanduser()
    try:
        if not file.is_file():
            raise sqlite3.OperationalError("there is no such file")
        # Another thread reads it than the one that opens it, one at a time.
        uri = f"{file.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, check_same_thread=False)) as connection:
            found = History(connection)
            yield found
    except sqlite3.Error as error:
        raise InputError(
            f"the history of mem0 cannot be read: {error}",
            suggestion="Name its SQLite file, ~/.mem0/history.db unless mem0 was told another.",
        ) from error


def scope_of(written: object) -> dict[str, str] | None:
    """The ids of a scope as mem0 writes it, such as `agent_id=a&user_id=b`."""
    ids = {}
    for part in str(written).split("&"):
        name, is_there, value = part.partition("=")
        if name not in SCOPE_IDS or not is_there:
            return None
        try:
            found = checks.scope_id(name, unquote(value))
        except MemlayerError:
            return None
        if found is None:
            return None
        ids[name] = found
    return ids


def _event(id_: str, row: tuple[Any, ...], defects: Defects) -> Event:
    old, new, event, created, updated, actor, role = row
    return Event(
        str(event),
        _text(old, id_, defects),
        _text(new, id_, defects),
        time(created, "created_at", id_, defects),
        time(updated, "updated_at", id_, defects),
        _text(actor, id_, defects),
        _text(role, id_, defects),
    )


def _text(value: object, where: str, defects: Defects) -> str | None:
    if value is None:
        return None
    text = value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)
    return kept(text, where, defects)


def _message(
    ids: dict[str, str], row: tuple[Any, ...], where: str, defects: Defects
) -> dict[str, Any] | None:
    role, content, name, created = row
    said = _text(content, where, defects)
    speaker = _text(role, where, defects)
    if said is None or speaker is None or checks.blank(said):
        defects.note("message without text", where)
        return None
    at = time(created, "created_at", where, defects)
    return {
        **ids,
        "role": speaker,
        "content": said,
        "name": _text(name, where, defects),
        "created_at": at and at.isoformat(),
    }
