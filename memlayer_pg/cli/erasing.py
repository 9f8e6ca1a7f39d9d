"""The commands that leave nothing behind: erase, and db prune-history."""

from __future__ import annotations

from typing import Any

import click

from memlayer_pg.cli import output, places
from memlayer_pg.cli.changing import ask, may_ask, yes
from memlayer_pg.cli.scope import named, scope_options
from memlayer_pg.cli.settings import Settings, WithSettings, pass_settings
from memlayer_pg.cli.spans import span
from memlayer_pg.shapes import ERASED, moment

BATCH = 500
"""Memories whose history is folded in one transaction: who writes one of them waits no longer."""


@click.command(cls=WithSettings)
@scope_options
@click.option("--actor", metavar="NAME", help="Who does it, to be kept with the receipt.")
@yes
@pass_settings
def erase(
    settings: Settings,
    user_id: str | None,
    agent_id: str | None,
    run_id: str | None,
    actor: str | None,
    yes: bool,
) -> None:
    """Erase for good whatever carries at least these ids.

    Asks first. History and messages go too; a receipt without content stays.
    """
    ids = named(user_id=user_id, agent_id=agent_id, run_id=run_id)
    may_ask(yes)
    if not yes:
        whose = " and ".join(
            f"{name.removesuffix('_id')} {output.shown(value)}" for name, value in ids.items()
        )
        ask(f"Erase everything of {whose}, its history too? Nothing brings it back.")
    with places.memory(settings, embeds=False) as memory:
        receipt = memory.erase(**ids, actor=actor)
    if settings.as_json:
        output.as_json(receipt)
        return
    counts = ", ".join(f"{key} {receipt[key]}" for key in ERASED)
    click.echo(f"Erased: {counts}.")
    click.echo(f"receipt {receipt['id']}, {output.minute(receipt['created_at'])} UTC")
    click.echo(f"digest of the scope {receipt['scope_digest']}")


@click.command("prune-history", cls=WithSettings)
@click.option(
    "--keep", callback=span, metavar="SPAN", help="How long it is kept, such as 90d or '3 months'."
)
@click.option("--dry-run", is_flag=True, help="Only count.")
@pass_settings
def prune_history(settings: Settings, keep: str | None, dry_run: bool) -> None:
    """Take away older history.

    Without --keep, what is older than history_retention in the tenant's settings. Of each memory
    the newest older row stays, as BASELINE; of memories deleted before that, none. Others read
    and write meanwhile.
    """
    from memlayer_pg import db
    from memlayer_pg.effects import Call

    tenant = settings.config().tenant

    def asked(**args: Any) -> dict[str, Any]:
        call = Call("prune_history", {"p_tenant": tenant, "p_keep": keep, **args})
        [row] = db.perform(conn, call)
        return row

    with places.connected(settings.config()) as conn:
        counted = asked(p_dry_run=True)
        memories, removed = counted["memories"], counted["removed"]
        if not dry_run:
            memories = removed = 0
            after = None
            with output.progress("pruning", counted["memories"]) as told:
                while True:
                    batch = asked(p_batch=BATCH, p_after=after)
                    memories, removed = memories + batch["memories"], removed + batch["removed"]
                    after = batch["next"]
                    if told:
                        told(memories, max(memories, counted["memories"]))
                    if after is None:
                        break
    found = {
        "tenant": tenant,
        "memories": memories,
        "removed": removed,
        "history_begins_at": moment(counted["history_begins_at"]),
        "dry_run": dry_run,
    }
    if settings.as_json:
        output.as_json(found)
        return
    verb = "would be taken away" if dry_run else "taken away"
    click.echo(
        f"{removed} rows of history of {memories} memories {verb}: "
        f"what was before {output.minute(found['history_begins_at'])} UTC"
    )
