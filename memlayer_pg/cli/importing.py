"""`memlayer import`."""

from __future__ import annotations

from typing import IO, Any

import click
from click.exceptions import Exit

from memlayer_pg.cli import output, places
from memlayer_pg.cli.failures import WrongUse, say
from memlayer_pg.cli.lines import Lines
from memlayer_pg.cli.moving import mem0
from memlayer_pg.cli.scope import scope_options
from memlayer_pg.cli.settings import Settings, WithSettings, pass_settings

SHOWN = 5
"""Memories in conflict that are named; --json names all."""


class WithSources(WithSettings):
    """A command on a FILE that is another command where the first word names one."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        if args and args[0] == mem0.name:
            return mem0.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command(cls=WithSources, name="import")
@click.argument("file", type=click.File("rb"))
@scope_options
@click.option("--model", metavar="NAME", help="The model of vectors that do not say theirs.")
@click.option("--embed", is_flag=True, help="Let the embedder make the vectors that are missing.")
@click.option("--dry-run", is_flag=True, help="Say what would be stored, and write nothing.")
@pass_settings
def import_(
    settings: Settings,
    file: IO[bytes],
    user_id: str | None,
    agent_id: str | None,
    run_id: str | None,
    model: str | None,
    embed: bool,
    dry_run: bool,
) -> None:
    """Store ready memories of FILE, or stdin (-), as they are.

    `memlayer import mem0 --help` tells how to move in from mem0.

    No language model is asked. One memory a line as JSON, as `memlayer export` writes them, or what
    get_all gives: {"results": […]}. --user, --agent and --run are for those that name nobody.
    Without --embed a memory that comes without a vector waits for `memlayer embed-pending`.

    What stands already is left as it is, so a command that was interrupted is run again. A memory
    whose id stands with another text is a conflict: it is named, left as it is, and the command
    ends with 1. A line that is wrong ends it; a thousand memories are stored together, and those
    before stay.
    """
    if embed and dry_run:
        raise WrongUse("--embed and --dry-run exclude each other")
    lines = Lines(file)
    with (
        places.memory(settings, embeds=embed) as memory,
        output.progress("importing", None) as told,
    ):
        found = memory.import_memories(
            lines,
            user_id=user_id,
            agent_id=agent_id,
            run_id=run_id,
            model=model,
            embed=embed,
            dry_run=dry_run,
            on_progress=told and (lambda done, _: told(done, lines.estimate())),
        )
    if settings.as_json:
        output.as_json(found)
    else:
        click.echo(_said(found, "would be added" if dry_run else "added"))
    for conflict in [] if settings.as_json else found["conflicts"][:SHOWN]:
        say(
            "error",
            f"{conflict['where']}: memory {conflict['id']} stands with another text or scope",
        )
    if found["conflicts"]:
        say("hint", "memlayer get shows what stands there; memlayer update or delete changes it")
        raise Exit(1)


def _said(found: dict[str, Any], added: str) -> str:
    parts = [f"memories {added}: {found['added']}", f"known already: {found['known']}"]
    parts.append(f"duplicates: {found['duplicates']}")
    if found["conflicts"]:
        parts.append(f"in conflict: {len(found['conflicts'])}")
    if found["pending"]:
        parts.append(f"without a vector: {found['pending']} (memlayer embed-pending)")
    if found.get("links_left_out"):
        parts.append(f"links to what is not there: {found['links_left_out']}")
    return "; ".join(parts)
