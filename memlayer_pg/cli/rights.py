"""What `memlayer doctor` says about the role it runs as, and of who might mislead our functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memlayer_pg.cli.checks import Check, one
from memlayer_pg.config import Config

if TYPE_CHECKING:
    import psycopg

STANDING = """
select session_user::text, r.rolsuper, r.rolbypassrls,
       pg_has_role(session_user, n.nspowner, 'usage'),
       has_schema_privilege(session_user, n.oid, 'usage')
         and exists (select from pg_proc p
                      where p.pronamespace = n.oid and p.proname = 'handshake'
                        and has_function_privilege(session_user, p.oid, 'execute')),
       array(select k.kind from unnest(%s::text[], %s::text[]) with ordinality k (kind, role, n)
              where pg_has_role(session_user, to_regrole(k.role), 'usage') order by k.n)
  from pg_roles r
  cross join pg_namespace n
 where r.rolname = session_user and n.nspname = 'memlayer'
"""

TENANTS = "select memlayer.login_tenants()"

OPEN = """
select n.nspname::text, array_agg(w.role order by w.role)
  from pg_extension e
  join pg_namespace n on n.oid in (e.extnamespace, to_regnamespace('memlayer'))
 cross join unnest(array['public', 'memlayer_app', 'memlayer_reader']) w (role)
 where e.extname = 'vector'
   and (w.role = 'public' or to_regrole(w.role) is not null)
   and has_schema_privilege(w.role, n.oid, 'create')
 group by 1
 order by 1
 limit 1
"""

GRANT = "memlayer db grant LOGIN --as app"


def role(conn: psycopg.Connection[Any], config: Config) -> Check:
    """Who we are, and what we may do."""
    from memlayer_pg.roles import ROLES

    kinds, names = list(ROLES), [name for name, _ in ROLES.values()]
    row = conn.execute(STANDING, [kinds, names]).fetchone()
    if row is None:
        return Check("role", "warn", "cannot be looked at without the schema")
    login, is_super, bypasses, owns, calls, has = row
    if is_super:
        said = f"{login} is a superuser: it has every tenant, and no row is hidden from it"
        if config.dsn is None:
            return Check("role", "ok", said)
        return Check("role", "warn", said, f"Give programs a login of their own: {GRANT}")
    if owns:
        return Check("role", "ok", f"{login} owns the schema: it has every tenant, and all rights")
    if not has and calls:
        said = f"{login} has no role of ours, only what somebody granted it by hand"
        return Check("role", "warn", said, GRANT.replace("LOGIN", login))
    if not has:
        said = f"{login} has no role of ours, and may not call our functions"
        return Check("role", "fail", said, GRANT.replace("LOGIN", login))
    if bypasses:
        said = f"{login} bypasses row-level security: it reads the tables of every tenant"
        return Check("role", "warn", said, f"alter role {login} nobypassrls")
    said = f"{login} is {' and '.join(has)}"
    if "admin" in has:
        return Check("role", "ok", f"{said}; it has every tenant")
    [tenants] = one(conn, TENANTS)
    said = f"{said}; its tenants: {', '.join(tenants)}"
    if config.tenant not in tenants:
        remedy = f"memlayer db grant {login} --as {has[0]} --tenant {config.tenant}"
        return Check("role", "fail", f"{said}, and not {config.tenant}", remedy)
    return Check("role", "ok", said)


def schemas(conn: psycopg.Connection[Any], config: Config) -> Check:
    """Whether anybody may make objects where our functions look for theirs."""
    row = conn.execute(OPEN).fetchone()
    if row is None:
        return Check("schemas", "ok", "only owners make objects where our functions look for them")
    name, who = row
    said = (
        f"{', '.join(who)} may make objects in schema {name}, where our functions, "
        "which run as their owner, look for operators"
    )
    return Check("schemas", "warn", said, f"revoke create on schema {name} from {', '.join(who)}")
