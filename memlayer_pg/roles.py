"""The roles of a cluster that stand for what one may do, and the logins that have them.

`sql/roles/grants.sql` says what each may do in a database; every revision runs it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.sql import SQL, Identifier

from memlayer_pg import db, schema
from memlayer_pg.effects import Call
from memlayer_pg.errors import DatabaseError, InputError

ROLES = {
    "app": ("memlayer_app", "Calls the functions that programs need; reads no table."),
    "reader": ("memlayer_reader", "Reads tables and views, as far as its tenants go."),
    "admin": ("memlayer_admin", "Calls every function, for every tenant; reads all tables."),
}
"""The role behind each word that `grant` takes, and what it is for."""

LOGINS = """
select r.rolname,
       array(select k.kind from unnest(%(kinds)s::text[], %(roles)s::text[])
                             with ordinality k (kind, role, n)
              where pg_has_role(r.oid, to_regrole(k.role), 'usage') order by k.n),
       array(select t.tenant from memlayer.tenant_role t where t.role = r.rolname order by 1)
  from pg_roles r
 where not r.rolsuper and r.rolname <> all (%(roles)s::text[])
   and exists (select from unnest(%(roles)s::text[]) k (role)
                where pg_has_role(r.oid, to_regrole(k.role), 'usage'))
 order by 1
"""

OWNER = """
select current_user, n.nspowner::regrole::text, pg_has_role(n.nspowner, 'usage')
  from pg_namespace n where n.nspname = 'memlayer'
"""


def create(conn: psycopg.Connection[Any]) -> list[str]:
    """Make the roles that are missing; their names.

    DatabaseError, with what to run, when this login may not make roles.
    """
    made = []
    with conn.transaction():
        for role, comment in ROLES.values():
            if _exists(conn, role):
                continue
            with _allowed(conn, "create roles", f"create role {role};"):
                conn.execute(SQL("create role {}").format(Identifier(role)))
            conn.execute(SQL("comment on role {} is {}").format(Identifier(role), comment))
            made.append(role)
    return made


def apply(conn: psycopg.Connection[Any]) -> bool:
    """Grant the roles what they may do in this database; False where there is no schema yet.

    DatabaseError when this login does not own the schema.
    """
    row = conn.execute(OWNER).fetchone()
    if row is None:
        return False
    user, owner, owns = row
    if not owns:
        raise DatabaseError(
            f"role {user} does not own schema memlayer, and so cannot grant what is in it",
            sqlstate="42501",
            hint=f"Let {owner} run: memlayer db roles",
        )
    with conn.transaction():
        conn.execute((schema.SQL / "roles" / "grants.sql").read_bytes())
    return True


def logins(conn: psycopg.Connection[Any]) -> list[dict[str, Any]]:
    """Who has one of the roles: `{"login", "as", "tenants"}`; superusers are left out."""
    names = {"kinds": list(ROLES), "roles": [role for role, _ in ROLES.values()]}
    return [
        {"login": login, "as": kinds, "tenants": tenants}
        for login, kinds, tenants in conn.execute(LOGINS, names)
    ]


def grant(
    conn: psycopg.Connection[Any], login: str, kind: str, tenants: Sequence[str] = ()
) -> list[str]:
    """Let a login do what `kind` (app, reader or admin) may, in these tenants; those new to it.

    Both or nothing. DatabaseError, with what to do, when a role is missing or this login may not.
    """
    role = _role(kind)
    if kind == "admin" and tenants:
        raise InputError("an admin has every tenant, and is bound to none")
    with conn.transaction():
        _require(conn, login, f"create role {login} login;")
        _require(conn, role, "memlayer db roles")
        if not _grantors(conn, login, role):
            with _allowed(conn, f"grant {role}", f"grant {role} to {login};"):
                conn.execute(SQL("grant {} to {}").format(Identifier(role), Identifier(login)))
        return [tenant for tenant in tenants if _bind(conn, "bind_tenant", login, tenant)]


def revoke(
    conn: psycopg.Connection[Any], login: str, kind: str | None, tenants: Sequence[str] = ()
) -> list[str]:
    """Take from a login its tenants, or where none is named what it may do; the roles it lost.

    `kind`: only this; None is all of app, reader and admin. With the last of them go its tenants.
    """
    with conn.transaction():
        for tenant in tenants:
            _bind(conn, "unbind_tenant", login, tenant)
        if tenants:
            return []
        lost = []
        for role in [_role(kind)] if kind else [role for role, _ in ROLES.values()]:
            for grantor in _grantors(conn, login, role):
                statement = SQL("revoke {} from {}").format(Identifier(role), Identifier(login))
                if conn.info.server_version >= 160000:  # a grant of each grantor stands by itself
                    statement += SQL(" granted by {}").format(Identifier(grantor))
                with _allowed(conn, f"revoke {role}", f"{statement.as_string(conn)};"):
                    conn.execute(statement)
                if role not in lost:
                    lost.append(role)
        if not any(entry["login"] == login for entry in logins(conn)):
            _bind(conn, "unbind_tenant", login, None)
        return lost


def _role(kind: str) -> str:
    if kind not in ROLES:
        raise InputError(f"a login is one of {', '.join(ROLES)}, not {kind}")
    return ROLES[kind][0]


def _exists(conn: psycopg.Connection[Any], role: str) -> bool:
    [[found]] = conn.execute("select exists (select from pg_roles where rolname = %s)", [role])
    return bool(found)


def _require(conn: psycopg.Connection[Any], role: str, remedy: str) -> None:
    if not _exists(conn, role):
        raise DatabaseError(f"there is no role {role}", sqlstate="42704", hint=f"Run: {remedy}")


def _grantors(conn: psycopg.Connection[Any], login: str, role: str) -> list[str]:
    """Who granted a login a role, so that it has the rights of that."""
    rows = conn.execute(
        "select distinct g.rolname from pg_auth_members m join pg_roles r on r.oid = m.roleid "
        "join pg_roles l on l.oid = m.member join pg_roles g on g.oid = m.grantor "
        "where (l.rolname, r.rolname) = (%s, %s) and pg_has_role(l.oid, r.oid, 'usage')",
        [login, role],
    )
    return [grantor for [grantor] in rows]


def _bind(conn: psycopg.Connection[Any], function: str, login: str, tenant: str | None) -> bool:
    """Whether bind_tenant or unbind_tenant changed anything."""
    who = "the owner of schema memlayer, or a member of memlayer_admin,"
    with _allowed(conn, "say which tenants a login has", "this again", who):
        [row] = db.perform(conn, Call(function, {"p_tenant": tenant, "p_role": login}))
    return bool(row[function])


@contextmanager
def _allowed(
    conn: psycopg.Connection[Any], act: str, remedy: str, who: str = "an administrator"
) -> Iterator[None]:
    """Say in our words that this login may not, and who can do what."""
    try:
        with db.translated():
            yield
    except DatabaseError as error:
        if error.sqlstate != "42501":
            raise
        raise DatabaseError(
            f"role {conn.info.user} may not {act}",
            sqlstate=error.sqlstate,
            hint=f"Let {who} run: {remedy}",
        ) from error
