"""`memlayer import mem0`."""

from __future__ import annotations

from typing import IO, Any

import click
from click.exceptions import Exit

from memlayer_pg.cli import output, places
from memlayer_pg.cli.failures import WrongUse, say
from memlayer_pg.cli.lines import Lines
from memlayer_pg.cli.scope import scope_options
from memlayer_pg.cli.settings import Settings, WithSettings, pass_settings

SHOWN = 5
"""Differences that are named; --json names more."""


@click.command(cls=WithSettings)
@click.option("--vector-dsn", metavar="DSN", help="The database of mem0's pgvector store.")
@click.option("--collection", metavar="NAME", default="mem0", help="Its collection. Default: mem0.")
@click.option(
    "--history-db",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="mem0's SQLite file: history and messages. Often ~/.mem0/history.db.",
)
@click.option(
    "--dump",
    metavar="FILE",
    type=click.File("rb"),
    help="In place of these: what get_all gave, as JSON, or a memory a line. - is stdin.",
)
@scope_options
@click.option(
    "--model", metavar="NAME", help="The model of mem0's vectors, by the name it has here."
)
@click.option("--embed", is_flag=True, help="Let the embedder make the vectors that are missing.")
@click.option("--dry-run", is_flag=True, help="Report what would be done, and write nothing.")
@pass_settings
def mem0(
    settings: Settings,
    vector_dsn: str | None,
    collection: str,
    history_db: str | None,
    dump: IO[bytes] | None,
    user_id: str | None,
    agent_id: str | None,
    run_id: str | None,
    model: str | None,
    embed: bool,
    dry_run: bool,
) -> None:
    """Move in from mem0: memories, entities, history and messages.

    Ids, times, metadata and expiry stay. mem0's store is only read. Without --model the embedder is
    given a few texts: the vectors are taken if they are equal, else left out, and the memories wait
    for `memlayer embed-pending` unless --embed is given. --user, --agent and --run are for memories
    that name nobody.

    What stands already is left as it is, so a command that was interrupted is run again. At the end
    each memory is compared with mem0's. The command ends with 1 if one is missing or different, or
    its id stands with another text.
    """
    if embed and dry_run:
        raise WrongUse("--embed and --dry-run exclude each other")
    if (vector_dsn is None) == (dump is None):
        raise WrongUse("name either --vector-dsn or --dump")
    asks = embed or (dump is None and model is None)
    with (
        places.memory(settings, embeds=asks) as memory,
        output.progress("moving", None) as told,
    ):
        found = memory.import_mem0(
            vector_dsn,
            collection=collection,
            history_db=history_db,
            dump=None if dump is None else Lines(dump),
            user_id=user_id,
            agent_id=agent_id,
            run_id=run_id,
            model=model,
            embed=embed,
            dry_run=dry_run,
            on_progress=told,
        )
    if settings.as_json:
        output.as_json(found)
    else:
        _show(found, dry_run)
    checked = found.get("verification", {"missing": 0, "different": 0})
    if found["conflicts"] or checked["missing"] or checked["different"]:
        if not settings.as_json:
            _complain(found)
        raise Exit(1)


def _show(found: dict[str, Any], dry_run: bool) -> None:
    messages = found["messages"]
    lines = {
        "memories in mem0": found["memories"],
        "would be added" if dry_run else "added": found["added"],
        "known already": found["known"],
        "left out": found["left_out"],
        "without a vector": found["pending"],
        "vectors": f"{'taken' if found['vectors']['kept'] else 'not taken'}: "
        f"{found['vectors']['why']}",
        "messages": f"{messages['messages']} of {messages['scopes']} scopes"
        + ("" if dry_run else f", {messages['stored']} stored"),
    }
    if checked := found.get("verification"):
        lines["compared"] = f"{checked['compared']}: {checked['same']} the same"
        if checked["search"]:
            lines["searches"] = (
                f"{checked['search']['questions']} by vector: "
                f"{checked['search']['agreement']:.1%} of mem0's ten nearest are ours"
            )
    console = output.console()
    console.print(output.pairs(lines))
    if found["defects"]:
        table = output.grid(">found", "in mem0's store", "what is done")
        for defect in found["defects"]:
            table.add_row(str(defect["count"]), defect["defect"], defect["done"])
        console.print()
        console.print(table)


def _complain(found: dict[str, Any]) -> None:
    for conflict in found["conflicts"][:SHOWN]:
        say("error", f"memory {conflict['id']} stands with another text or scope")
    for difference in found.get("verification", {}).get("differences", [])[:SHOWN]:
        columns = ", ".join(difference["columns"])
        say("error", f"memory {difference['id']} is not as in mem0: {columns}")
    say("hint", "memlayer get and memlayer history show what stands there")
