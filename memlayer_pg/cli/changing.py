"""The commands that change and forget: update, delete, delete-all and reset."""

from __future__ import annotations

import sys
from typing import Any

import click

from memlayer_pg.checks import UNSET
from memlayer_pg.cli import output, places
from memlayer_pg.cli.failures import WrongUse
from memlayer_pg.cli.scope import (
    actor_option,
    expected_version_option,
    filter_option,
    filters,
    json_object,
    scope_options,
)
from memlayer_pg.cli.settings import Settings, WithSettings, pass_settings

yes = click.option("--yes", "-y", is_flag=True, help="Do not ask.")


@click.command(cls=WithSettings)
@click.argument("memory_id", metavar="ID")
@click.argument("text", required=False)
@click.option(
    "--metadata",
    metavar="JSON",
    callback=json_object,
    help="Merged with what is there, key by key.",
)
@click.option("--expires", metavar="DAY", help="The last day (UTC) on which it is found.")
@click.option("--no-expiry", is_flag=True, help="Find it for ever.")
@expected_version_option
@actor_option
@pass_settings
def update(
    settings: Settings,
    memory_id: str,
    text: str | None,
    metadata: dict[str, Any] | None,
    expires: str | None,
    no_expiry: bool,
    expected_version: int | None,
    actor: str | None,
) -> None:
    """Change the words, metadata or expiry of one memory.

    TEXT is the new wording; - reads it from stdin.
    """
    if expires is not None and no_expiry:
        raise click.UsageError("--expires and --no-expiry exclude each other")
    if text is None and metadata is None and expires is None and not no_expiry:
        raise click.UsageError("nothing to change: give TEXT, --metadata, --expires or --no-expiry")
    if text == "-":
        text = sys.stdin.read().strip()
    with places.memory(settings, embeds=text is not None) as memory:
        result = memory.update(
            memory_id,
            text,
            metadata=metadata,
            expiration_date=None if no_expiry else UNSET if expires is None else expires,
            expected_version=expected_version,
            actor=actor,
        )
    _done(settings, result)


@click.command(cls=WithSettings)
@click.argument("memory_id", metavar="ID")
@expected_version_option
@actor_option
@pass_settings
def delete(
    settings: Settings, memory_id: str, expected_version: int | None, actor: str | None
) -> None:
    """Forget one memory; its history stays."""
    with places.memory(settings, embeds=False) as memory:
        result = memory.delete(memory_id, expected_version=expected_version, actor=actor)
    _done(settings, result)


@click.command(cls=WithSettings)
@scope_options
@filter_option
@actor_option
@yes
@pass_settings
def delete_all(
    settings: Settings,
    user_id: str | None,
    agent_id: str | None,
    run_id: str | None,
    conditions: dict[str, Any] | None,
    actor: str | None,
    yes: bool,
) -> None:
    """Forget every memory that carries at least these ids.

    Asks first. Their history stays.
    """
    where = filters(conditions, user_id=user_id, agent_id=agent_id, run_id=run_id)
    may_ask(yes)
    with places.memory(settings, embeds=False) as memory:
        if not yes:
            counted = memory.get_all(filters=where, top_k=0, show_expired=True, with_total=True)
            number = counted["total"]
            ask(f"Forget {number} {'memory' if number == 1 else 'memories'} of {_whose(where)}?")
        result = memory.delete_all(filters=where, actor=actor)
    _done(settings, result)


@click.command(cls=WithSettings)
@actor_option
@yes
@pass_settings
def reset(settings: Settings, actor: str | None, yes: bool) -> None:
    """Forget everything of the tenant, its history too.

    Asks first. Memories, history, messages and entities go; other tenants stay.
    """
    may_ask(yes)
    tenant = settings.config().tenant
    with places.memory(settings, embeds=False) as memory:
        if not yes:
            ask(f"Forget everything of tenant {tenant}, its history too?")
        memory.reset(actor=actor)
    _done(settings, {"message": f"Everything of tenant {tenant} is forgotten."})


def may_ask(yes: bool) -> None:
    """WrongUse when somebody has to be asked and nobody is there."""
    if not yes and not sys.stdin.isatty():
        raise WrongUse("this has to be confirmed, and stdin is no terminal", "add --yes")


def ask(question: str) -> None:
    click.confirm(question, abort=True, err=True)


def _whose(where: dict[str, Any]) -> str:
    names = {"user_id": "user", "agent_id": "agent", "run_id": "run"}
    ids = [f"{name} {output.shown(where[key])}" for key, name in names.items() if key in where]
    others = [key for key in where if key not in names]
    return " and ".join(ids) + (f" that match the filter on {', '.join(others)}" if others else "")


def _done(settings: Settings, result: dict[str, Any]) -> None:
    if settings.as_json:
        output.as_json(result)
    else:
        click.echo(result["message"])
