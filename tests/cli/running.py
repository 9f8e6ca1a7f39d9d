"""Running `memlayer`: in this process for what is cheap, as a program for signals and terminals."""

from __future__ import annotations

import inspect
import json
import os
import pty
import re
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import click
from click.testing import CliRunner

from memlayer_pg.cli import cli

PROGRAM = [sys.executable, "-m", "memlayer_pg"]
ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True)
class Ran:
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Shell:
    """Runs commands on one database, for one tenant."""

    dsn: str
    tenant: str = "default"

    @property
    def env(self) -> dict[str, str]:
        """What says where it runs them."""
        return {"MEMLAYER_DSN": self.dsn, "MEMLAYER_TENANT": self.tenant}

    def __call__(self, *args: str, stdin: str | None = None, **env: str) -> Ran:
        """Run a command in this process."""
        return memlayer(*args, stdin=stdin, **{**self.env, **env})

    def well(self, *args: str, stdin: str | None = None, **env: str) -> Ran:
        """The same, which has to end well."""
        ran = self(*args, stdin=stdin, **env)
        assert ran.code == 0, ran.err
        return ran

    def add(self, text: str, *args: str) -> str:
        """Remember a text of user ann, word for word; the id of the memory."""
        found = self.well("add", text, "--user", "ann", "--no-infer", *args, "--json").json
        return str(found["results"][0]["id"])


def memlayer(*args: str, stdin: str | None = None, **env: str) -> Ran:
    """Run a command in this process."""
    mixes = "mix_stderr" in inspect.signature(CliRunner).parameters  # until click 8.2
    apart: dict[str, Any] = {"mix_stderr": False} if mixes else {}
    given = {"COLUMNS": "100", **env}
    result = CliRunner(**apart).invoke(cli, args, input=stdin, env=given, prog_name="memlayer")
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ran(result.exit_code, result.stdout, result.stderr)


def program(*args: str, **env: str) -> subprocess.Popen[str]:
    """Start it as a program of its own."""
    return subprocess.Popen(
        [*PROGRAM, *args],
        env={**os.environ, "COLUMNS": "100", **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def on_a_terminal(*args: str, typed: str = "", **env: str) -> tuple[int, str]:
    """Run it on a terminal; its exit code, and all that the terminal showed."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*PROGRAM, *args],
        env={**os.environ, "COLUMNS": "100", "TERM": "xterm-256color", **env},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    ) as running:
        os.close(theirs)
        os.write(ours, typed.encode())
        shown = b""
        while chunk := _read(ours):
            shown += chunk
    os.close(ours)
    return running.returncode, shown.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # nobody is left at the other end
        return b""


def all_commands(
    group: click.Group = cli, path: tuple[str, ...] = ()
) -> dict[tuple[str, ...], click.Command]:
    """Every command and group below a group, by its path."""
    found: dict[tuple[str, ...], click.Command] = {}
    for name, command in group.commands.items():
        found[(*path, name)] = command
        if isinstance(command, click.Group):
            found |= all_commands(command, (*path, name))
    return found
