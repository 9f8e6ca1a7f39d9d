"""A PgBouncer in front of a test server: the machine's own, else Debian's, unpacked anywhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memlayer_pg.accounts import account_for, identity

NEEDED = re.compile(r"libevent-2\S*|libc-?ares2\S*")
PORT = 6432


@dataclass(frozen=True)
class Program:
    """The program, and where its libraries are beside the system's."""

    path: str
    libraries: str = ""

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "LD_LIBRARY_PATH": self.libraries}

    @property
    def version(self) -> tuple[int, ...]:
        said = subprocess.run(
            [self.path, "--version"], env=self.environment, capture_output=True, text=True
        ).stdout
        return tuple(int(part) for part in said.split()[1].split("."))


def program(folder: Path) -> Program:
    """The PgBouncer of this machine; else Debian's in a folder, which takes no rights."""
    if path := shutil.which("pgbouncer"):
        return Program(path)
    if not shutil.which("apt-get"):
        pytest.skip("there is no pgbouncer here, and no apt-get to fetch one")

    def run(*command: str) -> str:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout

    libraries = NEEDED.findall(run("apt-cache", "depends", "pgbouncer"))
    run("apt-get", "download", "pgbouncer", *libraries)
    for package in folder.glob("*.deb"):
        run("dpkg", "-x", str(package), str(folder / "root"))
    # Readable for the account that runs it.
    run("chmod", "-R", "a+rX", str(folder))
    [path] = (str(found) for found in folder.glob("root/usr/sbin/pgbouncer"))
    return Program(path, ":".join(str(found) for found in folder.glob("root/usr/lib/*-linux-gnu*")))


@contextmanager
def bouncing(program: Program, dsn: str, folder: Path, **settings: object) -> Iterator[str]:
    """The dsn of a PgBouncer in transaction mode with one server connection to a database."""
    behind = conninfo_to_dict(dsn)
    with psycopg.connect(dsn) as conn:
        [data] = conn.execute("show data_directory").fetchone() or ("",)
    account = account_for(Path(data))
    if account is not None:
        os.chown(folder, account.uid, account.gid)
    options: dict[str, object] = {
        "listen_addr": "",
        "listen_port": PORT,
        "unix_socket_dir": folder,
        "auth_type": "any",
        "pool_mode": "transaction",
        "default_pool_size": 1,
        "logfile": folder / "log",
        **settings,
    }
    server = make_conninfo(
        host=behind["host"], port=behind["port"], dbname=behind["dbname"], user=behind["user"]
    )
    lines = ["[databases]", f"pooled = {server}", "[pgbouncer]"]
    lines += [f"{name} = {value}" for name, value in options.items()]
    (folder / "ini").write_text("\n".join(lines) + "\n")
    running = subprocess.Popen(
        [program.path, "-q", str(folder / "ini")],
        env=program.environment,
        stderr=subprocess.DEVNULL,
        **identity(account),
    )
    try:
        port = str(options["listen_port"])
        pooled = make_conninfo(host=str(folder), port=port, dbname="pooled", user="postgres")
        while not (folder / f".s.PGSQL.{port}").exists():
            assert running.poll() is None, (folder / "log").read_text()
            time.sleep(0.02)
        yield pooled
    finally:
        running.terminate()
        running.wait(30)
