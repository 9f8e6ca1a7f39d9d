"""`memlayer db set-language`."""

from __future__ import annotations

from typing import Any

import click

from memlayer_pg.cli import output, places
from memlayer_pg.cli.settings import Settings, WithSettings, pass_settings

BATCH = 500
"""Memories that are indexed anew in one transaction, about half a second: who writes one of them
waits no longer."""

COUNTED = "select exists (select from memlayer.scope_statistic where tenant = %s)"
"""Whether words are counted that are of the language before."""


@click.command("set-language", cls=WithSettings)
@click.argument("config", required=False)
@pass_settings
def set_language(settings: Settings, config: str | None) -> None:
    """Index and search by text-search configuration CONFIG.

    Such as english, german, or simple (no stems, no stop words). It is the tenant's; without CONFIG
    it is shown. What is remembered already is indexed anew while others read and write; then the
    words of large scopes are counted anew, where they were counted before. A command that was
    interrupted goes on where it was when it is run again.
    """
    from memlayer_pg import db
    from memlayer_pg.cli.checks import one
    from memlayer_pg.effects import Call

    tenant = settings.config().tenant

    def called(function: str, **args: Any) -> list[dict[str, Any]]:
        return db.perform(conn, Call(function, {"p_tenant": tenant, **args}))

    def asked(function: str, **args: Any) -> dict[str, Any]:
        [row] = called(function, **args)
        return row

    with places.connected(settings.config()) as conn:
        before = asked("set_language")["set_language"]
        if config is None:
            _show(settings, {"tenant": tenant, "config": before}, before)
            return
        now = asked("set_language", p_config=config)["set_language"]
        batch = asked("rebuild_documents", p_limit=BATCH)
        rebuilt, seen, total = batch["rebuilt"], BATCH, BATCH + batch["remaining"]
        with output.progress("indexing", total) as told:
            while batch["last_id"] is not None:
                if told:
                    told(seen, total)
                batch = asked("rebuild_documents", p_after=batch["last_id"], p_limit=BATCH)
                rebuilt, seen = rebuilt + batch["rebuilt"], seen + BATCH
        [counted] = one(conn, COUNTED, tenant)
        statistics = []
        if counted:
            with output.working("counting words"):
                statistics = called("refresh_statistics")
    found = {"tenant": tenant, "config": now, "before": before, "rebuilt": rebuilt}
    line = f"{now} (before: {before}); memories indexed anew: {rebuilt}"
    if counted:
        line = f"{line}; scopes whose words were counted anew: {len(statistics)}"
    _show(settings, {**found, "statistics": statistics}, line)


def _show(settings: Settings, found: dict[str, Any], line: str) -> None:
    if settings.as_json:
        output.as_json(found)
    else:
        click.echo(line)
