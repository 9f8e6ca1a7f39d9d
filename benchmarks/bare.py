"""Tables like ours with the same rows, indexes and foreign keys, and without triggers of ours: the
floor of deleting everything and of importing."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

TABLES = ("memory", "entity", "mention", "link")


def columns(conn: psycopg.Connection[Any], table: str) -> list[str]:
    """The columns of a table of ours that are not generated."""
    found = conn.execute(
        "select attname from pg_attribute where attrelid = %s::regclass "
        "and attnum > 0 and not attisdropped and attgenerated = '' order by attnum",
        [f"memlayer.{table}"],
    )
    return [name for (name,) in found]


def lay(dsn: str) -> None:
    """Make schema `bare` from what stands in schema memlayer."""
    with psycopg.connect(dsn) as conn:
        conn.execute("create schema bare")
        for table in TABLES:
            name = sql.Identifier(table)
            conn.execute(
                sql.SQL("create table bare.{} (like memlayer.{} including all)").format(name, name)
            )
            conn.execute(
                sql.SQL("alter table bare.{} set (toast_tuple_target = 8160)").format(name)
            )
            given = sql.SQL(", ").join(map(sql.Identifier, columns(conn, table)))
            conn.execute(
                sql.SQL("insert into bare.{} ({}) select {} from memlayer.{}").format(
                    name, given, given, name
                )
            )
        keys = conn.execute(
            """
            select c.relname, k.conname, pg_get_constraintdef(k.oid)
              from pg_constraint k
              join pg_class c on c.oid = k.conrelid
             where k.contype = 'f' and c.relnamespace = 'memlayer'::regnamespace
               and c.relname = any (%s)
             order by k.conname
            """,
            [list(TABLES)],
        ).fetchall()
        for table, name, definition in keys:
            conn.execute(
                sql.SQL("alter table bare.{} add constraint {} {}").format(
                    sql.Identifier(table),
                    sql.Identifier(name),
                    sql.SQL(definition.replace("memlayer.", "bare.")),
                )
            )
        conn.commit()
        conn.autocommit = True
        for table in TABLES:
            conn.execute(sql.SQL("vacuum (analyze) bare.{}").format(sql.Identifier(table)))
