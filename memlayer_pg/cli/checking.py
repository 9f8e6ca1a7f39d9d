"""`memlayer verify` and `memlayer doctor`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click
from click.exceptions import Exit

from memlayer_pg.cli import output, places
from memlayer_pg.cli.settings import Settings, WithSettings, pass_settings

if TYPE_CHECKING:
    from memlayer_pg.cli.checks import Check


@click.command(cls=WithSettings)
@pass_settings
def verify(settings: Settings) -> None:
    """Whether the store contradicts itself.

    Compares every memory with its history, its derived columns and its vector, and looks at
    entities and messages: of one tenant when --tenant or MEMLAYER_TENANT names it, else of all.
    Exit code 1 and a table when something is wrong.
    """
    from memlayer_pg import db
    from memlayer_pg.effects import Call

    config = settings.config()
    one = settings.tenant is not None or bool(os.environ.get("MEMLAYER_TENANT", "").strip())
    with places.connected(config) as conn, output.working("comparing"):
        found = db.perform(conn, Call("verify", {"p_tenant": config.tenant if one else None}))
    if settings.as_json:
        output.as_json(found)
    elif found:
        output.console().print(output.rows(found, ["tenant", "problem", "memory_id", "detail"]))
    else:
        whose = f"of tenant {config.tenant} " if one else ""
        click.echo(f"Nothing {whose}contradicts itself.")
    if found:
        raise Exit(1)


@click.command(cls=WithSettings)
@click.option("--offline", is_flag=True, help="Ask no model.")
@pass_settings
def doctor(settings: Settings, offline: bool) -> None:
    """Whether everything is in place, and what to do if not.

    Looks at the server, the schema and the store of the tenant, and sends each model a tiny
    request. Exit code 1 when something is not in place.
    """
    from memlayer_pg.cli import asking, looking

    config = settings.config()
    with output.working("looking at the database"):
        found = list(looking.database(config))
    with output.working("asking the models"):
        found += [asking.embedder(config, offline=offline), asking.chat(config, offline=offline)]
        if reranker := asking.reranker(config, offline=offline):
            found.append(reranker)
    if settings.as_json:
        output.as_json([check.as_dict() for check in found])
    else:
        _show(found)
    if any(check.status == "fail" for check in found):
        raise Exit(1)


def _show(found: list[Check]) -> None:
    from rich.table import Column, Table
    from rich.text import Text

    table = Table.grid("", "", Column(overflow="fold"), padding=(0, 2))
    for check in found:
        colour = {"ok": "green", "warn": "yellow", "fail": "red"}[check.status]
        said = Text(output.shown(check.said))
        if check.next_step:
            said.append(f"\n→ {check.next_step}", style="bold")
        table.add_row(Text(check.status, style=f"bold {colour}"), Text(check.name), said)
    output.console().print(table)
