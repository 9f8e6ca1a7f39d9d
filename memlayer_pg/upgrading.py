"""Taking a data folder of the embedded server to a newer major version of Postgres.

Everything is dumped from the old server and restored into a new one beside it; the folder changes
hands only when all rows are there. Killed at any moment, the old one is as it was, or the new one
is complete: `finish`, which every start calls, brings what was complete into its place.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from memlayer_pg.cluster import Cluster
from memlayer_pg.errors import ConfigError

CURRENT = "postgres"
DRAFT = "upgrading"
COMPLETE = "upgraded"
SUPERUSER = "CREATE ROLE postgres;"
"""Of what pg_dumpall says, the one statement that fails: a new cluster has that role."""

MADE_BY_INITDB = ("postgres", "template1")
"""Databases that a new cluster has; the others are made."""

Told = Callable[[str], None]
"""Is told what is being done, in a few words."""


def finish(folder: Path) -> None:
    """Put a complete new data folder in the place of the old one, which is kept beside it.

    The caller holds the lock of the folder. Nothing is done where there is none.
    """
    complete, current = folder / COMPLETE, folder / CURRENT
    if not complete.exists():
        return
    if current.exists():
        current.rename(kept(folder, int((current / "PG_VERSION").read_text())))
    complete.rename(current)


def kept(folder: Path, version: int) -> Path:
    """Where the data folder of an older version stays after an upgrade."""
    return folder / f"{CURRENT}-{version}"


def upgrade(folder: Path, old: Cluster, new: Cluster, told: Told) -> None:
    """Fill a new cluster with all that the old one has, and put it into its place.

    The caller holds the lock of the folder and knows that nobody uses it. ConfigError when a
    program fails; the old data folder is then as it was.
    """
    clear(new)  # of an attempt that was killed
    try:
        told("setting up the new server")
        new.initialise()
        with _running(old), _running(new):
            told("copying roles")
            _roles(old, new)
            for database in _databases(old):
                told(f"copying the database {database}")
                _copy(old, new, database)
                _compare(old, new, database)
    except BaseException:
        clear(new)  # the old server may need the room
        raise
    new.data.rename(folder / COMPLETE)
    finish(folder)


def clear(new: Cluster) -> None:
    """Remove what an upgrade did not complete, and end its server; harmless where nothing is."""
    if new.data.exists():
        new.stop()
        shutil.rmtree(new.data)


@contextmanager
def _running(cluster: Cluster) -> Iterator[None]:
    cluster.ensure_running()
    try:
        yield
    finally:
        cluster.stop()


def _databases(cluster: Cluster) -> list[str]:
    with psycopg.connect(cluster.dsn("postgres")) as conn:
        rows = conn.execute(
            "select datname from pg_database where datname <> 'template0' order by 1"
        )
        return [name for (name,) in rows]


def _copy(old: Cluster, new: Cluster, database: str) -> None:
    """Dump a database, with the newer programs as Postgres advises, and restore it."""
    there = database in MADE_BY_INITDB
    dump = [str(new.programs / "pg_dump"), "--format=custom", f"--dbname={old.dsn(database)}"]
    restore = [
        *(str(new.programs / "pg_restore"), "--exit-on-error", *([] if there else ["--create"])),
        f"--dbname={new.dsn(database if there else 'postgres')}",
    ]
    with tempfile.TemporaryFile() as said:
        with subprocess.Popen(dump, stdout=subprocess.PIPE, stderr=said) as source:
            restored = subprocess.run(restore, stdin=source.stdout, stderr=said, check=False)
        said.seek(0)
        if source.returncode or restored.returncode:
            problem = said.read().decode(errors="replace")[-2000:].strip()
            raise ConfigError(f"the database {database} could not be copied: {problem}")
    with psycopg.connect(new.dsn(database), autocommit=True) as conn:
        conn.execute("analyze")


def _roles(old: Cluster, new: Cluster) -> None:
    """Copy roles and their settings."""
    told = subprocess.run(
        [
            new.programs / "pg_dumpall",
            "--globals-only",
            f"--dbname={old.dsn('postgres')}",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if told.returncode:
        raise ConfigError(f"the roles could not be copied: {told.stderr.strip()}")
    script = "\n".join(line for line in told.stdout.splitlines() if line != SUPERUSER)
    done = subprocess.run(
        [new.programs / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", new.dsn("postgres")],
        input=script,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ConfigError(f"the roles could not be copied: {done.stderr.strip()}")


TABLES = """
select format('%I.%I', n.nspname, c.relname)
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
 where c.relkind = 'r' and n.nspname <> 'information_schema' and n.nspname not like 'pg\\_%'
 order by 1
"""


def _compare(old: Cluster, new: Cluster, database: str) -> None:
    """ConfigError unless every table has as many rows in the new cluster as in the old one."""
    counts = []
    for cluster in (old, new):
        with psycopg.connect(cluster.dsn(database)) as conn:
            tables = [name for (name,) in conn.execute(TABLES.encode())]
            counts.append(
                {
                    table: conn.execute(f"select count(*) from {table}".encode()).fetchone()
                    for table in tables
                }
            )
    if counts[0] != counts[1]:
        raise ConfigError(f"not everything of the database {database} arrived; the old one is kept")
