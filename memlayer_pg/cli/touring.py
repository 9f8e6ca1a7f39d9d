"""`memlayer demo`: a conversation remembered, searched, corrected and audited."""

from __future__ import annotations

import dataclasses

import click
from click.exceptions import Exit

from memlayer_pg.cli import output, places
from memlayer_pg.cli.failures import WrongUse
from memlayer_pg.cli.settings import Settings, WithSettings, pass_settings


@click.command(cls=WithSettings)
@pass_settings
def demo(settings: Settings) -> None:
    """Watch a conversation being remembered and searched.

    Then one memory is corrected and audited, and an analyst asks in plain SQL. Works in tenant
    "demo", which it empties first. Needs no key: without one the models are local and what was
    said is stored word for word.
    """
    from memlayer_pg.cli.showing import Screen
    from memlayer_pg.demo import TENANT
    from memlayer_pg.demo.tour import Tour

    if settings.tenant not in (None, TENANT):
        raise WrongUse(f"the demo keeps to tenant {TENANT}, so that it cannot empty another")
    config = dataclasses.replace(settings.config(), tenant=TENANT)
    with (
        places.database(config) as place,
        places.opened(config, place, embeds=True, extracts=config.llm is not None) as memory,
        places.connection(place.dsn, "psql of an analyst") as conn,
    ):
        tour = Tour(memory, conn, place.shown)
        if settings.as_json:
            output.as_json({name: step() for name, step in tour.steps.items()})
        else:
            screen = Screen(tour, place, output.console())
            for name, step in tour.steps.items():
                with output.working("asking the models"):
                    found = step()
                getattr(screen, name)(found)
            screen.end()
    if tour.contradictions:
        raise Exit(1)
