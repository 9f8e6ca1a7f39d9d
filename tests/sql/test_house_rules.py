"""Rules every object in the schema keeps; read from the catalog, not from the text."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from memlayer_pg import errors, schema

Conn = psycopg.Connection[Any]

FUNCTIONS = "pg_proc p where p.pronamespace = 'memlayer'::regnamespace"

RELATIONS = """pg_class c where c.relnamespace = 'memlayer'::regnamespace
                           and c.relkind in ('r', 'p', 'v', 'm')"""

TABLES = """pg_class c where c.relnamespace = 'memlayer'::regnamespace and c.relkind in ('r', 'p')
                         and c.relname not in ('deployment', 'incarnation', 'alembic_version')"""
"""Those that hold what belongs to a tenant."""

API = sorted(path.stem for path in (schema.SQL / "api").glob("*.sql"))
"""What programs and people call; nothing else is called from Python, but for the handshake."""


def granted() -> dict[str, set[str]]:
    """The functions that sql/roles/grants.sql lists, by whom for: app, reader and admin."""
    text = (schema.SQL / "roles" / "grants.sql").read_text("utf-8")
    lists = re.findall(
        r"c_(app|reader|admin) constant text\[\] := array\[(.*?)\];", text, re.DOTALL
    )
    return {role: set(re.findall(r"'(\w+)'", listed)) for role, listed in lists}


GRANTED = granted()
HARMLESS = {"now", "today", "fold", "lower_case", "changed_keys", "scope_digest"}
"""What defaults, generated columns and readers call, with their own rights; they read nothing."""


def names(conn: Conn, query: str) -> list[str]:
    return [row[0] for row in conn.execute(query)]


def test_no_function_is_overloaded(conn: Conn) -> None:
    assert names(conn, f"select proname from {FUNCTIONS} group by 1 having count(*) > 1") == []


def test_no_function_depends_on_the_callers_search_path(conn: Conn) -> None:
    # A body parsed when it is made is bound already; a body kept as text needs a path of its own.
    assert (
        names(
            conn,
            f"""
        select proname from {FUNCTIONS} and prosqlbody is null
           and not coalesce(array_to_string(proconfig, ',') like '%search_path=%', false)""",
        )
        == []
    )


def test_a_frozen_search_path_ends_with_pg_temp_and_leaves_out_what_anybody_may_write(
    conn: Conn,
) -> None:
    # Where it is not named, a session's temporary objects come first.
    assert (
        names(
            conn,
            f"""
        select proname from {FUNCTIONS}
           and array_to_string(proconfig, ',') like '%search_path=%'
           and array_to_string(proconfig, ',') !~ 'search_path=pg_catalog, memlayer.*pg_temp'""",
        )
        == []
    )


@pytest.mark.parametrize(
    ("kind", "query"),
    [
        ("function", f"""select proname from {FUNCTIONS}
                            and obj_description(p.oid, 'pg_proc') is null"""),
        ("table", f"""select relname from {RELATIONS}
                         and obj_description(oid, 'pg_class') is null"""),
        ("column", f"""select format('%s.%s', c.relname, a.attname)
                         from (select c.oid, relname from {RELATIONS}) c
                         join pg_attribute a on a.attrelid = c.oid
                        where attnum > 0 and not attisdropped
                          and col_description(c.oid, a.attnum) is null"""),
        ("trigger", """select format('%s on %s', t.tgname, c.relname)
                         from pg_trigger t join pg_class c on c.oid = t.tgrelid
                        where c.relnamespace = 'memlayer'::regnamespace and not t.tgisinternal
                          and obj_description(t.oid, 'pg_trigger') is null"""),
        ("schema", """select 'memlayer'
                       where obj_description('memlayer'::regnamespace, 'pg_namespace') is null"""),
    ],
)  # fmt: skip
def test_everything_says_what_it_is_for(kind: str, query: str, conn: Conn) -> None:
    assert names(conn, query) == [], f"a {kind} without a comment"


def test_keys_and_indexes_that_can_start_with_the_tenant_do(conn: Conn) -> None:
    assert (
        names(
            conn,
            f"""
        select i.relname
          from pg_index x
          join pg_class i on i.oid = x.indexrelid
          join pg_am a on a.oid = i.relam and a.amname = 'btree'
         where x.indrelid in (select c.oid from {TABLES} and c.relname <> 'tenant_role')
           and (select attname from pg_attribute
                 where attrelid = x.indrelid and attnum = x.indkey[0]) is distinct from 'tenant'""",
        )
        == []
    )


def test_foreign_keys_stay_within_a_tenant(conn: Conn) -> None:
    assert (
        names(
            conn,
            f"""
        select k.conname
          from pg_constraint k
          join pg_attribute here on here.attrelid = k.conrelid and here.attnum = k.conkey[1]
          join pg_attribute there on there.attrelid = k.confrelid and there.attnum = k.confkey[1]
         where k.contype = 'f' and k.conrelid in (select c.oid from {TABLES})
           and (here.attname, there.attname) <> ('tenant', 'tenant')""",
        )
        == []
    )


def test_every_foreign_key_has_an_index_to_look_back_by(conn: Conn) -> None:
    assert (
        names(
            conn,
            f"""
        select k.conname
          from pg_constraint k
         where k.contype = 'f' and k.conrelid in (select c.oid from {TABLES})
           and not exists (
             select from pg_index x
              where x.indrelid = k.conrelid and x.indpred is null
                and (x.indkey::int2[])[0:cardinality(k.conkey) - 1] @> k.conkey)""",
        )
        == []
    )


def test_every_table_knows_the_tenant(conn: Conn) -> None:
    assert (
        names(
            conn,
            f"""
        select c.relname from {TABLES}
           and not exists (select from pg_attribute a
                            where a.attrelid = c.oid and a.attname = 'tenant'
                              and a.attnotnull)""",
        )
        == []
    )


def test_nothing_is_temporary_or_unlogged(conn: Conn) -> None:
    assert (
        names(
            conn,
            """
        select relname from pg_class
         where relnamespace = 'memlayer'::regnamespace and relpersistence <> 'p'""",
        )
        == []
    )


# --- rights ---------------------------------------------------------------------------------------


def test_nobody_executes_a_function_because_everybody_may(conn: Conn) -> None:
    assert (
        names(
            conn,
            f"""
        select proname from {FUNCTIONS}
           and (p.proacl is null
                or exists (select from aclexplode(p.proacl) a where a.grantee = 0))""",
        )
        == []
    ), "sql/roles/grants.sql has to run last"


def test_every_function_of_the_api_is_listed_in_the_grants() -> None:
    listed = set().union(*GRANTED.values())
    assert set(API) <= listed, "say in sql/roles/grants.sql for whom it is"
    assert GRANTED["admin"] & (GRANTED["app"] | GRANTED["reader"]) == set(), (
        "an admin has those, too"
    )


def test_the_grants_list_functions_that_there_are(conn: Conn) -> None:
    assert set().union(*GRANTED.values()) <= set(names(conn, f"select proname from {FUNCTIONS}"))


def test_what_roles_call_and_triggers_run_with_the_rights_of_the_owner(conn: Conn) -> None:
    query = (
        f"select proname from {FUNCTIONS} and (p.prosecdef or p.prorettype = 'trigger'::regtype)"
    )
    listed = set().union(*GRANTED.values()) - HARMLESS - {"exact_threshold"}
    assert listed - set(names(conn, query)) == set()
    assert names(conn, f"{query} and not p.prosecdef") == []


def test_a_function_with_the_rights_of_the_owner_has_a_path_and_is_no_helper(conn: Conn) -> None:
    query = (
        f"select proname from {FUNCTIONS} and p.prosecdef and p.prorettype <> 'trigger'::regtype"
    )
    assert set(names(conn, query)) - set().union(*GRANTED.values()) == {"require_tenant"}
    path = "array_to_string(p.proconfig, ',') like '%search_path=%'"
    assert (
        names(conn, f"select proname from {FUNCTIONS} and p.prosecdef and {path} is not true") == []
    )


def test_every_table_of_tenants_has_row_level_security(conn: Conn) -> None:
    policy = """select from pg_policy p where p.polrelid = c.oid and p.polroles = '{0}'
                   and p.polcmd = '*' and p.polname = 'tenants_of_the_login'"""
    assert (
        names(
            conn,
            f"""
        select c.relname from {TABLES} and not (c.relrowsecurity and exists ({policy}))""",
        )
        == []
    )


def test_a_view_reads_tables_with_the_rights_of_who_asks(conn: Conn) -> None:
    # Row-level security would be that of the owner, who sees all.
    assert (
        names(
            conn,
            """
        select relname from pg_class
         where relnamespace = 'memlayer'::regnamespace
           and (relkind = 'm' or relkind = 'v'
                and not 'security_invoker=true' = any (coalesce(reloptions, '{}')))""",
        )
        == []
    )


def test_the_tenant_is_checked_before_anything_else_is_said(conn: Conn) -> None:
    # Whoever may not use a tenant is told nothing of it, whatever else is wrong with the call.
    conn.execute("create role a_login_of_nobody")
    for name in sorted((GRANTED["app"] | GRANTED["reader"]) & set(API)):
        conn.execute(f"grant execute on function memlayer.{name} to a_login_of_nobody".encode())
    conn.execute("grant usage on schema memlayer to a_login_of_nobody")
    conn.execute("set local session authorization a_login_of_nobody")
    for name in sorted((GRANTED["app"] | GRANTED["reader"]) & set(API)):
        with pytest.raises(psycopg.Error) as raised, conn.transaction():
            conn.execute(f"select * from memlayer.{name}(p_tenant => 'other')".encode())
        assert raised.value.sqlstate == "ML007", name


def test_parameters_begin_with_p(conn: Conn) -> None:
    assert (
        names(
            conn,
            f"""
        select format('%s(%s)', p.proname, a.name)
          from pg_proc p
         cross join unnest(p.proargnames, p.proargmodes) a (name, mode)
         where p.pronamespace = 'memlayer'::regnamespace
           and coalesce(a.mode, 'i') in ('i', 'b', 'v') and a.name !~ '^p_'
           and p.proargtypes::oid[] && (select array_agg(c.reltype) from {TABLES}) is not true""",
        )
        == []
    )


def test_every_function_of_the_api_is_there(conn: Conn) -> None:
    assert set(API) <= set(names(conn, f"select proname from {FUNCTIONS}"))


def test_the_tenant_is_the_first_argument_of_the_whole_api(conn: Conn) -> None:
    # Citus ships a call to where its tenant lives by that argument.
    found = dict(conn.execute(f"select proname, proargnames[1] from {FUNCTIONS}").fetchall())
    assert {name: found[name] for name in API} == dict.fromkeys(API, "p_tenant")


def test_every_argument_of_the_api_has_a_default(conn: Conn) -> None:
    # So a caller names what he has, and a new argument breaks nobody.
    found = dict(
        conn.execute(f"select proname, pronargs - pronargdefaults from {FUNCTIONS}").fetchall()
    )
    assert {name: found[name] for name in API if found[name]} == {}


def test_files_are_named_for_what_they_make() -> None:
    for path in map(Path, schema.load_order()):
        if path.parts[0] == "api":
            text = (schema.SQL / path).read_text("utf-8")
            made = re.findall(r"^create or replace function memlayer\.(\w+)", text, re.MULTILINE)
            assert made == [path.stem]


# --- errors ---------------------------------------------------------------------------------------


def codes(text: str) -> set[str]:
    return set(re.findall(r"\bML\d{3}\b", text))


@pytest.fixture
def raised() -> set[str]:
    return {
        code
        for path in schema.load_order()
        for code in codes((schema.SQL / path).read_text("utf-8"))
    }


@pytest.mark.parametrize(
    "known",
    [
        lambda: {code for code in errors.BY_SQLSTATE if code},
        lambda: codes((schema.SQL / "README.md").read_text("utf-8")),
    ],
    ids=["exceptions", "readme"],
)
def test_every_error_code_is_known(raised: set[str], known: Callable[[], set[str]]) -> None:
    assert raised <= known()


def test_every_exception_and_the_readme_speak_of_the_same_codes() -> None:
    listed = codes((schema.SQL / "README.md").read_text("utf-8"))
    assert listed == {code for code in errors.BY_SQLSTATE if code}


def test_an_error_of_ours_says_what_to_do() -> None:
    statement = re.compile(r"raise exception using(.*?);\n", re.DOTALL)
    for path in schema.load_order():
        for raising in statement.findall((schema.SQL / path).read_text("utf-8")):
            assert "hint" in raising, f"sql/{path}: {raising}"
