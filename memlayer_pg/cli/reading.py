"""The commands that only read: search, list, scopes, get, history and messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from memlayer_pg.cli import output, places, scoring
from memlayer_pg.cli.failures import Failed
from memlayer_pg.cli.scope import filter_option, filters, named, scope_options
from memlayer_pg.cli.settings import Settings, WithSettings, pass_settings

if TYPE_CHECKING:
    from rich.table import Table

top_k = click.option(
    "--top-k", type=click.IntRange(min=0), default=20, show_default=True, help="How many at most."
)
show_expired = click.option("--show-expired", is_flag=True, help="Expired ones too.")
as_of = click.option(
    "--as-of",
    metavar="TIME",
    help="As they stood at this moment: ISO 8601, UTC where it names no zone.",
)


@click.command(cls=WithSettings)
@click.argument("query")
@scope_options
@filter_option
@top_k
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    default=0.1,
    show_default=True,
    help="The least cosine similarity.",
)
@show_expired
@as_of
@click.option(
    "--include-superseded/--no-superseded",
    default=True,
    help="Also what a newer memory updates or contradicts; below that one. Default: yes.",
)
@click.option(
    "--recency-half-life",
    type=click.FloatRange(0, min_open=True),
    metavar="DAYS",
    help="Newer ones count more: after so many days what age adds is half. Default: it adds none.",
)
@click.option(
    "--fusion",
    type=click.Choice(["calibrated", "additive"]),
    help="How the parts become a score; additive is the formula of mem0. Default: the tenant's.",
)
@click.option("--keyword", is_flag=True, help="By words and names alone: no model is asked.")
@click.option("--rerank", is_flag=True, help="In the order of the reranker.")
@click.option("--explain", is_flag=True, help="Show the parts of each score.")
@click.option("--plan", is_flag=True, help="Show how Postgres searches instead of what it finds.")
@pass_settings
def search(
    settings: Settings,
    query: str,
    user_id: str | None,
    agent_id: str | None,
    run_id: str | None,
    conditions: dict[str, Any] | None,
    top_k: int,
    threshold: float,
    show_expired: bool,
    as_of: str | None,
    include_superseded: bool,
    recency_half_life: float | None,
    fusion: str | None,
    keyword: bool,
    rerank: bool,
    explain: bool,
    plan: bool,
) -> None:
    """The memories that best answer QUERY, best first."""
    where = filters(conditions, user_id=user_id, agent_id=agent_id, run_id=run_id)
    _exclude("--plan", plan, {"--rerank": rerank, "--explain": explain})
    further = {
        "--rerank": rerank,
        "--explain": explain,
        "--as-of": as_of is not None,
        "--no-superseded": not include_superseded,
        "--recency-half-life": recency_half_life is not None,
        "--fusion": fusion is not None,
    }
    _exclude("--keyword", keyword, further)
    asked: dict[str, Any] = {"filters": where, "top_k": top_k, "show_expired": show_expired}
    if not keyword:
        asked |= {
            "threshold": threshold,
            "rerank": rerank,
            "explain": explain,
            "as_of": as_of,
            "include_superseded": include_superseded,
            "recency_half_life": recency_half_life,
            "fusion": fusion,
        }
    if plan:
        from memlayer_pg.cli import planning

        planning.show(settings, planning.plan(settings, query, keyword=keyword, **asked))
        return
    with places.memory(settings, embeds=not keyword) as memory:
        found = (memory.keyword_search if keyword else memory.search)(query, **asked)
    if settings.as_json:
        output.as_json(found)
    elif not found["results"]:
        click.echo("Nothing was found.")
    else:
        console = output.console()
        console.print(scoring.results(found["results"], console, explain=explain))
        if explain:
            console.print(scoring.legend(found["results"], console))


def _exclude(name: str, given: bool, others: dict[str, bool]) -> None:
    """UsageError when an option is given together with one of the others."""
    for other, is_given in others.items():
        if given and is_given:
            raise click.UsageError(f"{name} and {other} exclude each other")


@click.command(cls=WithSettings, name="list")
@scope_options
@filter_option
@top_k
@show_expired
@as_of
@click.option("--after", metavar="CURSOR", help="Go on where the last page ended.")
@click.option("--total", is_flag=True, help="Say how many there are in all.")
@pass_settings
def list_(
    settings: Settings,
    user_id: str | None,
    agent_id: str | None,
    run_id: str | None,
    conditions: dict[str, Any] | None,
    top_k: int,
    show_expired: bool,
    as_of: str | None,
    after: str | None,
    total: bool,
) -> None:
    """The memories of a user, agent or run, newest first."""
    where = filters(conditions, user_id=user_id, agent_id=agent_id, run_id=run_id)
    with places.memory(settings, embeds=False) as memory:
        found = memory.get_all(
            filters=where,
            top_k=top_k,
            show_expired=show_expired,
            as_of=as_of,
            after=after,
            with_total=total,
        )
    if settings.as_json:
        output.as_json(found)
        return
    if found["results"]:
        output.console().print(output.memories(found["results"]))
    else:
        click.echo("There are no memories.")
    if total:
        click.echo(f"{found['total']} in all")
    if "next" in found:
        click.echo(f"There are more: --after {found['next']}")


@click.command(cls=WithSettings)
@scope_options
@pass_settings
def scopes(
    settings: Settings, user_id: str | None, agent_id: str | None, run_id: str | None
) -> None:
    """Who has memories: users, agents and runs, with how many."""
    with places.memory(settings, embeds=False) as memory:
        found = memory.scopes(user_id, agent_id, run_id)
    if settings.as_json:
        output.as_json(found)
    elif not found:
        click.echo("There are no memories.")
    else:
        table = output.grid("kind", ">memories", "first (UTC)", "last (UTC)", "id")
        for item in found:
            table.add_row(
                item["type"],
                str(item["total_memories"]),
                output.minute(item["created_at"]),
                output.minute(item["updated_at"]),
                output.shown(item["id"]),
            )
        output.console().print(table)


@click.command(cls=WithSettings)
@click.argument("memory_id", metavar="ID")
@pass_settings
def get(settings: Settings, memory_id: str) -> None:
    """One memory, expired or not."""
    with places.memory(settings, embeds=False) as memory:
        found = memory.get(memory_id)
    if found is None:
        raise Failed(f"there is no memory {memory_id}", f"memlayer history {memory_id}")
    del found["score"]  # mem0's get has one, which says nothing
    if settings.as_json:
        output.as_json(found)
    else:
        output.console().print(output.pairs({k: v for k, v in found.items() if v is not None}))


@click.command(cls=WithSettings)
@click.argument("memory_id", metavar="ID")
@pass_settings
def history(settings: Settings, memory_id: str) -> None:
    """What happened to one memory, even when it is gone."""
    from memlayer_pg import db
    from memlayer_pg.checks import memory_id as checked
    from memlayer_pg.cli.diffing import events
    from memlayer_pg.effects import Call

    config = settings.config()
    wanted = checked(memory_id)
    found = []
    if wanted is not None:
        with places.connected(config) as conn:
            call = Call("history", {"p_tenant": config.tenant, "p_id": wanted})
            found = db.perform(conn, call)
    if not found:
        raise Failed(f"there never was a memory {memory_id} in tenant {config.tenant}")
    if settings.as_json:
        output.as_json(found)
    else:
        console = output.console()
        console.print(events(found, console))


@click.command(cls=WithSettings)
@scope_options
@pass_settings
def messages(
    settings: Settings, user_id: str | None, agent_id: str | None, run_id: str | None
) -> None:
    """The newest ten messages of exactly these ids, in order."""
    ids = named(user_id=user_id, agent_id=agent_id, run_id=run_id)
    with places.memory(settings, embeds=False) as memory:
        found = memory.messages(**ids)
    if settings.as_json:
        output.as_json(found)
    elif not found:
        click.echo("There are no messages of exactly these ids.")
    else:
        output.console().print(said(found))


def said(found: list[dict[str, Any]], width: int | None = None) -> Table:
    """Messages as a table; of each the beginning, a line of it, where a `width` is given."""
    from rich.text import Text

    table = output.grid("said (UTC)", "by", "message")
    names = [output.shown(item["name"] or item["role"]) for item in found]
    for item, name in zip(found, names, strict=True):
        text = Text(output.shown(item["content"], output.LONGEST))
        if width is not None:
            text = Text(output.one_line(item["content"]))
            text.truncate(width - 22 - max(map(len, names)), overflow="ellipsis")
        table.add_row(output.minute(item["created_at"]), name, text)
    return table
