"""sql/ says what stands in a database, migrations/ how it got there: these keep the two one."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import psycopg
import pytest
from alembic.script import Script

from memlayer_pg import schema
from tests.catalog import catalog
from tests.conftest import CHECKOUT
from tests.migrations.revisions import LARGE, REVISIONS, SCRIPTS, fill, psql, state

OPERATIONS = (CHECKOUT / "docs" / "operations.md").read_text("utf-8")


def test_the_head_is_what_sql_says(template: str, empty: str) -> None:
    schema.migrate(empty)
    assert catalog(empty) == catalog(template)


def test_sql_runs_in_psql_as_it_is(template: str, empty: str) -> None:
    psql(empty, "--single-transaction", "-f", str(schema.SQL / "all.sql"))
    assert catalog(empty) == catalog(template)


def test_every_step_down_undoes_its_step_up(empty: str) -> None:
    schema.migrate(empty, "base")  # makes the schema, which no way down drops
    for below, revision in pairwise(["base", *REVISIONS]):
        before = catalog(empty)
        schema.migrate(empty, revision)
        after = catalog(empty)
        schema.migrate(empty, below, down=True)
        assert catalog(empty) == before, f"{revision} down"
        schema.migrate(empty, revision)
        assert catalog(empty) == after, f"{revision} up again"


@pytest.mark.parametrize("script", SCRIPTS, ids=REVISIONS)
def test_a_revision_finds_the_text_it_was_written_for(script: Script) -> None:
    for path, digest in {**script.module.FILES, **script.module.ALTERED}.items():
        assert schema.digest(schema.text_at(path, script.revision)) == digest, (
            f"sql/{path} changed: run python migrations/revise.py"
        )


@pytest.mark.parametrize("script", SCRIPTS, ids=REVISIONS)
def test_a_revision_notes_in_the_database_that_it_stands(script: Script, empty: str) -> None:
    schema.migrate(empty, script.revision)
    assert schema.current(empty) == script.revision


def test_no_file_is_left_out() -> None:
    listed = schema.load_order()
    assert len(listed) == len(set(listed))
    assert set(listed) == {
        path.relative_to(schema.SQL).as_posix() for path in schema.SQL.glob("*/**/*.sql")
    }


def test_the_revisions_know_which_files_there_were() -> None:
    known: set[str] = set()
    for script in SCRIPTS:
        known |= {*script.module.FILES, *script.module.ALTERED}
        known -= {*getattr(script.module, "REMOVED", ())}
        assert set(schema.load_order(script.revision)) == known


def test_the_script_for_psql_makes_the_same_schema(template: str, empty: str) -> None:
    psql(empty, stdin=schema.sql())
    assert catalog(empty) == catalog(template)
    assert schema.current(empty) == schema.HEAD
    schema.migrate(empty)  # alembic, too, knows where the database is


def test_the_script_for_psql_goes_down_as_well(empty: str) -> None:
    schema.migrate(empty)
    psql(empty, stdin=schema.sql("base", down=True))
    assert list(catalog(empty)) == [("schema", "memlayer")]
    assert schema.current(empty) is None


@pytest.mark.parametrize("revision", REVISIONS)
def test_what_was_kept_at_a_revision_is_there_after_the_upgrade(revision: str, empty: str) -> None:
    """Filled by the functions of that day, read by today's; released or not, no row is lost."""
    schema.migrate(empty, revision)
    fill(empty, revision)
    kept = state(empty)
    assert kept["verify"] == []
    schema.migrate(empty)
    assert state(empty) == kept
    with psycopg.connect(empty) as conn:
        assert rows(conn, "select * from memlayer.verify()") == []
        assert rows(conn, "select text from memlayer.get_all(p_user_id => 'ann')") == [
            ("Ann lives in Rome",),
            ("Ann likes green tea",),
        ]
        [[first]] = rows(
            conn,
            """select text from memlayer.search(p_query => 'tea', p_embedding => '[1,0,0]',
                                                p_model => 'small', p_user_id => 'ann')
                limit 1""",
        )
        assert first == "Ann likes green tea"
        assert rows(
            conn,
            """select h.event, h.new_memory
                 from memlayer.memory m
                cross join memlayer.history(p_id => m.id) h
                where m.text = 'Ann lives in Rome'
                order by h.version""",
        ) == [("ADD", "Ann lives in Ulm"), ("UPDATE", "Ann lives in Rome")]
        assert rows(conn, "select content from memlayer.messages(p_user_id => 'ann')") == [
            ("I like green tea and live in Ulm",)
        ]
        assert rows(
            conn, "select vector_dims(embedding) from memlayer.memory where tenant = 'acme'"
        ) == [(1536,)]


@pytest.mark.parametrize(("below", "revision"), list(pairwise(REVISIONS)))
def test_what_was_kept_at_a_revision_is_there_after_the_way_down(
    below: str, revision: str, empty: str
) -> None:
    schema.migrate(empty, revision)
    fill(empty, revision)
    kept = state(empty)
    for step, down in ((below, True), (revision, False)):
        schema.migrate(empty, step, down=down)
        assert state(empty) == kept
        with psycopg.connect(empty) as conn:
            assert rows(conn, "select * from memlayer.verify()") == []
            assert rows(conn, "select text from memlayer.memory order by text") == [
                ("Ann likes green tea",),
                ("Ann lives in Rome",),
                ("Invoices are due within 30 days",),
            ]


@pytest.mark.parametrize(("below", "revision"), list(pairwise(REVISIONS)))
def test_no_revision_writes_a_large_table_anew(below: str, revision: str, empty: str) -> None:
    """What Postgres rewrites gets another file; what is updated, another place in it."""
    schema.migrate(empty, below)
    fill(empty, below)
    before = places(empty)
    schema.migrate(empty, revision)
    assert places(empty) == before
    schema.migrate(empty, below, down=True)
    assert places(empty) == before


def places(dsn: str) -> dict[str, list[tuple[Any, ...]]]:
    """Of each large table the file, and of each row its place and the transaction that wrote it."""
    with psycopg.connect(dsn) as conn:
        found = {
            table: rows(
                conn,
                f"select pg_relation_filenode('memlayer.{table}'), ctid::text, xmin::text "
                f"from memlayer.{table} order by ctid",
            )
            for table in LARGE
        }
    assert all(found.values())
    return found


@pytest.mark.parametrize(("below", "revision"), list(pairwise(REVISIONS)))
def test_docs_say_which_tables_a_revision_locks(below: str, revision: str, empty: str) -> None:
    schema.migrate(empty, below)
    fill(empty, below)
    begin, _, statements = schema.sql(revision, start=below).partition("BEGIN;")
    with psycopg.connect(empty) as conn:
        tables = "relnamespace = 'memlayer'::regnamespace and relkind = 'r'"
        there = {name for (name,) in rows(conn, f"select relname from pg_class where {tables}")}
        conn.execute((begin + statements.rpartition("COMMIT;")[0]).encode())
        locked = rows(
            conn,
            f"""
            select relname, mode
              from pg_locks join pg_class c on c.oid = relation
             where pid = pg_backend_pid() and {tables}""",
        )
        conn.rollback()
    used = {name for name, mode in locked if mode == "AccessExclusiveLock"} & there
    written = {name for name, mode in locked if mode.startswith("Share") and "Update" not in mode}
    [row] = re.findall(rf"^\| {revision} \| (.*) \| (.*) \|", OPERATIONS, re.MULTILINE)
    for told, found in zip(row, (used, written - used & there), strict=True):
        if told == "every table":
            assert found == there - {"alembic_version", "deployment"}
        else:
            assert set(re.findall(r"`(\w+)`", told)) == found & there


def rows(conn: psycopg.Connection[Any], query: str) -> list[tuple[Any, ...]]:
    return conn.execute(query).fetchall()
