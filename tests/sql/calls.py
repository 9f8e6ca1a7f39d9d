"""Calls of the functions as Python makes them, for tests of the SQL alone."""

from __future__ import annotations

from typing import Any

import psycopg

from memlayer_pg.db import perform
from memlayer_pg.effects import Call, Row

Connection = psycopg.Connection[Any]


def call(conn: Connection, function: str, /, **args: Any) -> list[Row]:
    """The rows of one function; argument names without their `p_`."""
    [row] = conn.execute("select 'halfvec'::regtype::oid::int").fetchall()
    return perform(
        conn, Call(function, {f"p_{name}": value for name, value in args.items()}), row[0]
    )


def add(conn: Connection, *texts: str, user_id: str | None = "ann", **args: Any) -> list[str]:
    """Store facts without models; the ids under which they stand, old ones for duplicates."""
    given = {"facts": [{"text": text} for text in texts], "user_id": user_id, **args}
    return [str(row["id"]) for row in call(conn, "add", **given)]


def count(conn: Connection, table: str, where: str = "true") -> int:
    """How many rows a table of the schema has."""
    [row] = conn.execute(f"select count(*) from memlayer.{table} where {where}")
    return int(row[0])


def one(conn: Connection, query: str, *args: Any) -> Any:
    """The single value of a query."""
    [row] = conn.execute(query, args or None)
    return row[0]


def consistent(conn: Connection) -> bool:
    """Whether verify finds nothing but memories that wait for a vector."""
    problems = {row["problem"] for row in call(conn, "verify")}
    return problems <= {"the memory waits for its vector"}


def scanned(conn: Connection, name: str) -> int:
    """How often this transaction scanned an index, or read a table from end to end."""
    conn.execute("select pg_stat_clear_snapshot()")
    return int(one(conn, "select pg_stat_get_xact_numscans(%s::regclass)", f"memlayer.{name}"))


def rows_read(conn: Connection, table: str) -> int:
    """How many rows or entries this transaction read of a table and its indexes."""
    conn.execute("select pg_stat_clear_snapshot()")
    query = """
      select sum(pg_stat_get_xact_tuples_returned(read.oid))
        from (select %s::regclass::oid as oid) as own,
     lateral (select own.oid union all
              select indexrelid from pg_index where indrelid = own.oid) as read"""
    return int(one(conn, query, f"memlayer.{table}"))
