"""The way from one state of sql/ to another: what Postgres makes of both, and what is between."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import psycopg

from memlayer_pg.catalog import Catalog, Key, catalog

ONCE = re.compile(r"^create (?!or replace|extension|schema)", re.MULTILINE)
"""A statement that cannot be run a second time."""

INDEX = re.compile(r"create (?:unique )?index (\w+)")
STORAGE = re.compile(r"(alter table [\w.]+) set \((.*)\)")

DEPENDENTS = """
with recursive going (class, id) as (
  select 'pg_proc'::regclass::oid, oid
    from pg_proc
   where pronamespace = 'memlayer'::regnamespace and proname = any (%s)
  union
  select d.classid, d.objid
    from pg_depend d
    join going g on (d.refclassid, d.refobjid) = (g.class, g.id)
   where d.classid in ('pg_proc'::regclass, 'pg_trigger'::regclass) and d.deptype = 'n'
)
select 'function', p.oid::regprocedure::text
  from going g
  join pg_proc p on (g.class, g.id) = ('pg_proc'::regclass, p.oid)
union all
select 'trigger', format('%%s on %%s', t.tgname, c.relname)
  from going g
  join pg_trigger t on (g.class, g.id) = ('pg_trigger'::regclass, t.oid)
  join pg_class c on c.oid = t.tgrelid
"""
"""Some functions, and those functions and triggers that Postgres does not leave without them."""


CONSTRAINTS = """
select 'constraint', format('%s on %s', k.conname, c.relname), pg_get_constraintdef(k.oid)
  from pg_constraint k
  join pg_class c on c.oid = k.conrelid
 where k.connamespace = 'memlayer'::regnamespace and k.contype <> 'n'
 order by k.contype = 'f', 2
"""


@dataclass(frozen=True)
class Laid:
    """What Postgres made of sql/ as it stood at one time."""

    texts: dict[str, str]
    """By file, in load order."""
    catalog: Catalog
    made_by: dict[Key, str]
    """The file of each object, in the order they were made."""
    constraints: dict[Key, str]
    """Of each constraint what stands behind its name; foreign keys come last."""
    conn: psycopg.Connection[Any]

    def functions(self) -> dict[str, str]:
        """Of each function what stands before its language: `create or replace` keeps to it."""
        return {
            bare(name): text.split("\n LANGUAGE")[0]
            for (kind, name), text in self.catalog.items()
            if kind == "function"
        }

    def with_dependents(self, functions: Iterable[str]) -> list[Key]:
        """What cannot be left when these functions go, and they, the last made first."""
        names = [name.removeprefix("memlayer.") for name in functions]
        found = set(self.conn.execute(DEPENDENTS.encode(), [names]).fetchall())
        return [key for key in reversed(self.made_by) if key in found]


def bare(function: str) -> str:
    """A function without its arguments: there is one of a name."""
    return function.split("(")[0]


def lay(conn: psycopg.Connection[Any], texts: dict[str, str]) -> Laid:
    """Run the files in an empty database, looking after each at what it made."""
    conn.execute("create schema memlayer")
    found, made_by = looked(conn), dict[Key, str]()
    for path, text in texts.items():
        conn.execute(text.encode())
        found = looked(conn)
        made_by |= {key: path for key in found if key not in made_by}
    catalog(conn)  # from here on names are written out
    rows = conn.execute(CONSTRAINTS).fetchall()
    return Laid(texts, found, made_by, {(kind, name): text for kind, name, text in rows}, conn)


def looked(conn: psycopg.Connection[Any]) -> Catalog:
    """The catalog, which is read by a search path of its own: the session keeps the one it has."""
    with conn.transaction(force_rollback=True):
        return catalog(conn)


def reshaped(here: Laid, there: Laid) -> list[Key]:
    """Functions that `create or replace` refuses to bring there, and what depends on them."""
    heads = there.functions()
    return here.with_dependents(
        name for name, head in here.functions().items() if heads.get(name, head) != head
    )


def only(here: Laid, there: Laid) -> list[Key]:
    """What is here only, the last made first, but for what comes and goes with its table."""
    keys = [key for key in reversed(here.made_by) if key not in there.catalog]
    functions = there.functions()
    tables = {here.made_by[kind, name] for kind, name in keys if kind == "table"}
    constraints = {name.split(" on ")[0] for kind, name in keys if kind == "constraint"}
    return [
        (kind, name)
        for kind, name in keys
        if kind in ("table", "view", "type", "statistics", "trigger")
        or (kind == "function" and bare(name) not in functions)
        or (kind == "index" and name not in constraints and here.made_by[kind, name] not in tables)
    ]


def dragged(left: Laid, wanted: Laid) -> set[str]:
    """The files to be run because of others: what they make is made of them, or goes with them."""
    dropped = {*reshaped(left, wanted), *reshaped(wanted, left)}
    return {
        wanted.made_by[key]
        for key, text in wanted.catalog.items()
        if key[0] in ("function", "trigger")
        and (key in dropped or left.catalog.get(key, text) != text)
    }


def statements(text: str) -> list[str]:
    """Those of a table's file, a line each, without comments."""
    code = re.sub(r"^\s*--.*\n", "", text, flags=re.MULTILINE)
    return [
        re.sub(r"\s*\n\s*", " ", one.strip()) for one in re.split(r";\s*\n", code) if one.strip()
    ]


def altering(here: str, there: str) -> list[str]:
    """What brings a table's file there, but for the columns."""
    before, after = statements(here), statements(there)
    settings = [STORAGE.fullmatch(one) for one in before if one not in after]
    reset = [f"{m[1]} reset ({re.sub(r' *=[^,]*', '', m[2])})" for m in settings if m]
    new = [one for one in after if one not in before and not one.startswith("create table")]
    indexes = [found[1] for found in map(INDEX.match, new) if found]
    comments = [f"comment on index memlayer.{name} is" for name in indexes]
    return [*reset, *new, *(one for one in before if one in after and one.startswith((*comments,)))]


def constrained(here: Laid, there: Laid) -> list[Key]:
    """Constraints that are not there as they are here, on tables that are; foreign keys last."""
    return [
        (kind, name)
        for (kind, name), text in here.constraints.items()
        if there.constraints.get((kind, name)) != text
        and ("table", name.split(" on ")[1]) in there.catalog
    ]


def way(here: Laid, there: Laid, by_hand: list[str], files: str, at: str) -> list[str]:
    """The statements of a revision's function: drop, run files, drop."""
    came = constrained(there, here)
    alter = [f"{add(key)} {there.constraints[key]}" for key in came]
    alter += [one for path in by_hand for one in altering(here.texts[path], there.texts[path])]
    made = {found[1] for found in map(INDEX.match, alter) if found}
    made |= {name.split(" on ")[0] for _, name in came}
    made -= {name.split(" on ")[0] for _, name in here.constraints}  # goes with its constraint
    indexes = [("index", name) for name in sorted(made) if ("index", name) in here.catalog]
    first = [*reshaped(here, there), *reversed(constrained(here, there)), *indexes]
    last = [key for key in only(here, there) if key not in first]
    altered = f"schema.alter(\n{''.join(map(argument, alter))}        at={at},\n    )"
    return [
        *(f'schema.run("{drop(key)}")' for key in first),
        *([altered] if alter else []),
        files,
        *(f'schema.run("{drop(key)}")' for key in last),
    ]


def add(constraint: Key) -> str:
    name, table = constraint[1].split(" on ")
    return f"alter table memlayer.{table} add constraint {name}"


def drop(key: Key) -> str:
    kind, name = key
    if kind == "trigger":
        trigger, table = name.split(" on ")
        return f"drop trigger {trigger} on memlayer.{table}"
    if kind == "constraint":
        constraint, table = name.split(" on ")
        return f"alter table memlayer.{table} drop constraint {constraint}"
    return f"drop function {bare(name)}" if kind == "function" else f"drop {kind} memlayer.{name}"


def argument(statement: str) -> str:
    """A statement as a Python string, in lines that are not too long."""
    lines = textwrap.wrap(statement, 80, drop_whitespace=False, break_on_hyphens=False)
    return "".join(f"        {quoted(line)}\n" for line in lines)[:-1] + ",\n"


def quoted(text: str) -> str:
    text = text.replace("\\", r"\\")
    return f"'{text}'" if '"' in text and "'" not in text else '"' + text.replace('"', r"\"") + '"'
