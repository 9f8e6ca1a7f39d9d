"""Bringing a database to a revision: races, refusals, and who is told what."""

from __future__ import annotations

import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memlayer_pg import Memory, cluster, requirements, schema
from memlayer_pg.errors import ConfigError, DatabaseError, SchemaError
from tests.catalog import catalog
from tests.conftest import create, drop
from tests.migrations.revisions import REVISIONS, noting, psql, start_upgrade


@contextmanager
def superuser(dsn: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(dsn, autocommit=True) as conn:
        yield conn


def until(conn: psycopg.Connection[Any], condition: str) -> None:
    """Wait for a condition to come true; a test that waits in vain fails."""
    for _ in range(600):
        if conn.execute(f"select {condition}").fetchone() == (True,):
            return
        time.sleep(0.05)
    pytest.fail(f"never came true: {condition}")


WAITING = """exists (select from pg_stat_activity
                      where datname = current_database() and wait_event_type = 'Lock')"""


def test_five_upgrades_at_once_all_succeed(template: str, empty: str) -> None:
    upgrades = [start_upgrade(empty) for _ in range(5)]
    for upgrade in upgrades:
        _, said = upgrade.communicate()
        assert upgrade.returncode == 0, said
    assert catalog(empty) == catalog(template)


def test_an_upgrade_killed_half_way_is_made_up_for(template: str, empty: str) -> None:
    with superuser(empty) as watch, psycopg.connect(empty) as obstacle:
        obstacle.execute("lock table pg_trigger in share mode")  # tables are made, triggers not
        upgrade = start_upgrade(empty)
        until(watch, WAITING)
        upgrade.kill()
        upgrade.communicate()
        assert schema.current(empty) is None
        obstacle.rollback()
    schema.migrate(empty)
    assert catalog(empty) == catalog(template)


def test_an_upgrade_that_has_to_wait_says_for_whom(empty: str) -> None:
    with psycopg.connect(empty, application_name="nightly") as other:
        other.execute("select pg_advisory_xact_lock(1835363692)")
        with pytest.raises(SchemaError, match=r"in the way.*nightly.*another migration"):
            schema.migrate(empty, timeout=0.1)
    schema.migrate(empty)
    assert schema.check(empty) == []


def test_a_way_down_that_meets_a_locked_table_says_whose_lock_it_is(empty: str) -> None:
    schema.migrate(empty)
    with psycopg.connect(empty, application_name="reporting") as other:
        other.execute("select from memlayer.memory")
        with pytest.raises(SchemaError, match=r"in the way.*reporting"):
            schema.migrate(empty, "base", down=True, timeout=0.1)
    assert schema.check(empty) == []


def test_an_upgrade_that_meets_a_long_transaction_names_it_and_leaves_nothing(empty: str) -> None:
    schema.migrate(empty, "ml0001")
    before = catalog(empty)
    with psycopg.connect(empty, application_name="reporting") as other:
        other.execute("select from memlayer.memory")
        with pytest.raises(SchemaError, match=r"in the way.*reporting") as raised:
            schema.migrate(empty, timeout=0.1)
        assert "Run this again" in str(raised.value.suggestion)
        assert (schema.current(empty), catalog(empty)) == ("ml0001", before)
    schema.migrate(empty)
    assert schema.check(empty) == []


def test_progress_names_each_step(empty: str) -> None:
    steps: list[str] = []
    schema.migrate(empty, progress=lambda revision, _: steps.append(revision))
    schema.migrate(empty, "base", down=True, progress=lambda revision, _: steps.append(revision))
    assert steps == [*REVISIONS, *reversed(REVISIONS)]


def test_a_schema_that_is_newer_than_this_version_is_left_as_it_is(empty: str) -> None:
    schema.ensure(empty)
    assert schema.current(empty) == schema.HEAD
    with superuser(empty) as conn:
        conn.execute("insert into memlayer.deployment (revision) values ('ml9999')")
        conn.execute("update memlayer.alembic_version set version_num = 'ml9999'")
    schema.ensure(empty)
    assert schema.current(empty) == "ml9999"


def test_an_unknown_revision_is_an_error_of_ours(empty: str) -> None:
    with pytest.raises(SchemaError, match="ml9999"):
        schema.migrate(empty, "ml9999")
    assert schema.current(empty) is None


def test_going_down_keeps_alembics_table_and_the_extension(empty: str) -> None:
    schema.migrate(empty)
    schema.migrate(empty, "base", down=True)
    with superuser(empty) as conn:
        relations = conn.execute("""
            select relname from pg_class
             where relnamespace = 'memlayer'::regnamespace and relkind = 'r'""").fetchall()
        assert relations == [("alembic_version",)]
        assert conn.execute("select '[1]'::vector").fetchone() == ("[1]",)


def test_going_down_does_not_take_along_what_others_built_on_it(empty: str) -> None:
    schema.migrate(empty)
    with superuser(empty) as conn:
        conn.execute("create view public.report as select text from memlayer.memory")
        conn.execute("""
            create table public.note (tenant text, id uuid,
                                      foreign key (tenant, id) references memlayer.memory)""")
        with pytest.raises(SchemaError, match=r"public\.report.*public\.note") as raised:
            schema.migrate(empty, "base", down=True)
        assert raised.value.suggestion == "Drop them first."
        assert conn.execute("select * from public.report").fetchall() == []
    assert schema.check(empty) == []


def test_the_extension_may_live_in_any_schema(template: str, empty: str) -> None:
    with superuser(empty) as conn:
        conn.execute("create schema extensions")
        conn.execute("create extension vector schema extensions")
    schema.migrate(empty)
    assert catalog(empty).keys() == {
        (kind, name.replace("public.", "extensions.")) for kind, name in catalog(template)
    }
    with superuser(empty) as conn:
        conn.execute("set search_path = ''")
        added = conn.execute("""select event from memlayer.add(
            p_user_id => 'ann', p_facts => '[{"text": "a fact"}]',
            p_embeddings => array['[1,2]']::extensions.halfvec[], p_model => 'm')""").fetchall()
        assert added == [("ADD",)]


# --- who may, and what the server must have -------------------------------------------------------


@pytest.fixture
def owned(server: str) -> Iterator[str]:
    """The dsn of a database whose owner, the user, may do nothing special."""
    dsn = create(server)
    database = conninfo_to_dict(dsn)["dbname"]
    with superuser(server) as conn:
        conn.execute(f"create role {database}_owner login")
        conn.execute(f"alter database {database} owner to {database}_owner")
    yield make_conninfo(dsn, user=f"{database}_owner")
    drop(server, dsn)
    with superuser(server) as conn:
        conn.execute(f"drop role {database}_owner")


def test_an_owner_who_is_no_superuser_can_upgrade_and_go_down(owned: str) -> None:
    with superuser(make_conninfo(owned, user="postgres")) as conn:
        conn.execute("create extension vector")
    schema.migrate(owned)
    assert schema.check(owned) == []
    schema.migrate(owned, "base", down=True)
    schema.migrate(owned)
    assert schema.current(owned) == schema.HEAD


def test_nothing_is_made_outside_the_schema_whatever_the_search_path(owned: str) -> None:  # B089
    outside = """
      select n.nspname, count(*)
        from (select pronamespace from pg_proc union all select relnamespace from pg_class
              union all select typnamespace from pg_type) made (namespace)
        join pg_namespace n on n.oid = made.namespace
       where n.nspname not in ('memlayer', 'pg_toast')
       group by n.nspname"""
    user = conninfo_to_dict(owned)["user"]
    with superuser(make_conninfo(owned, user="postgres")) as conn:
        conn.execute("create extension vector")
        conn.execute("revoke create on schema public from public")
        conn.execute(f"create schema {user} authorization {user}")
        conn.execute(f"alter role {user} set search_path = '$user'")
        before = dict(conn.execute(outside).fetchall())
        schema.migrate(owned)
        assert dict(conn.execute(outside).fetchall()) == before
    assert schema.check(owned) == []
    with Memory(dsn=owned) as memory:
        assert memory.get_all(filters={"user_id": "ann"}) == {"results": []}


def test_without_the_extension_the_owner_is_told_what_an_administrator_has_to_run(
    owned: str,
) -> None:
    with pytest.raises(SchemaError, match="may not create the extension vector") as raised:
        schema.migrate(owned)
    assert "create extension vector;" in str(raised.value.suggestion)
    assert catalog(owned) == {}


def test_a_role_that_may_not_make_a_schema_is_told_what_to_grant(server: str, owned: str) -> None:
    with superuser(server) as conn:
        conn.execute("drop role if exists passer_by")
        conn.execute("create role passer_by login")
        with pytest.raises(SchemaError, match="passer_by may not create a schema") as raised:
            schema.migrate(make_conninfo(owned, user="passer_by"))
        conn.execute("drop role passer_by")
    assert "grant create on database" in str(raised.value.suggestion)
    assert catalog(owned) == {}


def test_an_owner_who_may_not_use_the_extensions_schema_is_told_what_to_grant(owned: str) -> None:
    with superuser(make_conninfo(owned, user="postgres")) as conn:
        conn.execute("create schema extensions")
        conn.execute("create extension vector schema extensions")
        with pytest.raises(SchemaError, match="may not use schema extensions") as raised:
            schema.migrate(owned)
        assert catalog(owned) == {}
        grant = str(raised.value.suggestion).removeprefix("Let its owner run: ")
        conn.execute(grant.encode())
    schema.migrate(owned)
    assert schema.current(owned) == schema.HEAD


def test_an_old_pgvector_is_refused_before_anything_is_made(empty: str) -> None:
    with superuser(empty) as conn:
        conn.execute("create extension vector")
        conn.execute("set allow_system_table_mods = on")
        conn.execute("update pg_extension set extversion = '0.7.4' where extname = 'vector'")
    with pytest.raises(SchemaError, match=r"pgvector 0\.8 or newer .* 0\.7\.4") as raised:
        schema.migrate(empty)
    assert "alter extension vector update" in str(raised.value.suggestion)
    assert catalog(empty) == {}


def test_a_database_in_another_encoding_is_refused(server: str) -> None:
    with superuser(server) as conn:
        conn.execute("""create database latin template template0 encoding 'LATIN1'
                        locale_provider libc locale 'C'""")
    dsn = make_conninfo(server, dbname="latin")
    with pytest.raises(SchemaError, match="UTF8, this one is in LATIN1"):
        schema.migrate(dsn)
    drop(server, dsn)


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (requirements.server_problem(140012, "14.12", "UTF8"), "15 or newer is needed.* 14.12"),
        (requirements.server_problem(150000, "15.0", "UTF8"), None),
        (requirements.vector_problem(None, None), "is not on this server"),
        (requirements.vector_problem(None, "0.7.4"), r"this server offers 0\.7\.4"),
        (requirements.vector_problem("0.7.4", "0.8.5"), r"this database has 0\.7\.4"),
        (requirements.vector_problem(None, "0.8.0"), None),
        (requirements.vector_problem("0.10.0", "0.10.0"), None),
        (requirements.vector_problem("1.0", None), None),
    ],
)
def test_what_a_server_lacks_is_named(problem: SchemaError | None, said: str | None) -> None:
    if said is None:
        assert problem is None
    else:
        with pytest.raises(SchemaError, match=said):
            raise problem  # type: ignore[misc]


# --- the address ----------------------------------------------------------------------------------


def test_every_form_of_an_address_is_understood(empty: str) -> None:
    parts = conninfo_to_dict(empty)
    name, host, port = parts["dbname"], parts["host"], parts["port"]
    for dsn in (
        f"host={host} port={port} user=postgres password='p@:/%#\\'x y' dbname={name}",
        f"postgresql://postgres:p%40%3A%2F%25%23%27x%20y@/{name}?host={host}&port={port}",
        f"postgres://postgres@/{name}?host={host}&port={port}",
        f"postgresql+psycopg://postgres@/{name}?host={host}&port={port}",
        f"host=/nowhere,{host} port={port},{port} user=postgres dbname={name}",
    ):
        schema.migrate(dsn)
        assert schema.current(dsn) == schema.HEAD


def test_a_server_that_cannot_be_reached_is_a_database_error_without_the_password() -> None:
    for call in (schema.migrate, schema.current, schema.check):
        with pytest.raises(DatabaseError) as raised:
            call("postgresql://ann:s3cret@127.0.0.1:1/memories")
        assert "s3cret" not in "".join(traceback_of(raised.value))


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://ann:s3cret@x@localhost/memories",
        "postgresql://ann:s3cret/x@localhost/memories",
        "postgresql://ann:s3cret%zz@localhost/memories",
        "password=s3cret'x host",
        "mysql://ann:s3cret@localhost/memories",
    ],
)
def test_an_address_that_cannot_be_read_is_refused_without_showing_any_of_it(dsn: str) -> None:
    with pytest.raises(ConfigError) as raised:
        schema.current(dsn)
    assert "s3cret" not in "".join(traceback_of(raised.value))
    assert "dsn" in str(raised.value)


def traceback_of(error: BaseException) -> list[str]:
    return traceback.format_exception_only(error) + [
        line
        for cause in (error.__cause__, None if error.__suppress_context__ else error.__context__)
        if cause is not None
        for line in traceback_of(cause)
    ]


# --- drift ----------------------------------------------------------------------------------------


def test_a_schema_somebody_changed_by_hand_is_told_apart(empty: str) -> None:
    assert schema.check(empty) == ["there is no schema: run memlayer db upgrade"]
    schema.migrate(empty)
    assert schema.check(empty) == []
    with superuser(empty) as conn:
        conn.execute("create index of_theirs on memlayer.memory (tenant, updated_at)")
        conn.execute("alter table memlayer.setting add colour text")
        conn.execute("drop index memlayer.memory_document_idx")
        conn.execute("alter function memlayer.fold volatile")
    assert schema.check(empty) == [
        "column setting.colour is not ours",
        "function memlayer.fold(text) is not what this version made",
        "index memory_document_idx is missing",
    ]
    with superuser(empty) as conn:  # and the check left nothing behind
        assert conn.execute("select to_regnamespace('memlayer_found')").fetchone() == (None,)


def test_a_schema_that_was_restored_from_a_dump_is_as_it_was(
    template: str, server: str, empty: str
) -> None:
    with superuser(server) as conn:
        major = conn.info.server_version // 10000
    dump = subprocess.run(
        [cluster.programs()[major] / "pg_dump", template],
        capture_output=True,
        text=True,
        check=True,
    )
    psql(empty, stdin=dump.stdout)
    assert schema.check(empty) == []
    with superuser(empty) as conn:
        conn.execute("alter table memlayer.entity drop constraint entity_name_fits")
        conn.execute(
            "alter table memlayer.entity add constraint entity_name_fits check (name <> '')"
        )
    assert schema.check(empty) == [
        "constraint entity_name_fits on entity is not what this version made"
    ]


# --- a schema that was laid from sql/all.sql ------------------------------------------------------


def test_a_schema_laid_by_hand_is_told_what_to_do_and_not_laid_again(database: str) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: schema.current(database),
        lambda: schema.migrate(database),
        lambda: schema.migrate(database, "base", down=True),
    ]
    for call in calls:
        with pytest.raises(SchemaError, match=r"from sql/all\.sql by hand") as raised:
            call()
        assert "memlayer db check" in str(raised.value.suggestion)
    assert schema.check(database) == []


def test_a_schema_laid_by_hand_goes_on_when_its_revision_was_noted_as_the_docs_say(
    database: str,
) -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "operations.md").read_text("utf-8")
    with superuser(database) as conn:
        conn.execute(noting(page).encode())
    assert schema.current(database) == schema.HEAD
    schema.migrate(database)
    schema.migrate(database, "base", down=True)
    assert [kind for kind, _ in catalog(database)] == ["schema"]


def test_importing_the_schema_does_not_load_what_only_migrations_need() -> None:
    program = (
        "import sys, memlayer_pg.schema; print({'alembic', 'sqlalchemy'} & sys.modules.keys())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"
