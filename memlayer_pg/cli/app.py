"""The command line, assembled."""

from __future__ import annotations

import signal
import sys
from types import FrameType

import click

from memlayer_pg import __version__
from memlayer_pg.cli.adding import add
from memlayer_pg.cli.changing import delete, delete_all, reset, update
from memlayer_pg.cli.checking import doctor, verify
from memlayer_pg.cli.database import db
from memlayer_pg.cli.embedding import embed_pending
from memlayer_pg.cli.erasing import erase
from memlayer_pg.cli.exporting import export
from memlayer_pg.cli.failures import Program
from memlayer_pg.cli.feeding import feed
from memlayer_pg.cli.importing import import_
from memlayer_pg.cli.mcp import mcp
from memlayer_pg.cli.reading import get, history, list_, messages, scopes, search
from memlayer_pg.cli.reembedding import reembed
from memlayer_pg.cli.reverting import changes, restore, undo
from memlayer_pg.cli.serving import serve_embedded
from memlayer_pg.cli.touring import demo
from memlayer_pg.cli.upgrading import upgrade_embedded

# In the order in which somebody meets them.
COMMANDS = (
    demo,
    add,
    search,
    list_,
    scopes,
    get,
    update,
    delete,
    delete_all,
    erase,
    reset,
    history,
    changes,
    restore,
    undo,
    feed,
    messages,
    import_,
    export,
    db,
    embed_pending,
    reembed,
    verify,
    doctor,
    mcp,
    serve_embedded,
    upgrade_embedded,
)


@click.command(
    cls=Program,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=True,
)
@click.version_option(__version__, prog_name="memlayer-pg", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """The long-term memory of AI agents, in one Postgres database.

    Start with `memlayer demo`.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


for command in COMMANDS:
    cli.add_command(command)


def main() -> None:
    """What the console script runs."""
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _end)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # what a terminal cannot show is no reason to fail
            stream.reconfigure(errors="backslashreplace")
    cli(prog_name="memlayer")


def _end(number: int, frame: FrameType | None) -> None:
    """End as after an error, so that the server we started is stopped."""
    sys.exit(128 + number)
