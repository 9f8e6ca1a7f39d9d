"""`memlayer reembed`: another embedding model for memories that are in use."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from memlayer_pg.cli import output, places
from memlayer_pg.cli.changing import ask, may_ask, yes
from memlayer_pg.cli.failures import WrongUse
from memlayer_pg.cli.settings import Settings, WithSettings, pass_settings
from memlayer_pg.config import Config, Endpoint

if TYPE_CHECKING:
    from memlayer_pg import Memory

Row = dict[str, Any]


@click.command(cls=WithSettings)
@click.option("--model", metavar="NAME", help="The new model. Default: the embedder configured.")
@click.option(
    "--dimensions",
    type=click.IntRange(1, 4000),
    help="Length of the vectors to ask it for. Default: what it gives.",
)
@click.option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True),
    metavar="N",
    help="Requests a minute at most. Default: no limit.",
)
@click.option("--dry-run", is_flag=True, help="Say what is to be embedded, and embed nothing.")
@click.option("--rollback", is_flag=True, help="Go back to the model before, or give up.")
@click.option("--finish", is_flag=True, help="Drop the vectors of the model before.")
@yes
@pass_settings
def reembed(
    settings: Settings,
    model: str | None,
    dimensions: int | None,
    rate: float | None,
    dry_run: bool,
    rollback: bool,
    finish: bool,
    yes: bool,
) -> None:
    """Change the embedding model of a tenant in use.

    Embeds all memories with another model; says what that takes, and asks. Searches and adds stay
    with the model of before until all vectors are there; then one transaction changes to the new
    one, and programs have to be configured for it. A command that was interrupted goes on where it
    was when it is run again. The vectors of before are kept for --rollback, until --finish.
    """
    if rollback + finish + dry_run > 1:
        raise WrongUse("--dry-run, --rollback and --finish exclude each other")
    if not dry_run:
        may_ask(yes)
    config = settings.config()
    if rollback or finish:
        with (
            places.database(config) as place,
            places.opened(config, place, embeds=False, extracts=False) as memory,
        ):
            (_roll_back if rollback else _finish)(settings, place, memory, yes)
        return
    config = replace(config, embedder=_embedder(config, model, dimensions))
    with (
        places.database(config) as place,
        places.opened(config, place, embeds=True, extracts=False) as memory,
    ):
        _reembed(settings, place, memory, rate, dry_run, yes)


def _embedder(config: Config, model: str | None, dimensions: int | None) -> Endpoint | None:
    """The endpoint configured, asked for another model; a name alone is one of OpenAI's."""
    if config.embedder is None:
        if model is None and dimensions is not None:
            raise WrongUse("--dimensions: of which model?", "add --model")
        return None if model is None else Endpoint(model=model, dimensions=dimensions)
    if model is None:
        return replace(config.embedder, dimensions=dimensions or config.embedder.dimensions)
    return replace(config.embedder, model=model, dimensions=dimensions)


def _reembed(
    settings: Settings,
    place: places.Place,
    memory: Memory,
    rate: float | None,
    dry_run: bool,
    yes: bool,
) -> None:
    name = memory.embedding_model.name
    with output.working("counting"):
        plan = memory.reembed(dry_run=True)
    changes = plan["model"] not in (None, name)
    if changes and not settings.as_json:
        click.echo(_told(plan, name), err=not dry_run)
    if dry_run:
        if settings.as_json:
            output.as_json(plan)
        elif not changes:
            click.echo(_nothing(plan, name))
        return
    if changes and not yes:
        ask("Embed them?")
    with output.progress("embedding", plan["remaining"]) as told:
        found = memory.reembed(rate=rate, on_progress=told)
    found["index"] = _move_index(place, memory.config.tenant)
    if settings.as_json:
        output.as_json(found)
    elif not changes:
        click.echo(_nothing(plan, name))
    else:
        click.echo(
            f"texts embedded: {found['embedded']:,}; memories now of {name}: "
            f"{found['memories']:,}\nConfigure it wherever this tenant is used: until then "
            f"programs are refused.\nmemlayer reembed --rollback goes back to {plan['model']}, "
            "--finish drops its vectors."
        )


def _told(plan: Row, name: str) -> str:
    """What a re-embedding takes."""
    return (
        f"from {plan['model']} to {name}: {plan['memories']:,} memories, "
        f"{plan['entities']:,} entities\n"
        f"to be embedded: {plan['remaining']:,} texts, {plan['characters']:,} characters, "
        f"about {plan['tokens']:,} tokens, {plan['requests']:,} requests"
    )


def _nothing(plan: Row, name: str) -> str:
    if plan["model"] is None:
        return "This tenant has no vectors yet, any model will do."
    return f"The memories are of {name} already."


def _roll_back(settings: Settings, place: places.Place, memory: Memory, yes: bool) -> None:
    if not yes:
        ask(f"Go back to the model that tenant {memory.config.tenant} had before?")
    with output.working("going back"):
        found = memory.reembed_rollback()
    found["index"] = _move_index(place, memory.config.tenant)
    if settings.as_json:
        output.as_json(found)
        return
    click.echo(
        f"in use: {found['model']}; memories given their old vector: "
        f"{found['memories'] - found['pending']:,}; vectors dropped: {found['dropped']:,}"
    )
    if found["pending"]:
        click.echo(f"memories without a vector: {found['pending']:,}; run memlayer embed-pending")


def _finish(settings: Settings, place: places.Place, memory: Memory, yes: bool) -> None:
    if not yes:
        ask(f"Drop the vectors that tenant {memory.config.tenant} had before, for good?")
    _move_index(place, memory.config.tenant)
    with output.working("dropping vectors"):
        found = memory.reembed_finish()
    if settings.as_json:
        output.as_json(found)
    elif found["model"] is None:
        click.echo("There are no vectors of a model before.")
    else:
        click.echo(f"vectors of {found['model']} dropped: {found['dropped']:,}")


def _move_index(place: places.Place, tenant: str) -> str | None:
    """Where the model before had a vector index, make one of the model in use, and drop that one.

    The name of the one made. Both beside those who read and write; again after an interruption.
    """
    from memlayer_pg.cli import building, large

    with places.connection(place.dsn) as conn:
        kept = large.index(conn, tenant, kept=True)
    if kept.state is None:
        return None
    building.nobody_else(kept)
    made = kept.state == "valid" and building.create(place, tenant, None)
    building.drop(place, kept)
    if not made:
        return None
    with places.connection(place.dsn) as conn:
        return large.index(conn, tenant).name
