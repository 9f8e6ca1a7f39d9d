"""What stands in schema memlayer, as rows that two databases can be compared by.

Postgres prints both sides, so nothing has to be normalised. Left out is what may differ without
harm: the order of columns, alembic's version table, who may use what.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import psycopg

Key = tuple[str, str]
"""An object: its kind and its name."""
Catalog = dict[Key, str]
"""The definition of each object."""

QUERY = r"""
with ours as (
  select oid, relname, relkind, reloptions, relrowsecurity, relforcerowsecurity
    from pg_class
   where relnamespace = 'memlayer'::regnamespace and relname !~ '^alembic_version'
)
select 'schema', 'memlayer', obj_description('memlayer'::regnamespace, 'pg_namespace')
union all
select 'function', p.oid::regprocedure::text,
       concat_ws(e'\n', pg_get_functiondef(p.oid), obj_description(p.oid, 'pg_proc'))
  from pg_proc p
 where p.pronamespace = 'memlayer'::regnamespace and p.prokind in ('f', 'p')
union all
select case c.relkind when 'v' then 'view' else 'table' end, c.relname,
       concat_ws(' ', c.relkind, c.reloptions, c.relrowsecurity, c.relforcerowsecurity,
                 case when c.relkind = 'v' then pg_get_viewdef(c.oid) end,
                 obj_description(c.oid, 'pg_class'))
  from ours c
 where c.relkind in ('r', 'p', 'v', 'm')
union all
select 'column', format('%s.%s', c.relname, a.attname),
       concat_ws(' ', format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attgenerated,
                 a.attidentity, a.attstorage, nullif(a.attcompression, ''), a.attoptions,
                 nullif(a.attstattarget, -1), a.attcollation::regcollation,
                 pg_get_expr(d.adbin, d.adrelid), col_description(c.oid, a.attnum))
  from ours c
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  left join pg_attrdef d on (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
 where c.relkind in ('r', 'p', 'v', 'm')
union all
select 'constraint', format('%s on %s', k.conname, c.relname),
       concat_ws(' ', pg_get_constraintdef(k.oid), obj_description(k.oid, 'pg_constraint'))
  from pg_constraint k
  join ours c on c.oid = k.conrelid
 where k.contype <> 'n'
union all
select 'index', i.relname,
       concat_ws(' ', pg_get_indexdef(i.oid), obj_description(i.oid, 'pg_class'))
  from pg_index x
  join ours c on c.oid = x.indrelid
  join pg_class i on i.oid = x.indexrelid
union all
select 'trigger', format('%s on %s', t.tgname, c.relname),
       concat_ws(' ', pg_get_triggerdef(t.oid), t.tgenabled,
                 obj_description(t.oid, 'pg_trigger'))
  from pg_trigger t
  join ours c on c.oid = t.tgrelid
 where not t.tgisinternal
union all
select 'type', t.typname,
       concat_ws(' ', t.typtype, format_type(nullif(t.typbasetype, 0), t.typtypmod), t.typnotnull,
                 t.typdefault, obj_description(t.oid, 'pg_type'),
                 (select string_agg(e.enumlabel, ', ' order by e.enumsortorder)
                    from pg_enum e where e.enumtypid = t.oid),
                 (select string_agg(pg_get_constraintdef(k.oid), ', ' order by k.conname)
                    from pg_constraint k where k.contypid = t.oid),
                 (select string_agg(format('%s %s', a.attname,
                                           format_type(a.atttypid, a.atttypmod)),
                                    ', ' order by a.attnum)
                    from pg_attribute a where a.attrelid = c.oid and not a.attisdropped))
  from pg_type t
  left join pg_class c on c.oid = t.typrelid
 where t.typnamespace = 'memlayer'::regnamespace
   and (t.typtype in ('d', 'e') or c.relkind = 'c')
union all
select 'statistics', s.stxname,
       concat_ws(' ', pg_get_statisticsobjdef(s.oid), obj_description(s.oid, 'pg_statistic_ext'))
  from pg_statistic_ext s
 where s.stxnamespace = 'memlayer'::regnamespace
union all
select 'policy', format('%s on %s', p.polname, c.relname),
       concat_ws(' ', p.polcmd, p.polpermissive, pg_get_expr(p.polqual, p.polrelid),
                 pg_get_expr(p.polwithcheck, p.polrelid),
                 obj_description(p.oid, 'pg_policy'))
  from pg_policy p
  join ours c on c.oid = p.polrelid
 where p.polroles = '{0}'
"""


# What Postgres may print in other words once it has read what it printed.
PRINTED = """
select pg_get_functiondef(p.oid)
  from pg_proc p
 where p.pronamespace = 'memlayer'::regnamespace and p.prosqlbody is not null
union all
select format('alter table %s drop constraint %I, add constraint %I %s',
              k.conrelid::regclass, k.conname, k.conname, pg_get_constraintdef(k.oid))
  from pg_constraint k
 where k.connamespace = 'memlayer'::regnamespace and k.contype = 'c'
"""


def catalog(conn: psycopg.Connection[Any]) -> Catalog:
    """The definitions of everything in schema memlayer; empty when there is no such schema."""
    [[known]] = conn.execute("select to_regnamespace('memlayer') is not null")
    if not known:
        return {}
    # Names outside it are written out whatever path the session has.
    conn.execute("select set_config('search_path', 'pg_catalog', true)")
    return {(kind, name): text or "" for kind, name, text in conn.execute(QUERY)}


def compare(conn: psycopg.Connection[Any], texts: Iterable[str]) -> list[str]:
    """How schema memlayer differs from what these statements make, a line an object.

    They are run beside it, and taken back. pg_restore reads what Postgres printed, and so a schema
    is as it should be that is like either, what was made or what was read again.
    """
    with conn.transaction(force_rollback=True):
        found = catalog(conn)
        conn.execute("alter schema memlayer rename to memlayer_found")
        for text in texts:
            conn.execute(text.encode())
        faults = differences(found, catalog(conn))
        if faults:
            for [statement] in conn.execute(PRINTED).fetchall():
                conn.execute(statement)
            again = differences(found, catalog(conn))
            faults = [fault for fault in faults if fault in again]
    return faults


def differences(found: Catalog, expected: Catalog) -> list[str]:
    """What is wrong with a catalog, a line an object; an index more than expected is no fault."""
    faults = [f"{kind} {name} is missing" for kind, name in expected.keys() - found.keys()]
    faults += [
        f"{kind} {name} is not ours"
        for kind, name in found.keys() - expected.keys()
        if kind != "index"
    ]
    faults += [
        f"{kind} {name} is not what this version made"
        for kind, name in found.keys() & expected.keys()
        if found[kind, name] != expected[kind, name]
    ]
    return sorted(faults)
