"""Backups of the embedded server, and taking it to a newer Postgres."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from memlayer_pg import cluster, embedded, schema, upgrading
from memlayer_pg.errors import ConfigError
from tests.conftest import temporary_folder
from tests.test_embedded import answers, ask

QUERY = """
select (select count(*) from memlayer.memory), (select count(*) from memlayer.history),
       (select count(*) from memlayer.verify()), (select comment from other)
"""


@pytest.fixture(scope="module")
def made() -> Iterator[Path]:
    """A folder of Postgres 16 with memories, a role, and a database of somebody else."""
    with temporary_folder() as place:
        with embedded.start(place / "data", version=16) as server:
            schema.ensure(server.dsn)
            with psycopg.connect(server.dsn, autocommit=True) as conn:
                for number in range(50):
                    conn.execute(
                        "insert into memlayer.memory (user_id, text) values ('ann', %s)",
                        [f"fact {number}"],
                    )
                conn.execute("delete from memlayer.memory where text like 'fact 4%'")
                conn.execute("create role analyst login")
                conn.execute("grant select on memlayer.memory to analyst")
                conn.execute("create table other as select 'mine' as comment")
                conn.execute("create database theirs")
            with psycopg.connect(server.dsn.replace("/memlayer", "/theirs")) as conn:
                conn.execute("create table theirs as select generate_series(1, 1000) as n")
        yield place / "data"


@pytest.fixture
def folder(made: Path) -> Iterator[Path]:
    with temporary_folder() as place:
        subprocess.run(["cp", "-a", made, place / "data"], check=True)
        yield place / "data"


def whole(folder: Path, version: int) -> bool:
    """Whether the folder has everything, under this version."""
    with embedded.start(folder) as server:
        assert ask(server.dsn, "select pg_has_role('analyst', 'analyst', 'usage')")
        theirs = server.dsn.replace("/memlayer", "/theirs")
        assert ask(theirs, "select count(*) from theirs") == 1000
        with psycopg.connect(server.dsn) as conn:
            [row] = conn.execute(QUERY).fetchall()
        shown = str(ask(server.dsn, "show server_version"))
    return row == (39, 61, 39, "mine") and shown.startswith(f"{version}.")


def test_an_upgrade_takes_everything_along_and_keeps_the_old_files(folder: Path) -> None:
    assert whole(folder, 16)
    told: list[str] = []
    assert embedded.upgrade(folder, told=told.append) == (16, 18)
    assert told[-1] == "copying the database theirs"
    assert whole(folder, 18)
    assert (folder / "postgres-16" / "PG_VERSION").read_text() == "16\n"
    assert embedded.upgrade(folder) == (18, 18)


def test_the_schema_works_after_an_upgrade(folder: Path) -> None:
    embedded.upgrade(folder)
    with embedded.start(folder) as server:
        assert schema.check(server.dsn) == []
        with psycopg.connect(server.dsn) as conn:
            conn.execute("update memlayer.memory set text = 'changed' where text = 'fact 1'")
            [events] = conn.execute(
                "select array_agg(h.event order by h.version) from memlayer.history h "
                "join memlayer.memory m on m.id = h.memory_id where m.text = 'changed'"
            )
            assert events == (["ADD", "UPDATE"],)
            rows = conn.execute("select * from memlayer.changes_since(p_limit => 1000)").fetchall()
            assert len(rows) == 61


def test_a_folder_in_use_is_not_upgraded(folder: Path) -> None:
    with embedded.start(folder) as server:
        with pytest.raises(ConfigError, match="somebody uses the embedded server"):
            embedded.upgrade(folder)
        assert answers(server.dsn)
    assert whole(folder, 16)


def test_what_cannot_be_upgraded_is_named(folder: Path) -> None:
    with pytest.raises(ConfigError, match="there is no embedded server"):
        embedded.upgrade(folder.with_name("nothing"))
    with pytest.raises(ConfigError, match="it cannot go to 15"):
        embedded.upgrade(folder, version=15)
    embedded.upgrade(folder)
    with pytest.raises(ConfigError, match="it cannot go to 16"):
        embedded.upgrade(folder, version=16)


def servers_in(folder: Path) -> list[str]:
    """The data folders below a folder that a server works in."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.name().startswith("postgres") and process.cwd().startswith(str(folder)):
                found.append(process.cwd())
        except psutil.Error:  # gone by now
            continue
    return found


UPGRADE = """
import os, signal, sys
from memlayer_pg import embedded, upgrading
stage, folder = sys.argv[1:]
def told(what):
    if what.startswith(stage):
        os.kill(os.getpid(), signal.SIGKILL)
if stage == "between":
    from pathlib import Path
    finish = upgrading.finish
    def half(folder):
        if (folder / "upgraded").exists():
            (folder / "postgres").rename(upgrading.kept(folder, 16))
            told("between")
        finish(folder)
    upgrading.finish = half
embedded.upgrade(folder, told=told)
"""


@pytest.mark.parametrize(
    ("stage", "version"),
    [
        ("setting up", 16),
        ("copying roles", 16),
        ("copying the database memlayer", 16),
        ("copying the database theirs", 16),
        ("between", 18),
    ],
)
def test_an_upgrade_killed_at_any_moment_can_be_run_again(
    folder: Path, stage: str, version: int
) -> None:
    killed = subprocess.run([sys.executable, "-c", UPGRADE, stage, str(folder)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert whole(folder, version)
    # Neither files nor a server are left of the attempt, though nobody has run it again.
    assert not (folder / upgrading.DRAFT).exists()
    assert servers_in(folder) == []
    assert embedded.upgrade(folder) == (version, 18)
    assert whole(folder, 18)


def test_roles_of_any_name_and_setting_come_along(folder: Path) -> None:
    with embedded.start(folder) as server, psycopg.connect(server.dsn) as conn:
        conn.execute('create role "postgres; drop"')
        conn.execute("alter role \"postgres; drop\" set search_path = 'a;b', 'c'")
    embedded.upgrade(folder)
    with embedded.start(folder) as server:
        query = "select rolconfig from pg_roles where rolname = 'postgres; drop'"
        assert ask(server.dsn, query) == ['search_path="a;b", c']


def test_what_cannot_be_restored_leaves_the_old_server_as_it_was(folder: Path) -> None:
    with embedded.start(folder) as server, psycopg.connect(server.dsn) as conn:
        # Postgres 18 has no such column any more
        conn.execute("create view gone as select attcacheoff from pg_attribute")
    with pytest.raises(ConfigError, match=r"memlayer could not be copied(.|\n)*attcacheoff"):
        embedded.upgrade(folder)
    # The copy takes no room from the old server.
    assert not (folder / upgrading.DRAFT).exists()
    assert whole(folder, 16)


def test_templates_come_along(folder: Path) -> None:
    with embedded.start(folder) as server:
        with psycopg.connect(server.dsn, autocommit=True) as conn:
            conn.execute("create database mould is_template true")
        for name in ("template1", "mould"):
            with psycopg.connect(server.dsn.replace("/memlayer", f"/{name}")) as conn:
                conn.execute(f"create table poured as select '{name}' as into_it")
    embedded.upgrade(folder)
    with embedded.start(folder) as server:
        for name in ("template1", "mould"):
            there = server.dsn.replace("/memlayer", f"/{name}")
            assert ask(there, "select into_it from poured") == name
        assert ask(server.dsn, "select datistemplate from pg_database where datname = 'mould'")


def test_a_copy_of_the_folder_of_a_stopped_server_is_a_backup(folder: Path) -> None:
    copy = folder.with_name("copy")
    subprocess.run(["cp", "-a", folder, copy], check=True)
    with embedded.start(folder) as server, psycopg.connect(server.dsn) as conn:
        conn.execute("delete from memlayer.memory")
    assert whole(copy, 16)


def test_a_base_backup_of_a_running_server_is_one_too(folder: Path) -> None:
    copy = folder.with_name("copy")
    with embedded.start(folder) as server:
        copy.mkdir(mode=0o700)
        programs = cluster.programs()[16]
        subprocess.run(
            [programs / "pg_basebackup", "-D", copy / "postgres", "-d", server.dsn, "-c", "fast"],
            check=True,
        )
        if os.geteuid() == 0:  # the server's account owns its files
            owner = (folder / "postgres").stat()
            subprocess.run(
                ["chown", "-R", f"{owner.st_uid}:{owner.st_gid}", copy / "postgres"], check=True
            )
        with psycopg.connect(server.dsn) as conn:
            conn.execute("delete from memlayer.memory")
    assert whole(copy, 16)
