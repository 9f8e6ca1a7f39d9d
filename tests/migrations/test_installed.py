"""The wheel, installed in an environment of its own, brings databases up, down and by psql."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
import pytest

from memlayer_pg import schema
from tests.catalog import catalog
from tests.conftest import run
from tests.migrations.revisions import REVISIONS, fill, psql, psql_as_it_is, state


def test_its_command_brings_a_database_up_and_back(
    release: Path, template: str, empty: str
) -> None:
    memlayer = release / "memlayer"
    told = json.loads(run(memlayer, "--json", "db", "upgrade", "--dsn", empty))
    assert [step["revision"] for step in told["steps"]] == REVISIONS
    assert told["revision"] == schema.HEAD
    assert catalog(empty) == catalog(template)
    run(memlayer, "db", "check", "--dsn", empty)
    run(memlayer, "db", "downgrade", "ml0001", "--yes", "--dsn", empty)
    assert schema.current(empty) == "ml0001"


@pytest.mark.parametrize("start", [None, *REVISIONS[:-1]])
def test_its_sql_brings_a_database_to_the_head_with_what_is_in_it(
    start: str | None, release: Path, template: str, empty: str
) -> None:
    kept = None
    if start:
        schema.migrate(empty, start)
        fill(empty, start)
        kept = state(empty)
    script = run(release / "memlayer", "db", "sql", *(["--from", start] if start else []))
    psql(empty, stdin=script)
    assert catalog(empty) == catalog(template)
    assert schema.current(empty) == schema.HEAD
    assert kept in (None, state(empty))
    schema.migrate(empty)  # alembic, too, knows where the database is


def test_its_sql_ends_when_a_lock_is_not_to_be_had_and_leaves_nothing_half_done(
    release: Path, empty: str
) -> None:
    schema.migrate(empty, "ml0001")
    before = catalog(empty)
    script = run(release / "memlayer", "db", "sql", "--from", "ml0001")
    with psycopg.connect(empty) as other:
        other.execute("select from memlayer.memory")
        # Without ON_ERROR_STOP, as people run it: what follows a failure is refused, too.
        done = psql_as_it_is(empty, stdin=script, PGOPTIONS="-c lock_timeout=200ms")
        assert "canceling statement due to lock timeout" in done.stderr
        assert catalog(empty) == before
        assert schema.current(empty) == "ml0001"
    psql(empty, stdin=script)
    assert schema.check(empty) == []


def test_its_sql_waits_a_minute_for_a_lock_where_no_wait_was_set(release: Path, empty: str) -> None:
    script = run(release / "memlayer", "db", "sql")
    asks = "create table seen as select current_setting('lock_timeout')"
    asked = script.replace("\nCOMMIT;", f"\n{asks};\nCOMMIT;")
    for set_before, seen in (("", "1min"), ("set lock_timeout = '5s';\n", "5s")):
        psql(empty, stdin=set_before + asked)
        with psycopg.connect(empty) as conn:
            assert conn.execute("select * from seen").fetchone() == (seen,)
            conn.execute("drop table seen; drop schema memlayer cascade")
