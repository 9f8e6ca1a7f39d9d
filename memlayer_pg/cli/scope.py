"""The options that say whose memories a command is about."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

import click

from memlayer_pg.cli.failures import WrongUse

F = TypeVar("F", bound=Callable[..., Any])


def json_object(
    ctx: click.Context, option: click.Parameter, value: str | None
) -> dict[str, Any] | None:
    """A callback for options whose value is a JSON object."""
    if value is None:
        return None
    try:
        found = json.loads(value)
    except ValueError as error:
        raise click.BadParameter(f"this is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise click.BadParameter('this is no JSON object such as \'{"topic": "food"}\'')
    return found


def scope_options(command: F) -> F:
    """--user, --agent and --run, as `user_id`, `agent_id` and `run_id`."""
    for name in ("run", "agent", "user"):
        command = click.option(
            f"--{name}", f"{name}_id", metavar="ID", help=f"The {name} they belong to."
        )(command)
    return command


def filter_option(command: F) -> F:
    """--filter: conditions beside the scope."""
    return click.option(
        "--filter",
        "conditions",
        metavar="JSON",
        callback=json_object,
        help='Further conditions, such as \'{"topic": {"in": ["food", "drink"]}}\'.',
    )(command)


def actor_option(command: F) -> F:
    """--actor: whom the history names beside the login."""
    return click.option("--actor", metavar="NAME", help="Who does it, to be kept with the change.")(
        command
    )


def expected_version_option(command: F) -> F:
    """--expected-version: compare and swap."""
    return click.option(
        "--expected-version",
        type=click.IntRange(min=1),
        metavar="N",
        help="Only while it is at version N.",
    )(command)


def named(**ids: str | None) -> dict[str, str]:
    """The ids that were given; WrongUse when there is none."""
    found = {name: value for name, value in ids.items() if value is not None}
    if not found:
        raise WrongUse(
            "whose memories? name at least one of --user, --agent and --run",
            "memlayer scopes lists who has memories",
        )
    return found


def filters(conditions: dict[str, Any] | None, **ids: str | None) -> dict[str, Any]:
    """The filter of a reader: the ids, and the conditions beside them (which may name ids too)."""
    among = {name: value for name, value in (conditions or {}).items() if name in ids}
    scope = named(**{name: ids[name] or among.get(name) for name in ids})
    if twice := [name for name in among if ids[name] is not None]:
        raise WrongUse(f"{', '.join(twice)}: given as an option and in --filter")
    return {**(conditions or {}), **scope}
