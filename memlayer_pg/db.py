"""The one door to Postgres: named calls of functions of the schema memlayer, and their errors.

Vectors travel in binary: a tenth of the work of text. A value without a type of its own is sent
untyped, so the server takes the type of the parameter and the client need not know pgvector's ids;
only an array has to name the type of its elements, which the handshake tells.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import lru_cache, partial
from typing import Any

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import AdaptersMap, Dumper
from psycopg.postgres import register_default_adapters
from psycopg.pq import Format
from psycopg.rows import dict_row
from psycopg.sql import SQL, Identifier, Placeholder
from psycopg.types.json import Jsonb

from memlayer_pg import advice
from memlayer_pg.effects import Call, Row
from memlayer_pg.errors import BY_SQLSTATE, DatabaseError, EmbeddingError, NotStorable
from memlayer_pg.savepoint import savepoint, savepoint_async

UNTRANSLATABLE = ("22P05", "22021")
"""SQLSTATEs of characters that the encoding of the database does not have."""


class Vector:
    """One vector, as halfvec's binary form."""

    __slots__ = ("packed",)

    def __init__(self, values: list[float]) -> None:
        self.packed = pack(values)


class Vectors:
    """An array of vectors, each perhaps null, as the binary form of halfvec[]."""

    __slots__ = ("element_oid", "packed")

    def __init__(self, vectors: list[list[float] | bytes | None], element_oid: int) -> None:
        self.element_oid = element_oid
        self.packed = [None if values is None else pack(values) for values in vectors]


def pack(values: list[float] | bytes) -> bytes:
    """halfvec's binary form, which bytes are already; EmbeddingError for what a half-precision
    number cannot hold."""
    if isinstance(values, bytes):
        return values
    try:
        if values and math.isfinite(sum(values)):
            return struct.pack(f">HH{len(values)}e", len(values), 0, *values)
    except (OverflowError, TypeError, ValueError, struct.error):
        pass
    raise EmbeddingError(
        "the embedder gave a vector that is empty or holds something else than numbers "
        "between -65504 and 65504"
    )


class VectorDumper(Dumper):
    """Sends a Vector as it was packed, its type left to the server."""

    format = Format.BINARY
    oid = 0

    def dump(self, obj: Vector) -> Buffer | None:
        return obj.packed


class VectorsDumper(Dumper):
    """Sends Vectors as an array of one dimension, its type left to the server."""

    format = Format.BINARY
    oid = 0

    def dump(self, obj: Vectors) -> Buffer | None:
        if not obj.packed:
            return struct.pack(">iii", 0, 0, obj.element_oid)
        some_null = int(None in obj.packed)
        parts = [struct.pack(">iiiii", 1, some_null, obj.element_oid, len(obj.packed), 1)]
        for packed in obj.packed:
            parts.append(struct.pack(">i", -1 if packed is None else len(packed)))
            if packed is not None:
                parts.append(packed)
        return b"".join(parts)


# Of our own: on a caller's connection, or for all of psycopg, others may have told it to read JSON,
# dates or UUIDs in another way.
ADAPTERS = AdaptersMap(types=psycopg.adapters.types)
register_default_adapters(ADAPTERS)
ADAPTERS.types["text"].register(ADAPTERS)  # arrays of it
ADAPTERS.register_dumper(Vector, VectorDumper)
ADAPTERS.register_dumper(Vectors, VectorsDumper)


class Cursor(psycopg.Cursor[Row]):
    """Reads and writes values in our way, whatever its connection was told."""

    @property
    def adapters(self) -> AdaptersMap:
        return ADAPTERS


class AsyncCursor(psycopg.AsyncCursor[Row]):
    """Reads and writes values in our way, whatever its connection was told."""

    @property
    def adapters(self) -> AdaptersMap:
        return ADAPTERS


comment: Callable[[], bytes | None] | None = None
"""What every statement carries, when somebody asks for it. Each text is then a new one, which there
is no use in preparing."""
to_json = partial(json.dumps, ensure_ascii=False)


def arguments(call: Call, element_oid: int) -> dict[str, Any]:
    """The arguments of a call that are given, each in the form the driver sends.

    An empty list is not sent either: every list has that as its default, and the driver could not
    tell an empty JSON array from an empty array.
    """
    return {
        name: _argument(name, value, element_oid)
        for name, value in call.args.items()
        if value is not None and value != []
    }


def _argument(name: str, value: Any, element_oid: int) -> Any:
    if name.endswith("embedding"):
        return Vector(value)
    if name.endswith("embeddings"):
        return Vectors(value, element_oid)
    if isinstance(value, Mapping) or (
        isinstance(value, list) and not all(isinstance(item, str) for item in value)
    ):
        return Jsonb(value, dumps=to_json)
    return value


@lru_cache(maxsize=256)
def statement(function: str, names: tuple[str, ...]) -> bytes:
    """`select * from memlayer.f(p_a => %(p_a)s, …)`: by name, so a new default breaks nobody."""
    named = (SQL("{} => {}").format(Identifier(name), Placeholder(name)) for name in names)
    return (
        SQL("select * from memlayer.{}({})")
        .format(Identifier(function), SQL(", ").join(named))
        .as_bytes()
    )


def remarked(query: bytes) -> tuple[bytes, bool | None]:
    """A statement with its comment, and whether to prepare it: None leaves that to psycopg."""
    remark = comment and comment()
    return (query, None) if not remark else (query + b" " + remark, False)


def perform(
    conn: psycopg.Connection[Any], call: Call, element_oid: int = 0, *, joined: bool = False
) -> list[Row]:
    """The rows of one call: one statement, one round trip.

    `joined`: in a transaction of others, which an error leaves as it was before the call.
    """
    args = arguments(call, element_oid)
    with translated(), Cursor(conn, row_factory=dict_row) as cursor:
        with savepoint(conn) if joined else nullcontext():
            query, prepare = remarked(statement(call.function, tuple(args)))
            cursor.execute(query, args, prepare=prepare)
        return cursor.fetchall()


async def perform_async(
    conn: psycopg.AsyncConnection[Any], call: Call, element_oid: int = 0, *, joined: bool = False
) -> list[Row]:
    """`perform`, awaited."""
    args = arguments(call, element_oid)
    with translated():
        async with AsyncCursor(conn, row_factory=dict_row) as cursor:
            async with savepoint_async(conn) if joined else nullcontext():
                query, prepare = remarked(statement(call.function, tuple(args)))
                await cursor.execute(query, args, prepare=prepare)
            return await cursor.fetchall()


def rows(
    conn: psycopg.Connection[Any], query: bytes, args: Mapping[str, Any] | None = None
) -> list[Row]:
    """The rows of a query that is no call."""
    with translated(), Cursor(conn, row_factory=dict_row) as cursor:
        return cursor.execute(query, args, prepare=False).fetchall()


async def rows_async(
    conn: psycopg.AsyncConnection[Any], query: bytes, args: Mapping[str, Any] | None = None
) -> list[Row]:
    """`rows`, awaited."""
    with translated():
        async with AsyncCursor(conn, row_factory=dict_row) as cursor:
            await cursor.execute(query, args, prepare=False)
            return await cursor.fetchall()


@contextmanager
def translated() -> Iterator[None]:
    """Turn psycopg's errors into ours, by SQLSTATE; never by what their message says."""
    try:
        yield
    except psycopg.Error as error:
        raise translate(error) from error


def translate(error: psycopg.Error) -> DatabaseError:
    """Our error for one of psycopg's."""
    message = error.diag.message_primary or str(error).strip() or type(error).__name__
    sqlstate = error.sqlstate
    if sqlstate in UNTRANSLATABLE:
        return NotStorable(f"a text holds a character the database cannot store: {message}")
    if kind := BY_SQLSTATE.get(sqlstate):
        return kind(message, hint=error.diag.message_hint)
    return DatabaseError(message, sqlstate=sqlstate, hint=advice.hint(error))
