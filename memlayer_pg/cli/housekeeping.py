"""What keeps a store small: db vacuum-expired, prune-messages, prune-changes and sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from memlayer_pg.cli import output, places
from memlayer_pg.cli.settings import Settings, WithSettings, pass_settings
from memlayer_pg.cli.spans import span

BATCH = 1000
"""Rows that go in one transaction: who needs one of them waits no longer."""

Command = Callable[..., None]
dry = click.option("--dry-run", is_flag=True, help="Only count.")
keep = click.option(
    "--keep", callback=span, metavar="SPAN", required=True, help="Such as 90d or '3 months'."
)


@click.command("vacuum-expired", cls=WithSettings)
@click.option(
    "--expired-for",
    callback=span,
    metavar="SPAN",
    default="0",
    show_default=True,
    help="Only what expired so long ago, such as 30d.",
)
@click.option("--actor", metavar="NAME", help="Who does it, to be kept with the history.")
@dry
@pass_settings
def vacuum_expired(
    settings: Settings, expired_for: str, actor: str | None, dry_run: bool
) -> None:  # fmt: skip
    """Delete memories that have expired.

    As `memlayer delete` does: history keeps them, and restore brings them back.
    """
    args = {"p_expired_for": expired_for}
    who = {"p_actor": actor}
    _sweep(settings, "vacuum_expired", "expired memories", args, dry_run, who)


@click.command("prune-messages", cls=WithSettings)
@keep
@dry
@pass_settings
def prune_messages(settings: Settings, keep: str, dry_run: bool) -> None:
    """Delete buffered messages of idle sessions.

    Of those in which nothing was said for the span that --keep names.
    """
    _sweep(settings, "prune_messages", "messages", {"p_keep": keep}, dry_run)


@click.command("prune-changes", cls=WithSettings)
@keep
@dry
@pass_settings
def prune_changes(settings: Settings, keep: str, dry_run: bool) -> None:
    """Delete old records of calls.

    Of those that no history names any more: run prune-history first. What they cost is then no
    longer counted, and their idempotency keys are forgotten.
    """
    _sweep(settings, "prune_changes", "records of calls", {"p_keep": keep}, dry_run)


def _sweep(
    settings: Settings,
    function: str,
    what: str,
    args: dict[str, Any],
    dry_run: bool,
    writing: dict[str, Any] | None = None,
) -> None:
    """Call a function batch by batch until there is no more to do, and say how much it was.

    `writing`: arguments that are not given when it only counts.
    """
    from memlayer_pg import db
    from memlayer_pg.effects import Call

    args = {"p_tenant": settings.config().tenant, **args}

    def asked(**more: Any) -> int:
        [row] = db.perform(conn, Call(function, args | more))
        return int(row[function])

    with places.connected(settings.config()) as conn:
        number = asked(p_dry_run=True)
        if not dry_run:
            number = _batches(what, number, lambda: asked(p_batch=BATCH, **(writing or {})))
    if settings.as_json:
        output.as_json({"tenant": args["p_tenant"], "removed": number, "dry_run": dry_run})
        return
    click.echo(f"{number} {what} {'would be deleted' if dry_run else 'deleted'}")


def _batches(what: str, expected: int, step: Callable[[], int]) -> int:
    removed = 0
    with output.progress(f"deleting {what}", expected) as told:
        while batch := step():
            removed += batch
            if told:
                told(removed, max(removed, expected))
    return removed


SIZES = """
select o.kind, o.name, o.of_table, greatest(c.reltuples, 0)::bigint as rows, o.bytes,
       pg_size_pretty(o.bytes) as size, o.dead_rows, o.scans
  from (
    select 'table' as kind, c.oid, c.relname as name, c.relname as of_table,
           pg_table_size(c.oid) as bytes, coalesce(s.n_dead_tup, 0) as dead_rows,
           null::bigint as scans
      from pg_class c
      left join pg_stat_user_tables s on s.relid = c.oid
     where c.relnamespace = 'memlayer'::regnamespace and c.relkind in ('r', 'p')
    union all
    select 'index', i.indexrelid, i.indexrelname, i.relname, pg_relation_size(i.indexrelid), null,
           i.idx_scan
      from pg_stat_user_indexes i
     where i.schemaname = 'memlayer') o
  join pg_class c on c.oid = o.oid
 order by sum(o.bytes) over (partition by o.of_table) desc, o.of_table, o.kind desc, o.bytes desc,
       o.name
"""


@click.command(cls=WithSettings)
@pass_settings
def sizes(settings: Settings) -> None:
    """What tables and indexes take on disk.

    Rows are Postgres's own estimate, scans those since its statistics were reset. Whether an index
    is missing or stale, `memlayer doctor` says.
    """
    from psycopg.rows import dict_row

    with places.connected(settings.config()) as conn, conn.cursor(row_factory=dict_row) as cursor:
        found = cursor.execute(SIZES.encode()).fetchall()
    if settings.as_json:
        output.as_json(found)
    else:
        columns = ["kind", "name", "rows", "size", "dead_rows", "scans"]
        output.console().print(output.rows(found, columns))
