"""`memlayer db`: the schema, and psql."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memlayer_pg import schema
from memlayer_pg.cli.database import invocation
from tests.cli.running import PROGRAM, Shell, memlayer, on_a_terminal, program


@pytest.fixture
def bare(empty: str) -> Shell:
    """A shell on a database in which there is nothing."""
    return Shell(empty)


def test_the_schema_goes_up_and_down(bare: Shell) -> None:
    none = {"revision": None, "head": schema.HEAD, "differences": None}
    assert bare.well("db", "current", "--json").json == none
    assert "there is no schema" in bare.well("db", "current").out

    ran = bare.well("db", "upgrade", "--json")
    assert ran.json["revision"] == schema.HEAD
    assert [step["revision"] for step in ran.json["steps"]] == schema.revisions()
    assert schema.HEAD in ran.err
    assert bare.well("db", "upgrade").out.endswith("nothing had to be done\n")
    ran = bare.well("db", "current")
    assert f"the schema is at {schema.HEAD}" in ran.out
    assert ran.err == ""
    assert bare.well("db", "check", "--json").json == []

    assert bare("db", "downgrade", "base").code == 2
    assert bare.well("db", "downgrade", "base", "--yes", "--json").json["revision"] is None


def test_a_way_down_has_to_be_confirmed(bare: Shell) -> None:
    bare.well("db", "upgrade")
    code, shown = on_a_terminal("db", "downgrade", "base", typed="n\n", **bare.env)
    assert code == 1
    assert "is lost" in shown
    assert bare.well("db", "current", "--json").json["revision"] == schema.HEAD


def test_a_schema_that_was_changed_by_hand_is_noticed(bare: Shell) -> None:
    bare.well("db", "upgrade")
    with psycopg.connect(bare.dsn) as conn:
        conn.execute("alter table memlayer.memory add column extra int")
    ran = bare("db", "check")
    assert ran.code == 1
    assert "extra" in ran.out
    assert bare("db", "check", "--json").json != []
    ran = bare.well("db", "current")
    assert "warning: it is not as" in ran.err
    assert "memlayer db check" in ran.err
    told = bare.well("db", "current", "--json").json
    assert told["differences"] == ["column memory.extra is not ours"]


def test_a_role_that_may_only_read_is_told_the_revision(alone: Shell) -> None:
    noted = f"insert into memlayer.deployment values ('{schema.HEAD}', false)"
    reader = f"{conninfo_to_dict(alone.dsn)['dbname']}_reader"
    with psycopg.connect(alone.dsn, autocommit=True) as conn:
        conn.execute(noted.encode())
        conn.execute(f"create role {reader} login".encode())
        conn.execute(f"grant usage on schema memlayer to {reader}".encode())
        conn.execute(f"grant select on memlayer.deployment to {reader}".encode())
        ran = Shell(make_conninfo(alone.dsn, user=reader)).well("db", "current", "--json")
        conn.execute(f"drop owned by {reader}".encode())
        conn.execute(f"drop role {reader}".encode())
    assert ran.json == {"revision": schema.HEAD, "head": schema.HEAD, "differences": None}


def test_a_missing_schema_is_said_with_the_command_that_makes_it(bare: Shell) -> None:
    for args in (["list", "--user", "ann"], ["history", "x" * 8], ["verify"], ["scopes"]):
        ran = bare(*args)
        assert ran.code == 1
        if args[0] != "history":
            assert "memlayer db upgrade" in ran.err
        assert "Traceback" not in ran.err


def test_an_unknown_revision_is_an_error(bare: Shell) -> None:
    ran = bare("db", "upgrade", "ml9999")
    assert ran.code == 1
    assert "ml9999" in ran.err


def test_sql_is_what_an_upgrade_would_run(bare: Shell) -> None:
    up = memlayer("db", "sql")
    assert up.code == 0
    with psycopg.connect(bare.dsn, autocommit=True) as conn:
        conn.execute(up.out.encode())
    assert bare.well("db", "current", "--json").json["revision"] == schema.HEAD
    down = memlayer("db", "sql", "--from", "head", "--to", "base", "--json").json["sql"]
    assert "drop" in down


def test_psql_runs_on_the_database(shell: Shell) -> None:
    done = subprocess.run(
        [*PROGRAM, "db", "psql", "-At", "-c", "select current_database(), 1 + 1"],
        env={**os.environ, **shell.env},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.endswith("|2\n")


def test_psql_ends_with_its_own_exit_code(shell: Shell) -> None:
    done = subprocess.run(
        [*PROGRAM, "db", "psql", "-v", "ON_ERROR_STOP=1", "-c", "select 1 / 0"],
        env={**os.environ, **shell.env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "division by zero" in done.stderr


def test_psql_refuses_json_for_its_output_is_its_own(shell: Shell) -> None:
    ran = shell("db", "psql", "--json", "-c", "select 1")
    assert (ran.code, ran.out) == (2, "")
    assert "--csv" in ran.err


def test_no_password_is_among_the_arguments_of_psql() -> None:
    given = {"host": "h", "user": "u", "password": "s3cret", "sslpassword": "t0p"}
    command, environment = invocation("psql", given, ("-c", "select 1"))
    assert command == ["psql", "-d", "host=h user=u", "-c", "select 1"]
    assert environment == {"PGPASSWORD": "s3cret"}


def test_the_psql_of_the_path_is_taken_and_told_the_password(shell: Shell, tmp_path: Path) -> None:
    fake = tmp_path / "psql"
    fake.write_text('#!/bin/sh\necho "$PGPASSWORD" "$@"\n')
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    done = subprocess.run(
        [*PROGRAM, "db", "psql", "--dsn", "postgresql://u:s3cret@h/d", "--csv", "-c", "x"],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [
        "s3cret",
        "-d",
        "user=u",
        "dbname=d",
        "host=h",
        "--csv",
        "-c",
        "x",
    ]


@pytest.mark.parametrize(
    "command", ["list --user ann", "verify", "db current", "db upgrade", f"history {'0' * 32}"]
)
def test_a_server_that_does_not_answer_is_an_error_without_the_password(command: str) -> None:
    dsn = "postgresql://ann:s3cret@127.0.0.1:1/store"
    ran = memlayer(*command.split(), "--dsn", dsn)
    assert ran.code == 1
    error, hint = ran.err.splitlines()
    assert error.startswith("error: ")
    assert hint.startswith("hint: ")
    assert "s3cret" not in ran.err + ran.out


def test_a_dsn_that_cannot_be_read_does_not_show_itself() -> None:
    ran = memlayer("scopes", "--dsn", "postgresql://ann:s3@cret@h/d")
    assert ran.code == 2
    assert "s3" not in ran.err


def test_debug_shows_the_traceback_and_no_password() -> None:
    dsn = make_conninfo(host="127.0.0.1", port=1, user="ann", password="s3cret")
    ran = memlayer("scopes", "--dsn", dsn, "--debug")
    assert ran.code == 1
    assert "Traceback" in ran.err
    assert "s3cret" not in ran.err


def test_the_language_is_set_and_what_is_remembered_is_indexed_anew(shell: Shell) -> None:
    shell.add("Die Häuser sind groß")
    assert shell.well("db", "set-language").out == "english\n"
    search = ("search", "Haus", "--user", "ann", "--keyword", "--json")
    assert shell.well(*search).json["results"] == []
    before = shell.well("list", "--user", "ann", "--json").json
    assert shell.well("db", "set-language", "german", "--json").json == {
        "tenant": shell.tenant,
        "config": "german",
        "before": "english",
        "rebuilt": 1,
        "statistics": [],
    }
    assert len(shell.well(*search).json["results"]) == 1
    assert shell.well("list", "--user", "ann", "--json").json == before
    assert shell.well("verify", "--json").json == []
    current = shell.well("db", "set-language", "--json").json
    assert current == {"tenant": shell.tenant, "config": "german"}
    again = shell.well("db", "set-language", "german").out
    assert again == "german (before: german); memories indexed anew: 0\n"


def test_the_words_of_large_scopes_are_counted_in_the_new_language(alone: Shell) -> None:
    with psycopg.connect(alone.dsn) as conn:
        conn.execute("insert into memlayer.setting (defaults) values ('{\"exact_threshold\": 1}')")
    for text in ("Die Häuser sind groß", "Zwei Häuser", "Ein Baum"):
        alone.add(text)
    alone.well("db", "refresh-statistics")
    assert words(alone) == [("hauser", 2)]
    ran = alone.well("db", "set-language", "german", "--json").json
    assert [(row["kind"], row["scope_id"]) for row in ran["statistics"]] == [("user", "ann")]
    assert words(alone) == [("haus", 2)]
    again = alone.well("db", "set-language", "german").out
    assert "memories indexed anew: 0; scopes whose words were counted anew: 1" in again
    code, shown = on_a_terminal("db", "set-language", "simple", **alone.env)
    assert code == 0
    assert "counting words" in shown


def words(shell: Shell) -> list[tuple[str, int]]:
    """The lexemes that are counted."""
    with psycopg.connect(shell.dsn) as conn:
        return conn.execute(
            "select lexeme, memories from memlayer.term_statistic order by lexeme"
        ).fetchall()


def test_a_language_that_is_not_there_ends_with_2_and_those_that_are(shell: Shell) -> None:
    ran = shell("db", "set-language", "klingon")
    assert ran.code == 2
    assert "klingon" in ran.err
    assert "german" in ran.err


def test_a_change_of_language_that_was_killed_goes_on(alone: Shell) -> None:
    old = """select count(*) from memlayer.memory
              where document <> memlayer.document(text, null, 'simple')"""
    with psycopg.connect(alone.dsn) as conn:
        conn.execute(
            """select memlayer.add(p_user_id => 'ann', p_facts => jsonb_agg(fact))
                 from generate_series(1, 2500) n,
                      jsonb_build_object('text', 'houses number ' || n) fact"""
        )
        conn.commit()
        conn.execute(
            "select from memlayer.memory where id = (select id from memlayer.memory"
            " order by id offset 1500 limit 1) for update"
        )
        with program("db", "set-language", "simple", **alone.env) as running:
            while "Lock" not in sessions(alone.dsn):
                assert running.poll() is None
            running.kill()
        conn.rollback()
    while sessions(alone.dsn):  # the batch that is under way may still be stored
        continue
    with psycopg.connect(alone.dsn) as conn:
        [left] = conn.execute(old).fetchone() or ()
    assert left in (500, 1000)
    assert alone.well("db", "set-language", "simple", "--json").json["rebuilt"] == left
    with psycopg.connect(alone.dsn) as conn:
        assert conn.execute(old).fetchone() == (0,)
    code, shown = on_a_terminal("db", "set-language", "english", **alone.env)
    assert code == 0
    assert "indexing" in shown
    assert "memories indexed anew: 2500" in shown


def sessions(dsn: str) -> list[str]:
    """What the sessions of the command wait for."""
    with psycopg.connect(dsn) as conn:
        found = conn.execute(
            """select coalesce(wait_event_type, '') from pg_stat_activity
                where datname = current_database() and application_name = 'memlayer'"""
        )
        return [row[0] for row in found]
