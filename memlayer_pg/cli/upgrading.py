"""`memlayer upgrade-embedded`."""

from __future__ import annotations

import dataclasses

import click

from memlayer_pg.cli import output
from memlayer_pg.cli.failures import WrongUse, say
from memlayer_pg.cli.settings import Settings, WithSettings, pass_settings


@click.command(cls=WithSettings)
@click.option("--to", "version", type=int, help="Major version of Postgres. Default: the newest.")
@pass_settings
def upgrade_embedded(settings: Settings, version: int | None) -> None:
    """Take the embedded server to a newer Postgres.

    Copies everything into a new data folder, which takes the place of the old one when all of it
    is there; the old one stays beside it. Nobody may use the server meanwhile.
    """
    from memlayer_pg import embedded

    if settings.dsn is not None:
        raise WrongUse("upgrade-embedded is about the embedded server, --dsn names another")
    config = dataclasses.replace(settings.config(), dsn=None)
    folder = config.data_dir or embedded.default_data_dir()
    before, after = embedded.upgrade(
        folder, version=version, told=lambda what: say("upgrading", what)
    )
    if settings.as_json:
        output.as_json({"data_dir": str(folder), "from": before, "to": after})
    elif before == after:
        click.echo(f"{folder} is of Postgres {after} already")
    else:
        click.echo(f"{folder} is now of Postgres {after}; the old files are in postgres-{before}")
