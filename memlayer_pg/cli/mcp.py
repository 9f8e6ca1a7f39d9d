"""`memlayer mcp`: the memories of somebody as tools of a model."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from memlayer_pg.cli import output, places
from memlayer_pg.cli.failures import Failed, WrongUse, say
from memlayer_pg.cli.scope import named, scope_options
from memlayer_pg.cli.settings import Settings, WithSettings, pass_settings

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

PATH = "/mcp"


@click.command(cls=WithSettings)
@scope_options
@click.option("--read-only", is_flag=True, help="Offer no tool that writes.")
@click.option("--no-infer", is_flag=True, help="Store what is added as it is, not facts from it.")
@click.option(
    "--actor",
    default="mcp",
    show_default=True,
    help="Whom the history names for what is written.",
)
@click.option("--http", is_flag=True, help="Serve streamable HTTP instead of stdin and stdout.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where --http listens.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="Where --http listens; 0 takes a free one.",
)
@pass_settings
def mcp(
    settings: Settings,
    user_id: str | None,
    agent_id: str | None,
    run_id: str | None,
    read_only: bool,
    no_infer: bool,
    actor: str,
    http: bool,
    host: str,
    port: int,
) -> None:
    """Serve somebody's memories to a model, over MCP.

    Whose they are is fixed by --tenant, --user, --agent and --run: the model cannot choose. Over
    stdin and stdout, as a client starts it; with --http until Ctrl-C. There is no authentication:
    who reaches the address reads and writes these memories.
    """
    ids = named(user_id=user_id, agent_id=agent_id, run_id=run_id)
    if settings.as_json and not http:
        raise WrongUse("stdout is the client's, so there is no --json without --http")
    try:
        from memlayer_pg.integrations.mcp import server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise Failed(
            "the MCP SDK, version 2.1 or newer, is not installed", "pip install 'memlayer-pg[mcp]'"
        ) from error

    from memlayer_pg import AsyncMemory

    config = settings.config()
    with places.database(config) as place:

        async def serve() -> None:
            async with AsyncMemory(replace(config, dsn=place.dsn)) as memory:
                found = server(memory, **ids, read_only=read_only, infer=not no_infer, actor=actor)
                # The SDK's handler would write warnings that stand on stderr already.
                logging.getLogger("memlayer_pg").propagate = False
                if http:
                    await _over_http(found, settings, host, port)
                else:
                    await found.run_stdio_async()

        asyncio.run(serve())


async def _over_http(found: MCPServer, settings: Settings, host: str, port: int) -> None:
    import uvicorn

    listening = _listen(host, port)
    host, port, *_ = listening.getsockname()
    if not ipaddress.ip_address(host).is_loopback:
        say("warning", f"{host} is not loopback, and who reaches it needs no password")
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"
    app = found.streamable_http_app(streamable_http_path=PATH, host=host)
    if settings.as_json:
        output.as_json({"url": url})
    else:
        click.echo(url)
    sys.stdout.flush()
    say("serving", f"{url}, until Ctrl-C")
    await uvicorn.Server(uvicorn.Config(app, log_level="warning")).serve([listening])


def _listen(host: str, port: int) -> socket.socket:
    """A socket that listens there; Failed when that cannot be."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family)
    except OSError as error:
        raise Failed(
            f"{host} port {port}: {error.strerror or error}", "name another with --host and --port"
        ) from error
