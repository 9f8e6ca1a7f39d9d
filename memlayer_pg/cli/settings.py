"""The options that every command takes, before or behind its name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from memlayer_pg.config import Config

F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class Settings:
    """What the options say that every command takes.

    `dsn`, `tenant`: None leaves them to the environment. `as_json`: results as JSON on stdout.
    `debug`: errors with their traceback.
    """

    dsn: str | None = None
    tenant: str | None = None
    as_json: bool = False
    debug: bool = False

    def config(self, **changes: Any) -> Config:
        """The environment's settings, then the options, then `changes` (None is a change, too)."""
        config = Config.from_env().with_(dsn=self.dsn, tenant=self.tenant)
        return dataclasses.replace(config, **changes) if changes else config


def _remember(ctx: click.Context, option: click.Parameter, value: Any) -> None:
    settings = ctx.ensure_object(Settings)
    if value not in (None, False):
        setattr(settings, str(option.name), value)


def _option(*names: str, **settings: Any) -> Callable[[F], F]:
    return click.option(*names, expose_value=False, callback=_remember, **settings)


EVERYWHERE = (
    _option(
        "--dsn",
        metavar="DSN",
        help="The database: a Postgres URL or key=value string. Default: MEMLAYER_DSN, else a "
        "Postgres server that is started for you.",
    ),
    _option(
        "--tenant",
        metavar="NAME",
        help="Whose store it is. Default: MEMLAYER_TENANT, else 'default'.",
    ),
    _option("--json", "as_json", is_flag=True, help="Write the result as JSON."),
    _option("--debug", is_flag=True, help="Show the traceback of an error."),
)


class WithSettings(click.Command):
    """A command that takes the options of `EVERYWHERE`, and lists them apart in its help."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        for option in EVERYWHERE:
            option(self)
        self.everywhere = self.params[-len(EVERYWHERE) :]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [option for option in self.get_params(ctx) if isinstance(option, click.Option)]
        own = [option for option in options if option not in self.everywhere]
        for title, listed in (("Options", own), ("Options of every command", self.everywhere)):
            lines = [line for option in listed if (line := option.get_help_record(ctx))]
            if lines:
                with formatter.section(title):
                    formatter.write_dl(lines)


class Group(WithSettings, click.Group):
    """A group whose commands take the options of `EVERYWHERE`."""

    command_class = WithSettings
    group_class = type

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)  # in the order of the story, not of the alphabet

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        super().format_options(ctx, formatter)


pass_settings = click.make_pass_decorator(Settings, ensure=True)
