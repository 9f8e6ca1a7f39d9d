"""The schema on a Citus cluster: the form of the script, and a cluster where there is one."""

from __future__ import annotations

import os
from typing import Any

import psycopg
import pytest

from memlayer_pg import Config, Memory, distributing, schema
from tests.api.harness import model
from tests.cli.running import Shell
from tests.conftest import create, named

CITUS = os.environ.get("MEMLAYER_TEST_CITUS_DSN")
API = [name.removeprefix("api/")[:-4] for name in schema.load_order() if "api/" in name]

STANDINS = """
create table called (place bigint generated always as identity, function text, args text[]);
create function create_distributed_table(t regclass, c text, colocate_with text default null)
returns void language sql as
$$ insert into called (function, args) values ('table', array[t::text, c, colocate_with]) $$;
create function create_reference_table(t regclass) returns void language sql as
$$ insert into called (function, args) values ('reference', array[t::text]) $$;
create function create_distributed_function(
  f regprocedure, c text default null, colocate_with text default null)
returns void language sql as
$$ insert into called (function, args) values ('function', array[f::text, c, colocate_with]) $$;
create function run_command_on_workers(c text) returns void language sql as
$$ insert into called (function, args) values ('workers', array[c]) $$;
"""
"""Functions of Citus by name and arguments, which write down that they were called."""


@pytest.fixture
def conn(server: str, template: str) -> Any:
    """A database with the schema, and functions that stand in for those of Citus."""
    with psycopg.connect(create(server, named(template)), autocommit=True) as conn:
        conn.execute(STANDINS)
        yield conn


def called(conn: Any, function: str) -> list[list[str]]:
    query = "select args from called where function = %s order by place"
    return [args for (args,) in conn.execute(query, [function])]


def test_every_table_is_laid_beside_the_others_after_what_it_refers_to(conn: Any) -> None:
    distributing.run(conn, distributing.steps(conn, API))
    tables = [args[0] for args in called(conn, "table")]
    assert tables[0] == "memlayer.setting"
    assert all(args[1] == "tenant" for args in called(conn, "table"))
    assert {args[2] for args in called(conn, "table")[1:]} == {"memlayer.setting"}
    whole = {args[0] for args in called(conn, "reference")}
    every = {
        name
        for (name,) in conn.execute(
            "select oid::regclass::text from pg_class"
            " where relnamespace = 'memlayer'::regnamespace and relkind = 'r'"
        )
    } - {"memlayer.alembic_version"}
    assert set(tables) | whole == every
    assert not set(tables) & whole
    keys = conn.execute(
        "select conrelid::regclass::text, confrelid::regclass::text from pg_constraint"
        " where contype = 'f' and connamespace = 'memlayer'::regnamespace"
    ).fetchall()
    assert keys
    for referring, referred in keys:
        assert tables.index(referring) > tables.index(referred)


def test_what_programs_call_runs_on_the_node_of_its_tenant(conn: Any) -> None:
    distributing.run(conn, distributing.steps(conn, API))
    functions = {args[0].partition("(")[0]: args[1:] for args in called(conn, "function")}
    for name in ("add", "search", "update", "delete", "get_all", "history", "import_memories"):
        assert functions[f"memlayer.{name}"] == ["p_tenant", "memlayer.setting"]
    for name in ("fold", "today", "record_history", "derive_memory", "document"):
        assert functions[f"memlayer.{name}"] == [None, None]
    [(count,)] = conn.execute(
        "select count(*) from pg_proc p where pronamespace = 'memlayer'::regnamespace"
        " and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass"
        " and d.objid = p.oid and d.deptype = 'e')"
    )
    assert len(called(conn, "function")) == count


def test_row_level_security_needs_no_subquery(conn: Any) -> None:
    distributing.run(conn, distributing.steps(conn, API))
    [(policies, subqueries)] = conn.execute(
        "select count(*), count(*) filter (where polqual::text like '%SUBLINK%') from pg_policy"
        " where polname = 'tenants_of_the_login'"
    )
    assert policies > 10
    assert subqueries == 0
    conn.execute("insert into memlayer.memory (tenant, user_id, text) values ('acme', 'ann', 'x')")
    conn.execute("insert into memlayer.memory (user_id, text) values ('ann', 'y')")
    conn.execute("create role somebody; grant usage on schema memlayer to somebody")
    conn.execute("grant select on memlayer.memory to somebody")
    conn.execute("grant execute on function memlayer.login_tenants() to somebody")
    try:
        conn.execute("set session authorization somebody")
        assert conn.execute("select text from memlayer.memory").fetchall() == [("y",)]
    finally:
        conn.execute("reset session authorization")
        conn.execute("drop owned by somebody; drop role somebody")


def test_the_change_feed_goes_on_after_it_was_told_to_count_by_node(
    conn: Any, endpoint: Any
) -> None:
    memory = Memory(Config(dsn=conn.info.dsn, embedder=model(endpoint)))
    with memory:
        memory.add("before", user_id="ann", infer=False)
        distributing.run(conn, distributing.steps(conn, API))
        memory.add("after", user_id="ann", infer=False)
        found = memory.changes_since()["results"]
        assert [change["new_memory"] for change in found] == ["before", "after"]
    assert conn.execute("select * from memlayer.verify()").fetchall() == []


def test_on_plain_postgres_the_command_shows_the_statements_and_changes_nothing(
    server: str, template: str
) -> None:
    dsn = create(server, named(template))
    shell = Shell(dsn)
    ran = shell.well("db", "distribute")
    assert "create_distributed_table('memlayer.memory', 'tenant'" in ran.out
    assert "nothing was changed" in ran.err
    told = shell.well("db", "distribute", "--json").json
    assert (told["citus"], told["changed"]) == (None, False)
    assert schema.check(dsn) == []


def test_advice_names_what_is_large(server: str, template: str) -> None:
    dsn = create(server, named(template))
    shell = Shell(dsn)
    assert "no memories yet" in shell.well("db", "partition-advice").out
    shell.add("tea")
    assert "nothing to do" in shell.well("db", "partition-advice").out
    small = f"{dsn} options='-c effective_cache_size=8kB'"
    [first, second] = Shell(small).well("db", "partition-advice", "--json").json["advice"]
    assert "larger than the cache" in first
    assert "Tenant default has 100% of the memories" in second


@pytest.mark.skipif(CITUS is None, reason="MEMLAYER_TEST_CITUS_DSN names no cluster")
def test_a_cluster_keeps_every_tenant_on_its_node(endpoint: Any) -> None:
    assert CITUS is not None
    schema.ensure(CITUS)
    with psycopg.connect(CITUS, autocommit=True) as conn:
        distributing.run(conn, distributing.steps(conn, API))
        assert all("function" in step.statement for step in distributing.steps(conn, API)[4:])
        for tenant in ("acme", "umbrella", "default"):
            with Memory(Config(dsn=CITUS, tenant=tenant, embedder=model(endpoint))) as memory:
                memory.reset()
                [tea] = memory.add(f"{tenant} likes tea", user_id="ann", infer=False)["results"]
                memory.update(tea["id"], f"{tenant} likes coffee")
                [found] = memory.search("coffee", filters={"user_id": "ann"})["results"]
                assert found["memory"] == f"{tenant} likes coffee"
                memory.delete(tea["id"])
                memory.restore(tea["id"])
                events = [row["event"] for row in memory.history(tea["id"])]
                assert events == ["ADD", "UPDATE", "DELETE", "ADD"]
        assert conn.execute("select * from memlayer.verify()").fetchall() == []
