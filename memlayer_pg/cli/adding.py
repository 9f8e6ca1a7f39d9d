"""`memlayer add`."""

from __future__ import annotations

import sys
from typing import Any

import click
from click.exceptions import Exit

from memlayer_pg.cli import output, places
from memlayer_pg.cli.conversations import parse
from memlayer_pg.cli.failures import WrongUse, say, told
from memlayer_pg.cli.scope import actor_option, json_object, named, scope_options
from memlayer_pg.cli.settings import Settings, WithSettings, pass_settings


@click.command(cls=WithSettings)
@click.argument("text", required=False)
@click.option(
    "--file",
    "-f",
    type=click.File(encoding="utf-8"),
    help="Conversations as JSON or JSONL: a list of messages, a list of conversations, or one "
    '{"messages": […], "user_id": "…", …} a line. "-" reads stdin.',
)
@scope_options
@click.option("--metadata", metavar="JSON", callback=json_object, help="Kept with each memory.")
@click.option("--no-infer", is_flag=True, help="Store the messages word for word.")
@click.option("--expires", metavar="DAY", help="The last day (UTC) on which they are found.")
@click.option("--timestamp", metavar="WHEN", help="When it was said, ISO 8601. Default: now.")
@click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    default=4,
    show_default=True,
    help="Conversations of a file to work on at the same time.",
)
@actor_option
@pass_settings
def add(
    settings: Settings,
    text: str | None,
    file: Any,
    user_id: str | None,
    agent_id: str | None,
    run_id: str | None,
    metadata: dict[str, Any] | None,
    no_infer: bool,
    expires: str | None,
    timestamp: str | None,
    concurrency: int,
    actor: str | None,
) -> None:
    """Remember TEXT, stdin (-) or the conversations of a file.

    A language model draws facts from what was said; without one, or with --no-infer, it is stored
    word for word. Each conversation is stored whole or not at all.
    """
    if (text is None) == (file is None):
        raise WrongUse("there must be either TEXT (- for stdin) or --file")
    ids = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
    common = {
        **{name: value for name, value in ids.items() if value is not None},
        "metadata": metadata,
        "infer": not no_infer,
        "expiration_date": expires,
        "timestamp": timestamp,
        "actor": actor,
    }
    common = {name: value for name, value in common.items() if value is not None}
    if text is not None:
        named(**ids)
        _one(settings, text if text != "-" else sys.stdin.read().rstrip("\n"), common)
    else:
        _many(settings, parse(_read(file), file.name), common, concurrency)


def _read(file: Any) -> str:
    try:
        return str(file.read())
    except UnicodeDecodeError as error:
        raise WrongUse(f"{file.name} is not UTF-8: {error}") from None


def _one(settings: Settings, text: str, common: dict[str, Any]) -> None:
    with places.memory(settings, extracts=common["infer"]) as memory:
        result = memory.add(text, **common)
    if settings.as_json:
        output.as_json(result)
        return
    from rich.text import Text

    table = output.grid("", "memory")
    for item in result["results"]:
        table.add_row("added", Text(f"{output.shown(item['memory'])}\n{item['id']}"))
    for item in result.get("skipped", ()):
        table.add_row(item["reason"], Text(f"{output.shown(item['memory'])}\n{item['id']}"))
    if table.row_count:
        output.console().print(table)
    else:
        click.echo("There was nothing in it to remember.")


def _many(
    settings: Settings,
    conversations: list[dict[str, Any]],
    common: dict[str, Any],
    concurrency: int,
) -> None:
    extracts = any(one.get("infer", common["infer"]) for one in conversations)
    with (
        places.memory(settings, extracts=extracts) as memory,
        output.progress("adding", len(conversations)) as told_of,
    ):
        results = memory.add_many(
            conversations, concurrency=concurrency, on_progress=told_of, **common
        )
    failures = [(n, result["error"]) for n, result in enumerate(results, 1) if "error" in result]
    if settings.as_json:
        output.as_json([_plain(result) for result in results])
    else:
        added = sum(len(result.get("results", ())) for result in results)
        known = sum(len(result.get("skipped", ())) for result in results)
        counts = f"{len(results) - len(failures)} of {len(results)} conversations stored: "
        click.echo(f"{counts}{added} memories added, {known} known already")
    for number, error in failures:
        say("error", f"conversation {number}: {told(error)[0]}")
    if failures:
        raise Exit(1)


def _plain(result: dict[str, Any]) -> dict[str, Any]:
    error = result.get("error")
    if error is None:
        return result
    return {"error": {"message": error.message, "code": error.error_code}}
