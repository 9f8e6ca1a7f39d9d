"""`memlayer db ann-index`, `refresh-statistics` and `recall-check`: for large scopes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from memlayer_pg.cli import output, places
from memlayer_pg.cli.failures import say
from memlayer_pg.cli.scope import named, scope_options
from memlayer_pg.cli.settings import Settings, WithSettings, pass_settings

if TYPE_CHECKING:
    import psycopg

Row = dict[str, Any]


@click.command(cls=WithSettings)
@click.option("--drop", "drops", is_flag=True, help="Drop it instead.")
@click.option(
    "--memory",
    metavar="SIZE",
    help="What the build may take, such as 2GB; quick is what fits. Default: the server's "
    "maintenance_work_mem.",
)
@pass_settings
def ann_index(settings: Settings, drops: bool, memory: str | None) -> None:
    """Make the vector index for large scopes.

    For scopes with more memories than are searched exactly (memlayer.exact_threshold). It is made
    beside those who read and write. Then statistics are counted and the recall is measured on the
    largest scope. A command that was interrupted begins anew when it is run again.
    """
    config = settings.config()
    with places.database(config) as place:
        with places.connection(place.dsn) as conn:
            places.greeted(conn)
        if drops:
            _drop(settings, place, config.tenant)
        else:
            _create(settings, place, config.tenant, memory)


def _create(settings: Settings, place: places.Place, tenant: str, memory: str | None) -> None:
    from memlayer_pg.cli import building, large, scaling

    start = time.monotonic()
    made = building.create(place, tenant, memory)
    seconds = round(time.monotonic() - start, 1) if made else None
    with places.connection(place.dsn) as conn:
        with output.working("counting words"):
            statistics = _call(conn, "refresh_statistics", p_tenant=tenant)
        found = large.index(conn, tenant)
        scope = next(iter(large.largest(conn, tenant)), None)
        exact = large.threshold(conn, tenant)
        recall = None
        if scope is not None:
            with output.working(f"measuring the recall on {scope}"):
                recall = _recall(conn, tenant, **scope.args)
    if settings.as_json:
        told = {"index": found.name, "made": made, "seconds": seconds, "bytes": found.size}
        measured = None if scope is None else {"kind": scope.kind, "id": scope.id, **(recall or {})}
        output.as_json({**told, "statistics": statistics, "recall": measured})
    else:
        size = f"{found.size / 1024**2:,.1f} MB"
        told_of = f"made in {seconds} s" if made else "is there already"
        click.echo(f"{found.name}: {told_of}, {size}")
        if statistics:
            output.console().print(_counted(statistics))
        if scope is not None and recall is not None:
            click.echo(f"{output.shown(str(scope))}, {scope.memories:,} memories: {_told(recall)}")
    if recall is not None and recall["recall"] is not None and recall["recall"] < scaling.RECALL:
        say("warning", "it misses many of the nearest; --drop has all searched exactly again")
    if scope is None or scope.memories <= exact:
        say("note", f"no scope has more than {exact:,} memories: all are searched without it")


def _drop(settings: Settings, place: places.Place, tenant: str) -> None:
    from memlayer_pg.cli import building, large

    with places.connection(place.dsn) as conn:
        found = large.index(conn, tenant)
    building.nobody_else(found)
    if found.state is not None:
        with output.working(f"dropping {found.name}"):
            building.drop(place, found)
    if settings.as_json:
        output.as_json({"index": found.name, "dropped": found.state is not None})
    elif found.state is None:
        click.echo(f"tenant {tenant} has no vector index")
    else:
        click.echo(f"{found.name} was dropped, all scopes are searched exactly")


@click.command(cls=WithSettings)
@pass_settings
def refresh_statistics(settings: Settings) -> None:
    """Count anew the words of large scopes.

    Of those with more memories than are searched exactly. Between two refreshes equal searches of
    them give equal answers; run it when a good part of their memories is new.
    """
    from memlayer_pg.cli import large

    config = settings.config()
    with places.connected(config) as conn, output.working("counting words"):
        found = _call(conn, "refresh_statistics", p_tenant=config.tenant)
        exact = large.threshold(conn, config.tenant)
    if settings.as_json:
        output.as_json(found)
    elif found:
        output.console().print(_counted(found))
    else:
        click.echo(f"No scope has more than {exact:,} memories: all are counted as they are read.")


@click.command(cls=WithSettings)
@scope_options
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Vectors to search for, each between two memories of the scope.",
)
@click.option(
    "--top-k", type=click.IntRange(min=1), default=20, show_default=True, help="Of how many."
)
@pass_settings
def recall_check(
    settings: Settings,
    user_id: str | None,
    agent_id: str | None,
    run_id: str | None,
    samples: int,
    top_k: int,
) -> None:
    """Which share of the nearest the vector index finds.

    Compares it with reading all memories of the user, agent or run, and says what both take.
    """
    config = settings.config()
    ids = {
        f"p_{name}": value
        for name, value in named(user_id=user_id, agent_id=agent_id, run_id=run_id).items()
    }
    with places.connected(config) as conn, output.working("measuring"):
        found = _recall(conn, config.tenant, **ids, p_samples=samples, p_top_k=top_k)
    if settings.as_json:
        output.as_json(found)
    else:
        click.echo(_told(found))


def _call(conn: psycopg.Connection[Any], function: str, **args: Any) -> list[Row]:
    from memlayer_pg import db
    from memlayer_pg.effects import Call

    return db.perform(conn, Call(function, args))


def _recall(conn: psycopg.Connection[Any], tenant: str, **args: Any) -> Row:
    """recall_check's row; its recall is null when there is no vector to search for."""
    [row] = _call(conn, "recall_check", p_tenant=tenant, **args)
    return row if row["samples"] else {**row, "recall": None}


def _told(recall: Row) -> str:
    if recall["recall"] is None:
        return "no memory has a vector, so there is nothing to measure"
    return (
        f"recall {recall['recall']:.3f} of {recall['samples']} samples; "
        f"{recall['indexed_ms']:.1f} ms by the index, {recall['exact_ms']:.1f} ms without"
    )


def _counted(rows: list[Row]) -> Any:
    table = output.grid("kind", ">memories", ">words", "id")
    for row in rows:
        memories, words = f"{row['memories']:,}", f"{row['terms']:,}"
        table.add_row(row["kind"], memories, words, output.shown(row["scope_id"]))
    return table
