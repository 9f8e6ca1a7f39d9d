"""`memlayer db roles`, `grant` and `revoke`: who may do what."""

from __future__ import annotations

import os
from typing import Any

import click

from memlayer_pg.cli import output, places
from memlayer_pg.cli.failures import WrongUse, say
from memlayer_pg.cli.settings import Settings, WithSettings, pass_settings

KINDS = ("app", "reader", "admin")


class OfTenants(WithSettings):
    """A command whose --tenant may be given several times."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.params = [param for param in self.params if param.name != "tenant"]


tenants_option = click.option(
    "--tenant",
    "tenants",
    metavar="NAME",
    multiple=True,
    help="A tenant; may be given several times. Default: MEMLAYER_TENANT, else none.",
)


@click.command(cls=WithSettings)
@pass_settings
def roles(settings: Settings) -> None:
    """Make the roles that are granted, and show who has them.

    They are memlayer_app, memlayer_reader and memlayer_admin, of the whole cluster; none can log
    in. Then grants them what they may do in this database. May be run again. To make them takes a
    role that may create roles, to grant takes the one that owns the schema.
    """
    from memlayer_pg import roles as granting

    with places.database(settings.config()) as place, places.connection(place.dsn) as conn:
        made = granting.create(conn)
        for role in made:
            click.echo(f"made {role}", err=True)
        granted = granting.apply(conn)
        found = granting.logins(conn) if granted else []
    if settings.as_json:
        output.as_json({"made": made, "granted": granted, "logins": found})
        return
    if not granted:
        say("note", "there is no schema yet; memlayer db upgrade grants the roles what is in it")
    elif found:
        table = output.grid("login", "as", "tenants")
        for one in found:
            table.add_row(output.shown(one["login"]), ", ".join(one["as"]), _tenants(one))
        output.console().print(table)
    else:
        click.echo("No login has one of them: memlayer db grant LOGIN --as app")


def _tenants(login: dict[str, Any]) -> str:
    if "admin" in login["as"]:
        return "all"
    return output.shown(", ".join(login["tenants"] or ["default"]))


@click.command(cls=OfTenants)
@click.argument("login")
@click.option("--as", "kind", type=click.Choice(KINDS), required=True, help="What it may do.")
@tenants_option
@pass_settings
def grant(settings: Settings, login: str, kind: str, tenants: tuple[str, ...]) -> None:
    """Let LOGIN do what an app, a reader or an admin may.

    In these tenants and in no other; a login that is bound to none has 'default'. An admin has all.
    """
    from memlayer_pg import roles as granting

    wanted = _wanted(settings, tenants)
    if kind == "admin" and wanted:
        raise WrongUse("an admin has every tenant, and is bound to none", "leave out --tenant")
    with places.connected(settings.config()) as conn:
        granting.grant(conn, login, kind, wanted)
        [found] = [one for one in granting.logins(conn) if one["login"] == login] or [
            {"login": login, "as": [kind], "tenants": []}
        ]
    if settings.as_json:
        output.as_json(found)
    else:
        click.echo(f"{output.shown(login)}: {', '.join(found['as'])}; tenants: {_tenants(found)}")


@click.command(cls=OfTenants)
@click.argument("login")
@click.option("--as", "kind", type=click.Choice(KINDS), help="Only this. Default: whatever it has.")
@tenants_option
@pass_settings
def revoke(settings: Settings, login: str, kind: str | None, tenants: tuple[str, ...]) -> None:
    """Take tenants from LOGIN, or all it may do.

    The tenants that are named; where none is, its roles. With the last of its roles go its tenants,
    too. A login that loses its last tenant and keeps a role has 'default'.
    """
    from memlayer_pg import roles as granting

    wanted = _wanted(settings, tenants)
    if kind is not None and wanted:
        raise WrongUse("a login has its tenants in every role", "leave out --as or --tenant")
    with places.connected(settings.config()) as conn:
        lost = granting.revoke(conn, login, kind, wanted)
        found = [one for one in granting.logins(conn) if one["login"] == login]
    if settings.as_json:
        output.as_json({"login": login, "lost": lost, "now": found[0] if found else None})
    elif found:
        told = f"{', '.join(found[0]['as'])}; tenants: {_tenants(found[0])}"
        click.echo(f"{output.shown(login)} still has {told}")
    else:
        click.echo(f"{output.shown(login)} has no role of ours")


def _wanted(settings: Settings, tenants: tuple[str, ...]) -> list[str]:
    """The tenants that are named, here, before the command or in the environment."""
    named = settings.tenant or os.environ.get("MEMLAYER_TENANT", "").strip()
    return list(tenants) or ([named] if named else [])
