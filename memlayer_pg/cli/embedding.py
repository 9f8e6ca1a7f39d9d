"""`memlayer embed-pending`."""

from __future__ import annotations

import click

from memlayer_pg.cli import output, places
from memlayer_pg.cli.settings import Settings, WithSettings, pass_settings


@click.command(cls=WithSettings)
@click.option("--limit", type=click.IntRange(min=1), help="How many at most. Default: all.")
@pass_settings
def embed_pending(settings: Settings, limit: int | None) -> None:
    """Embed the memories that have no vector.

    Plain SQL that stores a memory or changes its text leaves it without one; until it has its
    vector words alone find it. A command that was interrupted goes on where it was when it is run
    again.
    """
    with places.memory(settings) as memory, output.progress("embedding", 0) as told:
        found = memory.embed_pending(limit=limit, on_progress=told)
    if settings.as_json:
        output.as_json(found)
    else:
        click.echo(f"memories embedded: {found['embedded']}; without a vector: {found['pending']}")
