"""Rows to filter, and what a filter finds among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg.sql import SQL, Composed, Identifier, Literal
from psycopg.types.json import Jsonb

Connection = psycopg.Connection[Any]
Row = dict[str, Any]


def predicate(conn: Connection, filters: object) -> Composed:
    """The compiled filter, as a condition on m."""
    row = conn.execute("select memlayer.filter_predicate(%s)", [Jsonb(filters)]).fetchone()
    assert row is not None
    return SQL("({})").format(SQL(row[0]))


def path(conn: Connection, filters: object) -> Composed | None:
    """The jsonpath of a simple filter, as a condition on m; None of any other."""
    row = conn.execute("select memlayer.filter_path(%s)::text", [Jsonb(filters)]).fetchone()
    assert row is not None
    return None if row[0] is None else SQL("(m.metadata @? {})").format(Literal(row[0]))


def remember(conn: Connection, rows: list[Row]) -> None:
    """One memory a row of metadata, its text the row's position."""
    conn.cursor().executemany(
        "insert into memlayer.memory (user_id, text, metadata) values ('u', %s, %s)",
        [(str(position), Jsonb(metadata)) for position, metadata in enumerate(rows)],
    )


def remember_columns(conn: Connection, column: str, values: list[Any]) -> None:
    """One memory a value of the column, its text the value's position."""
    conn.cursor().executemany(
        SQL("insert into memlayer.memory (user_id, text, {}) values ('u', %s, %s)").format(
            Identifier(column)
        ),
        [(str(position), value) for position, value in enumerate(values)],
    )


def found(conn: Connection, filters: object) -> list[int]:
    """Positions of the rows that the filter finds."""
    query = SQL("select m.text from memlayer.memory m where m.user_id = 'u' and {}")
    rows = conn.execute(query.format(predicate(conn, filters)))
    return sorted(int(text) for (text,) in rows)


def check(conn: Connection, rows: list[Row], filters: object, positions: list[int]) -> None:
    remember(conn, rows)
    assert found(conn, filters) == positions


def evaluate(
    conn: Connection, rows: list[Row], conditions: Sequence[Composed]
) -> list[tuple[bool | None, ...]]:
    """For each row what each condition says; without the table, no trigger has a say."""
    query = SQL(
        """select {} from rows from (jsonb_to_recordset({}) as (
             metadata jsonb, user_id text, agent_id text, run_id text, actor_id text, role text,
             attributed_to text, memory_type text, expires_on date, created_at timestamptz,
             updated_at timestamptz, observed_at timestamptz)) with ordinality as m
           order by m.ordinality"""
    ).format(SQL(", ").join(conditions), Literal(Jsonb(rows)))
    return conn.execute(query).fetchall()
