"""How a command ends: exit codes, and errors as one line with a hint below it.

0 well · 1 it failed, or what was asked for is not there or not right · 2 the command, a setting or
a value was wrong · 130 Ctrl-C · 128 + n ended by signal n.
"""

from __future__ import annotations

import logging
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

import click

from memlayer_pg.cli.settings import Group, Settings
from memlayer_pg.errors import (
    ConfigError,
    DatabaseError,
    FilterError,
    InputError,
    MemlayerError,
    ScopeMissing,
    ValidationError,
)

WRONG_USE = (ConfigError, InputError, ValidationError, ScopeMissing, FilterError)
"""What the caller can put right by calling otherwise: exit code 2."""


class Failed(click.ClickException):
    """The command did its work and the answer is no: exit code 1, the message and a hint."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class WrongUse(Failed):
    """The command cannot be run like this: exit code 2."""

    exit_code = 2


class Program(Group):
    """The root command: whatever happens below it ends in a line on stderr and an exit code."""

    def main(self, *args: Any, **extra: Any) -> Any:
        extra["standalone_mode"] = False
        settings = Settings()
        extra["obj"] = settings
        stdout = sys.stdout
        try:
            with _warnings():
                code = super().main(*args, **extra)
            stdout.flush()
        except click.Abort as error:
            sys.exit(_aborted(error))
        except BrokenPipeError:
            _nobody_listens(stdout)
            sys.exit(1)
        except Exception as error:  # whatever it is, it ends as a line
            if settings.debug:
                traceback.print_exc()
            message, hint, code = told(error)
            say("error", message)
            if hint:
                say("hint", hint)
            sys.exit(code)
        sys.exit(code if isinstance(code, int) else 0)


def told(error: Exception) -> tuple[str, str | None, int]:
    """An error as a line, what to do about it (None: nothing to say), and the exit code."""
    match error:
        case Failed():
            return error.message, error.hint, error.exit_code
        case click.UsageError():
            usage = f"{error.ctx.command_path} --help" if error.ctx else "memlayer --help"
            return error.format_message(), usage, error.exit_code
        case click.ClickException():
            return error.format_message(), None, error.exit_code
        case MemlayerError():
            return error.message, _hint(error), 2 if isinstance(error, WRONG_USE) else 1
        case OSError(filename=str(name), strerror=str(reason)):
            return f"{name}: {reason}", None, 1
        case OSError():
            return str(error), None, 1
    # a fault of ours, or a schema that answers otherwise than this version expects
    return f"{type(error).__name__}: {error}", UNFORESEEN, 1


UNFORESEEN = (
    "--debug shows the traceback; memlayer db check tells whether the schema is of this version"
)

NOT_THERE = ("42883", "42703", "42P01")
"""A function, a column or a table that this version knows and the schema does not."""


def _hint(error: MemlayerError) -> str | None:
    if isinstance(error, DatabaseError) and error.sqlstate in NOT_THERE:
        return "the schema is not of this version: run memlayer db check"
    if error.suggestion is None and isinstance(error, DatabaseError) and error.sqlstate is None:
        return "look at --dsn or MEMLAYER_DSN; without either, a server is started for you"
    # Some messages end with what to do already.
    return None if error.suggestion and error.suggestion in error.message else error.suggestion


def say(kind: str, text: str) -> None:
    """One line on stderr: what kind of line it is, and the text."""
    # "error: error: …" would be said of a message that begins with its kind
    line = " ".join(text.split()).removeprefix(f"{kind}: ")
    colour = {"error": "red", "warning": "yellow", "hint": "cyan"}.get(kind)
    label = f"{kind}:"
    if sys.stderr.isatty() and not os.environ.get("NO_COLOR"):
        label = click.style(label, fg=colour, bold=True)
    click.echo(f"{label} {line}", err=True)


class Lines(logging.Handler):
    """Shows the library's warnings as lines on stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        say("warning", record.getMessage())


@contextmanager
def _warnings() -> Iterator[None]:
    log, handler = logging.getLogger("memlayer_pg"), Lines()
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


def _aborted(error: click.Abort) -> int:
    interrupted = isinstance(error.__cause__ or error.__context__, KeyboardInterrupt)
    if not interrupted:
        say("error", "nothing was done")
    return 130 if interrupted else 1


def _nobody_listens(stdout: TextIO) -> None:
    """The reader of a pipe has gone: let nothing more be written, not even at exit."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())
    except OSError:  # a stream without a descriptor has nothing left to flush
        return
