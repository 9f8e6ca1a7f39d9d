"""Servers of a test's own, of the version that is tested: to be stopped, promoted or locked up."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from memlayer_pg.accounts import account_for, identity
from memlayer_pg.cluster import Cluster, programs


@contextmanager
def own(server: str, folder: Path) -> Iterator[Cluster]:
    """A new server of the version and account of a running one; its postgres needs no password."""
    running = _beside(server, folder / "own")
    running.initialise()
    with _running(running):
        yield running


@contextmanager
def following(primary: Cluster, folder: Path) -> Iterator[Cluster]:
    """A hot standby of a server, made by pg_basebackup and following it."""
    standby = _beside(primary.dsn("postgres"), folder / "standby")
    subprocess.run(
        [
            *(standby.programs / "pg_basebackup", "-R", "-c", "fast", "--no-sync"),
            *("-D", str(standby.data), "-d", make_conninfo(primary.dsn(""), dbname="")),
        ],
        check=True,
        capture_output=True,
        cwd=folder,
        **identity(standby.account),
    )
    with _running(standby):
        yield standby


def _beside(server: str, data: Path) -> Cluster:
    with psycopg.connect(server) as conn:
        [found] = conn.execute("show data_directory").fetchone() or ("",)
        version = conn.info.server_version // 10_000
    account = account_for(Path(found))
    if account is not None:
        os.chown(data.parent, account.uid, account.gid)
    return Cluster(data, programs()[version], account)


@contextmanager
def _running(cluster: Cluster) -> Iterator[None]:
    cluster.ensure_running()
    try:
        yield
    finally:
        if cluster.listens():
            cluster.stop()
