"""The commands that look at calls and take them back: changes, restore and undo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from memlayer_pg.cli import output, places
from memlayer_pg.cli.failures import Failed
from memlayer_pg.cli.reading import top_k
from memlayer_pg.cli.scope import actor_option, expected_version_option, scope_options
from memlayer_pg.cli.settings import Settings, WithSettings, pass_settings

if TYPE_CHECKING:
    from rich.table import Table

DONE = {"ADD": "stands again", "UPDATE": "as it was", "DELETE": "deleted"}
"""What a restore or an undo did, by the event it was in the history."""


@click.command(cls=WithSettings)
@scope_options
@top_k
@click.option("--after", metavar="CURSOR", help="Go on where the last page ended.")
@pass_settings
def changes(
    settings: Settings,
    user_id: str | None,
    agent_id: str | None,
    run_id: str | None,
    top_k: int,
    after: str | None,
) -> None:
    """The calls that wrote, newest first, as undo takes them."""
    with places.memory(settings, embeds=False) as memory:
        found = memory.changes(user_id, agent_id, run_id, top_k=top_k, after=after)
    if settings.as_json:
        output.as_json(found)
        return
    if found["results"]:
        output.console().print(_listed(found["results"]))
    else:
        click.echo("There are no changes.")
    if "next" in found:
        click.echo(f"There are more: --after {found['next']}")


def _listed(found: list[dict[str, Any]]) -> Table:
    from rich.console import Group
    from rich.text import Text

    table = output.grid("when (UTC)", "operation", ">added", ">updated", ">deleted", "change")
    for item in found:
        by = [item["application_name"] or "a program without a name", item["database_role"]]
        parts = [f"by {item['actor']}"] if "actor" in item else []
        parts.append(", as ".join(by))
        parts += [
            f"{name} {item[key]}"
            for name, key in (("user", "user_id"), ("agent", "agent_id"), ("run", "run_id"))
            if key in item
        ]
        if "undoes" in item:
            parts.append(f"undoes {item['undoes']}")
        table.add_row(
            output.minute(item["created_at"]),
            item["operation"],
            *(str(item[key]) for key in ("added", "updated", "deleted")),
            Group(Text(item["id"]), Text(output.shown(" · ".join(parts)), style="dim")),
        )
    return table


@click.command(cls=WithSettings)
@click.argument("memory_id", metavar="ID")
@click.option("--version", type=click.IntRange(min=1), metavar="N", help="As it was at version N.")
@click.option("--as-of", metavar="WHEN", help="As it was at this moment, ISO 8601.")
@expected_version_option
@actor_option
@pass_settings
def restore(
    settings: Settings,
    memory_id: str,
    version: int | None,
    as_of: str | None,
    expected_version: int | None,
    actor: str | None,
) -> None:
    """Make one memory what it was, even one that was deleted.

    A deleted one needs neither --version nor --as-of. `memlayer history` shows the versions.
    """
    with places.memory(settings, embeds=False) as memory:
        found = memory.restore(
            memory_id,
            version=version,
            as_of=as_of,
            expected_version=expected_version,
            actor=actor,
        )
    if settings.as_json:
        output.as_json(found)
        return
    done = DONE.get(found["event"], "it was so already")
    click.echo(f"{output.shown(found['memory'])}\n{done}, at version {found['version']}")
    if found["pending"]:
        click.echo("It waits for a vector: memlayer embed-pending gives it one.")


@click.command(cls=WithSettings)
@click.argument("change_id", metavar="CHANGE")
@click.option("--force", is_flag=True, help="Memories that were changed since, too.")
@actor_option
@pass_settings
def undo(settings: Settings, change_id: str, force: bool, actor: str | None) -> None:
    """Reverse what one call did; see `memlayer changes`.

    Memories that were changed since are left, and the exit code is 1.
    """
    with places.memory(settings, embeds=False) as memory:
        found = memory.undo(change_id, force=force, actor=actor)
    left = sum(item["outcome"] == "changed since" for item in found["results"])
    if settings.as_json:
        output.as_json(found)
    elif found["results"]:
        output.console().print(_told(found["results"]))
    else:
        click.echo("It changed no memory.")
    if left:
        raise Failed(
            f"{left} {'memory' if left == 1 else 'memories'} changed since: left as they are",
            "look at memlayer history ID; --force undoes them all the same",
        )


def _told(found: list[dict[str, Any]]) -> Table:
    from rich.text import Text

    table = output.grid("outcome", "", "memory")
    for item in found:
        done = DONE.get(item["event"], "left as it is")
        waits = ", waits for a vector" if item["pending"] else ""
        text = Text(f"{output.shown(item['memory'])}\n{item['id']}")
        table.add_row(item["outcome"], f"{done}{waits}", text)
    return table
