"""Writes memlayer_pg/models/tables.py and views.py: python migrations/mapping.py DSN.

They are SQLAlchemy's picture of the schema, for those who read it with an ORM; a test holds them
against the catalog.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg

HERE = Path(__file__).resolve().parent.parent / "memlayer_pg" / "models"
TYPES = {
    "bigint": "BigInteger",
    "boolean": "Boolean",
    "date": "Date",
    "double precision": "Double",
    "halfvec": "HALFVEC",
    "inet": "INET",
    "integer": "Integer",
    "interval": "INTERVAL",
    "jsonb": "JSONB",
    "real": "REAL",
    "regconfig": "REGCONFIG",
    "text": "Text",
    "text[]": "ARRAY(Text)",
    "timestamp with time zone": "DateTime(timezone=True)",
    "tsvector": "TSVECTOR",
    "uuid": "Uuid",
    "xid8": "XID8",
}
RELATIONS = """
select oid, relname, obj_description(oid, 'pg_class')
  from pg_class
 where relnamespace = 'memlayer'::regnamespace and relkind = any (%s) order by relname"""
COLUMNS = """
select attname, format_type(atttypid, atttypmod), attnotnull, col_description(attrelid, attnum)
  from pg_attribute where attrelid = %s and attnum > 0 and not attisdropped order by attnum"""
KEYS = """
select conname, contype, confrelid::regclass::text, confdeltype = 'c',
       array(select attname::text from unnest(conkey) with ordinality as key (number, place)
               join pg_attribute on attrelid = conrelid and attnum = key.number order by place),
       array(select attname::text from unnest(confkey) with ordinality as key (number, place)
               join pg_attribute on attrelid = confrelid and attnum = key.number order by place)
  from pg_constraint where conrelid = %s and contype in ('p', 'f') order by contype desc, conname"""

UNIQUE = """
select conname,
       array(select attname::text from unnest(conkey) with ordinality as key (number, place)
               join pg_attribute on attrelid = conrelid and attnum = key.number order by place)
  from pg_constraint where conrelid = %s and contype = 'u' order by conname"""
INDEXES = """
select c.relname, a.amname, i.indisunique, pg_get_expr(i.indpred, i.indrelid, true),
       array(select pg_get_indexdef(i.indexrelid, place, true)
                    || case when i.indoption[place - 1] & 1 = 1 then ' DESC' else '' end
               from generate_series(1, i.indnkeyatts) place order by place),
       (select jsonb_object_agg(pg_get_indexdef(i.indexrelid, place, true), o.opcname)
          from generate_series(1, i.indnkeyatts) place
          join pg_opclass o on o.oid = i.indclass[place - 1] and not o.opcdefault)
  from pg_index i
  join pg_class c on c.oid = i.indexrelid
  join pg_am a on a.oid = c.relam
 where i.indrelid = %s
   and not exists (select from pg_constraint
                    where conindid = i.indexrelid and contype in ('p', 'u'))
 order by c.relname"""


def quoted(text: str) -> str:
    """A text as Python writes it, in lines that are short enough."""
    lines = textwrap.wrap(text, 70, drop_whitespace=False, break_on_hyphens=False)
    return "(" + "\n".join(repr(line) for line in lines) + ")" if len(lines) > 1 else repr(text)


def table(
    conn: psycopg.Connection[Any], oid: int, name: str, comment: str, *, view: bool
) -> Iterator[str]:
    """The statement that makes one Table."""
    yield f"{name} = Table({name!r}, metadata,"
    for column, kind, required, remark in conn.execute(COLUMNS, [oid]):
        yield f"Column({column!r}, {TYPES[kind]}, nullable={not required},"
        yield f"comment={quoted(remark)}),"
    for key, kind, other, cascades, own, theirs in conn.execute(KEYS, [oid]):
        if kind == "p":
            yield f"PrimaryKeyConstraint({', '.join(map(repr, own))}, name={key!r}),"
        else:
            named = [f"{other}.{column}" for column in theirs]
            rule = ", ondelete='CASCADE'" if cascades else ""
            yield f"ForeignKeyConstraint({own}, {named}, name={key!r}{rule}),"
    for key, own in conn.execute(UNIQUE, [oid]):
        yield f"UniqueConstraint({', '.join(map(repr, own))}, name={key!r}),"
    for index, method, unique, condition, parts, operators in conn.execute(INDEXES, [oid]):
        # Text is what is no plain column: an expression, an order.
        keys = [repr(one) if one.isidentifier() else f"text({quoted(one)})" for one in parts]
        yield f"Index({index!r}, {', '.join(keys)},"
        if unique:
            yield "unique=True,"
        if method != "btree":
            yield f"postgresql_using={method!r},"
        if operators:
            yield f"postgresql_ops={operators!r},"
        if condition:
            yield f"postgresql_where=text({quoted(condition)}),"
        yield "),"
    if view:
        yield "info={'is_view': True},"
    yield f"comment={quoted(comment)})\n"


def module(conn: psycopg.Connection[Any], what: str, kinds: list[str]) -> str:
    """The text of a module with all relations of some kinds."""
    body = [
        line
        for oid, name, comment in conn.execute(RELATIONS, [kinds]).fetchall()
        for line in table(conn, oid, name, comment, view="v" in kinds)
    ]
    return "\n".join(
        [
            f'"""The {what} of the schema memlayer. Written by migrations/mapping.py."""',
            "from __future__ import annotations",
            "from pgvector.sqlalchemy import HALFVEC",
            "from sqlalchemy import ARRAY, REAL, BigInteger, Boolean, Column, Date, DateTime",
            "from sqlalchemy import Double, ForeignKeyConstraint, Index, Integer, text",
            "from sqlalchemy import PrimaryKeyConstraint, Table, Text, UniqueConstraint, Uuid",
            "from sqlalchemy.dialects.postgresql import INET, INTERVAL, JSONB, REGCONFIG, TSVECTOR",
            "from memlayer_pg.models.catalog import XID8, metadata",
            *body,
        ]
    )


def main(dsn: str) -> None:
    """Write both modules."""
    with psycopg.connect(dsn) as conn:
        for what, kinds in (("tables", ["r", "p"]), ("views", ["v", "m"])):
            (HERE / f"{what}.py").write_text(module(conn, what, kinds), "utf-8")
    paths = [str(HERE / f"{what}.py") for what in ("tables", "views")]
    for command in (["format"], ["check", "--fix"], ["format"]):
        subprocess.run(["ruff", *command, "--quiet", *paths], check=True)


if __name__ == "__main__":
    main(sys.argv[1])
