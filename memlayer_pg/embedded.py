"""The Postgres server that is started when no dsn is given.

Any number of processes and threads may use one data folder at once: the first starts the server,
the last to stop stops it. Who is using it is known by file locks, which the system takes back from
a process that was killed. The server listens on a socket inside the data folder, which only the
user it belongs to (and root) can reach.
"""

from __future__ import annotations

import atexit
import dataclasses
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg

from memlayer_pg import accounts, cluster, upgrading
from memlayer_pg.cluster import Cluster
from memlayer_pg.errors import ConfigError

DATABASE = "memlayer"


class Server:
    """A handle on a running server: keep it for as long as its database is used.

    `dsn` is the address of its database, named memlayer and empty when new; `data_dir` is where
    its files are.
    """

    def __init__(self, dsn: str, data_dir: Path, running: Cluster, handle: int) -> None:
        self.dsn = dsn
        self.data_dir = data_dir
        self._running = running
        self._handle: int | None = handle
        atexit.register(self.stop)

    def stop(self) -> None:
        """Give the handle back; the server stops with the last one. Harmless when repeated."""
        if self._handle is None:
            return
        handle, self._handle = self._handle, None
        atexit.unregister(self.stop)
        if not self.data_dir.exists():  # removed under our feet: the server ends by itself
            os.close(handle)
            return
        with _locked(self.data_dir):
            # Closed rather than unlocked: after a fork the lock is the parent's as well.
            os.close(handle)
            if _unused(self.data_dir):
                self._running.stop()

    def revive(self) -> bool:
        """Start the server again if it was killed, True when it was; `dsn` may be another then.

        ConfigError when it does not start.
        """
        with _usable(self.data_dir):
            if self._running.listens():
                return False
            with _locked(self.data_dir):
                self._running.ensure_running()
                self.dsn = self._running.dsn(DATABASE)
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"Server({self.dsn!r})"


def default_data_dir() -> Path:
    """Where an embedded server keeps its files when nobody says where.

    MEMLAYER_DATA_DIR if it is set. For root /var/lib/memlayer, because Postgres runs as another
    account then, which could not reach into /root. For others the user's data folder:
    ~/Library/Application Support/memlayer on macOS, else $XDG_DATA_HOME/memlayer, which is
    ~/.local/share/memlayer unless it is set.
    """
    if folder := os.environ.get("MEMLAYER_DATA_DIR"):
        return Path(folder)
    if os.geteuid() == 0:
        return accounts.ROOTS_FOLDER
    if sys.platform == "darwin":
        return Path("~/Library/Application Support/memlayer").expanduser()
    return Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser() / "memlayer"


def start(data_dir: Path | str | None = None, *, version: int | None = None) -> Server:
    """Start the server of a data folder, or join it where it runs already.

    `data_dir`: made when missing; None is `default_data_dir()`. When root names one, other accounts
    are given the right to pass through (not to list) its parents, and the server runs as the
    account `memlayer`, or as the folder's owner if that is not root.
    `version`: the major version of Postgres, 16 or 18; None takes the one that made the folder,
    and for a new one the newest there is. `upgrade` takes a folder to a newer one.

    ConfigError: the extra `local` is not installed, the folder cannot be used or was made by
    another version, or the server does not start; the message says which.
    """
    if sys.platform == "win32":
        raise ConfigError("the embedded server does not run on Windows: pass dsn=")
    folder = (Path(data_dir) if data_dir is not None else default_data_dir()).expanduser()
    folder = folder.resolve()
    with _usable(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(folder):
            upgrading.finish(folder)
            running = _cluster(folder, version)
            upgrading.clear(dataclasses.replace(running, data=folder / upgrading.DRAFT))
            handle = _handle(folder)
            try:
                if not running.data.exists():
                    running.initialise()
                running.ensure_running()
                _create_database(running)
            except BaseException:
                os.close(handle)
                raise
    return Server(running.dsn(DATABASE), folder, running, handle)


def upgrade(
    data_dir: Path | str | None = None,
    *,
    version: int | None = None,
    told: upgrading.Told = lambda what: None,
) -> tuple[int, int]:
    """Take a data folder to a newer major version of Postgres: the versions before and after.

    `version`: None is the newest there is; the folder's own changes nothing. Needs room for a
    second copy, for the old files stay beside the new ones, in the folder `postgres-VERSION`, until
    you remove them. Settings changed in postgresql.conf are not taken along. Killed at any moment,
    the folder works as before. `told`: told what is being done.

    ConfigError: somebody uses the folder, there is none, or a program failed; then nothing changed.
    """
    folder = (Path(data_dir) if data_dir is not None else default_data_dir()).expanduser().resolve()
    if not (folder / "lock").exists():
        raise ConfigError(f"there is no embedded server in {folder}")
    with _usable(folder), _locked(folder):
        upgrading.finish(folder)
        old = _cluster(folder, None)
        before = int((old.data / "PG_VERSION").read_text())
        available = cluster.programs()
        after = version or max(available)
        if after not in available or after < before:
            raise ConfigError(f"{folder} was made by Postgres {before}: it cannot go to {after}")
        if after == before:
            return before, after
        if not _unused(folder):
            raise ConfigError(
                f"somebody uses the embedded server in {folder}",
                suggestion="Stop the programs that use it, and run this again.",
            )
        if upgrading.kept(folder, before).exists():
            raise ConfigError(
                f"{upgrading.kept(folder, before)} is still there, of an earlier upgrade",
                suggestion="Remove it, or move it away.",
            )
        programs = accounts.usable(available[after], old.account)
        new = Cluster(folder / upgrading.DRAFT, programs, old.account)
        upgrading.upgrade(folder, old, new, told)
    return before, after


@contextmanager
def _usable(folder: Path) -> Iterator[None]:
    """ConfigError for what the system refuses to do with a folder."""
    try:
        yield
    except OSError as error:
        raise ConfigError(
            f"the embedded server cannot use {folder}: {error}",
            suggestion="Name another folder with data_dir= or MEMLAYER_DATA_DIR, or pass dsn=.",
        ) from error


def _cluster(folder: Path, version: int | None) -> Cluster:
    data = folder / "postgres"
    available = cluster.programs()
    made_by = int((data / "PG_VERSION").read_text()) if data.exists() else None
    chosen = version or made_by or max(available)
    if made_by is not None and chosen != made_by:
        raise ConfigError(
            f"{folder} was made by Postgres {made_by}, not {chosen}",
            suggestion="memlayer upgrade-embedded takes it to the newest there is.",
        )
    if chosen not in available:
        raise ConfigError(
            f"there is no embedded Postgres {chosen}, only {', '.join(map(str, sorted(available)))}"
        )
    account = accounts.account_for(data)
    if account is not None:
        accounts.open_the_way(data)
    return Cluster(data, accounts.usable(available[chosen], account), account)


def _create_database(running: Cluster) -> None:
    with psycopg.connect(running.dsn("postgres"), autocommit=True) as conn:
        known = conn.execute("select from pg_database where datname = %s", [DATABASE]).fetchone()
        if known is None:
            conn.execute("create database memlayer encoding 'UTF8' template template0")


def _open(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    if os.geteuid() == 0:  # so that the folder's owner can go on using it
        owner = path.parent.stat()
        os.chown(descriptor, owner.st_uid, owner.st_gid)
    return descriptor


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Be the only one who starts or stops the server of a folder."""
    import fcntl

    descriptor = _open(folder / "lock")
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _handle(folder: Path) -> int:
    """A file descriptor that marks the server as used for as long as it is open."""
    import fcntl

    descriptor = _open(folder / "handles")
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def _unused(folder: Path) -> bool:
    """Whether nobody holds a handle."""
    import fcntl

    descriptor = _open(folder / "handles")
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True
