"""The server that is measured: an embedded one with Postgres's own settings, and its databases."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from memlayer_pg import embedded, schema

# Everything else is as initdb leaves it, durability above all. A vacuum that came in the middle
# would be somebody's time: tables are vacuumed when they are filled.
SETTINGS = {"autovacuum": "off"}
SHOWN = (
    "server_version",
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "shared_buffers",
    "work_mem",
    "maintenance_work_mem",
    "jit",
    "autovacuum",
)


@dataclass(frozen=True)
class Place:
    """A running server (`admin` is a superuser's dsn) and the folder for files beside it."""

    admin: str
    folder: Path
    postmaster: int

    def create(self, name: str) -> str:
        """The dsn of a new, empty database of this name; one that is there already is dropped."""
        with psycopg.connect(self.admin, autocommit=True) as conn:
            database = sql.Identifier(name)
            conn.execute(sql.SQL("drop database if exists {} with (force)").format(database))
            conn.execute(sql.SQL("create database {}").format(database))
        return make_conninfo(self.admin, dbname=name)

    def known(self, name: str) -> str | None:
        """The dsn of a database that was filled completely; None when there is none."""
        dsn = make_conninfo(self.admin, dbname=name)
        try:
            with psycopg.connect(dsn) as conn:
                [[done]] = conn.execute("select to_regclass('public.filled') is not null")
        except psycopg.OperationalError:
            return None
        return dsn if done else None

    def drop(self, name: str) -> None:
        with psycopg.connect(self.admin, autocommit=True) as conn:
            conn.execute(
                sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name))
            )

    def settings(self) -> dict[str, str]:
        """What the server says of itself."""
        with psycopg.connect(self.admin) as conn:
            return {
                name: str(conn.execute("select current_setting(%s)", [name]).fetchone()[0])  # type: ignore[index]
                for name in SHOWN
            }


@contextmanager
def started(folder: Path | None, version: int | None = None) -> Iterator[Place]:
    """The server of a folder, which stays; without one, of a folder that is gone afterwards."""
    kept = folder is not None
    base = folder or Path(tempfile.mkdtemp(prefix="memlayer-benchmarks-"))
    base.mkdir(parents=True, exist_ok=True)
    try:
        with embedded.start(base / "server", version=version) as server:
            admin = make_conninfo(server.dsn, dbname="postgres")
            with psycopg.connect(admin, autocommit=True) as conn:
                for name, value in SETTINGS.items():
                    conn.execute(f"alter system set {name} = {value}")
                conn.execute("select pg_reload_conf()")
            pid = (server.data_dir / "postgres" / "postmaster.pid").read_text().split()[0]
            yield Place(admin, base, int(pid))
    finally:
        if not kept:
            shutil.rmtree(base)


def lay(dsn: str) -> None:
    """Make our schema, from sql/ as it stands."""
    with psycopg.connect(dsn) as conn:
        for path in schema.load_order():
            conn.execute((schema.SQL / path).read_text("utf-8"))


def one(conn: psycopg.Connection[Any], query: str, *args: Any) -> Any:
    """The one value a query gives."""
    row = conn.execute(query, args).fetchone()
    return row[0] if row else None
