"""`memlayer serve-embedded`."""

from __future__ import annotations

import dataclasses
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import click

from memlayer_pg.cli import output, places
from memlayer_pg.cli.failures import WrongUse, say
from memlayer_pg.cli.settings import Settings, WithSettings, pass_settings

ENDING = ("SIGINT", "SIGTERM", "SIGHUP")


@click.command(cls=WithSettings)
@pass_settings
def serve_embedded(settings: Settings) -> None:
    """Keep the embedded server running, for BI tools.

    Runs until Ctrl-C. Writes the address of its database to stdout. It listens on a socket in its
    data folder, which only the user it belongs to can reach.
    """
    if settings.dsn is not None:
        raise WrongUse("serve-embedded starts a server of its own, --dsn names another")
    config = dataclasses.replace(settings.config(), dsn=None)
    with places.database(config) as place, _told_to_end() as ended:
        if settings.as_json:
            output.as_json({"dsn": place.dsn, "data_dir": place.shown})
        else:
            click.echo(place.dsn)
        sys.stdout.flush()
        say("serving", f"{place.shown}, until Ctrl-C")
        ended.wait()


@contextmanager
def _told_to_end() -> Iterator[threading.Event]:
    """An event that Ctrl-C and a request to end set, in place of what they do else."""
    ended = threading.Event()
    numbers: list[signal.Signals] = [
        getattr(signal, name) for name in ENDING if hasattr(signal, name)
    ]
    before = [(number, signal.signal(number, lambda *_: ended.set())) for number in numbers]
    try:
        yield ended
    finally:
        for number, handler in before:
            signal.signal(number, handler)
