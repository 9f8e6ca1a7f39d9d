"""What lays the schema on a Citus cluster: statements made from the catalog, in their order.

Every key of the schema begins with the tenant, and every function that a program calls has it as
its first argument. So a table is distributed by it, all beside one another, and a call runs whole
on the node that has the tenant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import psycopg

EVERYWHERE = ("deployment", "incarnation", "tenant_role")
"""Tables that every call reads whole, whatever its tenant: each node has a copy."""
FIRST = "setting"
"""The table that the others are laid beside."""

TABLES = """
with recursive ours as (
  select c.oid, c.relname as name
    from pg_class c
   where c.relnamespace = 'memlayer'::regnamespace and c.relkind = 'r'
     and (c.relname = any (%(everywhere)s)
          or exists (select from pg_attribute a
                      where a.attrelid = c.oid and a.attname = 'tenant' and not a.attisdropped))
),
ordered as (
  select o.oid, o.name, 0 as depth from ours o
  union
  -- After whatever it refers to.
  select c.conrelid, p.name, o.depth + 1
    from ordered o
    join pg_constraint c on c.contype = 'f' and c.confrelid = o.oid and c.conrelid <> o.oid
    join ours p on p.oid = c.conrelid
)
select o.name
  from ordered o
 group by o.name
 order by o.name <> all (%(everywhere)s), max(o.depth), o.name <> %(first)s, o.name
"""

FUNCTIONS = """
select p.oid::regprocedure::text,
       p.proargnames[1] = 'p_tenant' and p.proname = any (%(api)s) as by_tenant
  from pg_proc p
 where p.pronamespace = 'memlayer'::regnamespace
   and p.prokind = 'f'
   and not exists (select from pg_depend d
                    where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
 order by p.oid
"""

FEED = """\
create or replace function memlayer.feed_position()
  returns bigint
  language sql
  volatile
return coalesce((select max(i.number) from memlayer.incarnation i), 1) * 281474976710656
     + greatest(pg_current_xact_id()::text::bigint,
                pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1);
create or replace function memlayer.feed_horizon()
  returns bigint
  language sql
  stable
return coalesce((select max(i.number) from memlayer.incarnation i), 1) * 281474976710656
     + pg_snapshot_xmin(pg_current_snapshot())::text::bigint;
insert into memlayer.incarnation (number, system_identifier)
select 1, (pg_control_system()).system_identifier
 where not exists (select from memlayer.incarnation)\
"""
"""A node must not write a table that all have while it writes its own: the feed of a tenant counts
by the transactions of its node, and a new incarnation is begun by hand."""


POLICIES = """
select format(
    'alter policy tenants_of_the_login on %s using (tenant = any (memlayer.login_tenants()))',
    p.polrelid::regclass)
  from pg_policy p
  join pg_class c on c.oid = p.polrelid
 where c.relnamespace = 'memlayer'::regnamespace
   and p.polname = 'tenants_of_the_login'
   and p.polqual::text like '%SUBLINK%'
 order by 1
"""
"""Citus takes no policy with a subquery, which has the function asked once a statement."""


@dataclass(frozen=True)
class Step:
    """One statement of the script, and why it is there."""

    why: str
    statement: str


def installed(conn: psycopg.Connection[Any]) -> str | None:
    """The version of Citus in this database; None where it is plain Postgres."""
    query = "select extversion from pg_extension where extname = 'citus'"
    row = conn.execute(query).fetchone()
    return None if row is None else str(row[0])


def steps(conn: psycopg.Connection[Any], api: list[str]) -> list[Step]:
    """The statements that are still to be run, in their order; all of them on plain Postgres.

    `api`: names of the functions that programs call, each for one tenant.
    """
    done = _distributed(conn) if installed(conn) else set()
    [database] = conn.execute("select quote_ident(current_database())").fetchone() or ("",)
    allow = f"alter database {database} set citus.enable_unsafe_triggers = on"
    found = [
        Step("row triggers write history, on every node", allow),
        Step("the same on the workers", f"select run_command_on_workers({_quoted(allow)})"),
        Step("and in this session", "set citus.enable_unsafe_triggers = on"),
        Step("the change feed, counted on the node of its tenant", FEED),
    ]
    for (statement,) in conn.execute(POLICIES.encode()).fetchall():
        found.append(Step("row-level security without a subquery", statement))
    tables = conn.execute(TABLES, {"everywhere": list(EVERYWHERE), "first": FIRST}).fetchall()
    for (name,) in tables:
        if f"memlayer.{name}" in done:
            continue
        if name in EVERYWHERE:
            why, how = "read whole by every call", f"create_reference_table('memlayer.{name}')"
        else:
            beside = "" if name == FIRST else f", colocate_with => 'memlayer.{FIRST}'"
            why = f"{name}: rows of a tenant on one node"
            how = f"create_distributed_table('memlayer.{name}', 'tenant'{beside})"
        found.append(Step(why, f"select {how}"))
    for signature, by_tenant in conn.execute(FUNCTIONS, {"api": api}).fetchall():
        where = f", 'p_tenant', colocate_with => 'memlayer.{FIRST}'" if by_tenant else ""
        why = "runs on the node of its tenant" if by_tenant else "there on every node"
        how = f"create_distributed_function({_quoted(signature)}{where})"
        found.append(Step(why, f"select {how}"))
    return found


def run(conn: psycopg.Connection[Any], todo: list[Step]) -> None:
    """Run the statements, each in a transaction of its own: what was done is passed over later."""
    for step in todo:
        conn.execute(step.statement.encode())


def script(todo: list[Step]) -> str:
    """The statements as a file for psql."""
    return "".join(f"-- {step.why}\n{step.statement};\n" for step in todo)


def _distributed(conn: psycopg.Connection[Any]) -> set[str]:
    rows = conn.execute("select table_name::text from citus_tables").fetchall()
    return {name for (name,) in rows}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
