"""The MCP server, asked by the SDK's own client over both of its transports."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("mcp.server.mcpserver")

from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult

from memlayer_pg import Config, Memory
from tests.cli.running import PROGRAM, memlayer, program
from tests.endpoint import Endpoint

READING = {"search_memories", "list_memories", "get_memory", "get_memory_history"}
WRITING = {"add_memory", "update_memory", "delete_memory", "restore_memory"}
NOBODYS = "00000000-0000-4000-8000-000000000000"
Talk = Callable[[Client], Awaitable[None]]
Ask = Callable[..., None]


@pytest.fixture
def env(config: Config, endpoint: Endpoint) -> dict[str, str]:
    """What tells a server where the memories and the models are."""
    return {
        "MEMLAYER_DSN": str(config.dsn),
        "MEMLAYER_TENANT": config.tenant,
        "MEMLAYER_LLM_MODEL": "scripted",
        "MEMLAYER_LLM_BASE_URL": endpoint.base_url,
        "MEMLAYER_LLM_API_KEY": "k",
        "MEMLAYER_EMBEDDER_MODEL": "scripted",
        "MEMLAYER_EMBEDDER_BASE_URL": endpoint.base_url,
        "MEMLAYER_EMBEDDER_API_KEY": "k",
    }


@contextmanager
def over_http(env: dict[str, str], *args: str) -> Iterator[str]:
    """The address of a server of its own."""
    with program("mcp", "--http", "--port", "0", "--json", *args, **env) as running:
        try:
            assert running.stdout is not None
            yield json.loads("".join(iter(running.stdout.readline, "}\n")) + "}")["url"]
        finally:
            running.send_signal(signal.SIGTERM)
            running.communicate(timeout=30)


def asking(env: dict[str, str], transport: str) -> Ask:
    """Starts a server with some options and lets a client talk with it."""

    async def connected(server: Any, talk: Talk) -> None:
        async with Client(server) as client:
            await talk(client)

    def ask(talk: Talk, *args: str) -> None:
        if transport == "http":
            with over_http(env, *args) as url:
                asyncio.run(connected(url, talk))
        else:
            stdio = StdioServerParameters(
                command=sys.executable,
                args=[*PROGRAM[1:], "mcp", *args],
                env={**os.environ, **env},
            )
            asyncio.run(connected(stdio, talk))

    return ask


@pytest.fixture(params=["stdio", "http"])
def ask(request: pytest.FixtureRequest, env: dict[str, str]) -> Ask:
    """Over both transports."""
    return asking(env, request.param)


@pytest.fixture
def ask_once(env: dict[str, str]) -> Ask:
    """Over one, for what does not depend on it."""
    return asking(env, "stdio")


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a tool gives, which has to go well."""
    found = await client.call_tool(tool, arguments)
    assert isinstance(found, CallToolResult)
    assert not found.is_error, found.content
    assert json.loads(found.content[0].text) == found.structured_content  # type: ignore[union-attr]
    given: dict[str, Any] = found.structured_content or {}
    return given


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """What a tool says that refuses."""
    found = await client.call_tool(tool, arguments)
    assert isinstance(found, CallToolResult)
    assert found.is_error
    said = found.content[0].text  # type: ignore[union-attr]
    return str(said).removeprefix(f"Error executing tool {tool}: ")


def test_a_client_adds_finds_changes_deletes_and_restores(ask: Ask, endpoint: Endpoint) -> None:
    endpoint.facts("Ann likes oolong tea.")

    async def talk(client: Client) -> None:
        [made] = (
            await call(client, "add_memory", text="I like oolong", metadata={"topic": "tea"})
        )["results"]
        assert (made["memory"], made["event"]) == ("Ann likes oolong tea.", "ADD")
        id_ = made["id"]
        again = await call(client, "add_memory", text="I like oolong")
        assert again["skipped"][0]["reason"] == "duplicate"

        [found] = (await call(client, "search_memories", query="oolong tea"))["results"]
        assert (found["id"], found["metadata"]) == (id_, {"topic": "tea"})
        assert 0 < found["score"] <= 1
        listed = await call(client, "list_memories", filters={"topic": "tea"})
        assert (listed["total"], [item["id"] for item in listed["results"]]) == (1, [id_])
        assert "next" not in listed

        await call(client, "update_memory", memory_id=id_, text="Ann likes green tea.")
        assert (await call(client, "get_memory", memory_id=id_))["memory"] == "Ann likes green tea."
        await call(client, "delete_memory", memory_id=id_)
        gone = await refused(client, "get_memory", memory_id=id_)
        assert gone == (
            f"There is no memory {id_}. get_memory_history shows it; restore_memory restores it."
        )
        events = (await call(client, "get_memory_history", memory_id=id_))["events"]
        assert [event["event"] for event in events] == ["ADD", "UPDATE", "DELETE"]
        assert {event["actor"] for event in events} == {"mcp"}

        back = await call(client, "restore_memory", memory_id=id_)
        assert (back["memory"], back["event"]) == ("Ann likes green tea.", "ADD")
        first = await call(
            client, "restore_memory", memory_id=id_, changed_at=events[0]["changed_at"]
        )
        assert (first["memory"], first["event"]) == ("Ann likes oolong tea.", "UPDATE")

    ask(talk, "--user", "ann")


def test_the_tools_say_what_they_take_and_what_they_do(ask_once: Ask) -> None:
    async def talk(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == READING | WRITING
        for name, tool in tools.items():
            assert tool.description
            assert tool.output_schema
            assert tool.annotations is not None
            assert bool(tool.annotations.read_only_hint) == (name in READING)
            parameters = tool.input_schema["properties"]
            assert not {"user_id", "agent_id", "run_id", "tenant"} & set(parameters)
            assert all("description" in parameter for parameter in parameters.values())
        destructive = {
            name
            for name in WRITING
            if (hints := tools[name].annotations) and hints.destructive_hint
        }
        assert destructive == WRITING - {"add_memory"}
        assert client.instructions

    ask_once(talk, "--user", "ann")


def test_a_read_only_server_has_no_tool_that_writes(ask: Ask, memory: Memory) -> None:
    stored = memory.add("Tea", user_id="ann", infer=False)["results"][0]["id"]

    async def talk(client: Client) -> None:
        assert {tool.name for tool in (await client.list_tools()).tools} == READING
        assert (await call(client, "get_memory", memory_id=stored))["memory"] == "Tea"
        await refused(client, "delete_memory", memory_id=stored)

    ask(talk, "--user", "ann", "--read-only")
    assert memory.get(stored) is not None


def test_the_memories_of_others_do_not_exist_for_a_model(ask: Ask, memory: Memory) -> None:
    """B144: no way of reading or writing may lack the scope, that by an id included."""
    scopes: list[dict[str, Any]] = [{"user_id": "bob"}, {"agent_id": "cook"}, {"run_id": "r1"}]
    others = [
        memory.add("The code is 1234", infer=False, **scope)["results"][0]["id"] for scope in scopes
    ]
    deleted = memory.add("The code is 1234", user_id="bob", infer=False)["results"][0]["id"]
    memory.delete(deleted)
    before = [memory.history(id_) for id_ in [*others, deleted]]
    # an id that was Bob's, and is Ann's now: what it was to Bob stays his
    memory.import_memories([{"id": deleted, "memory": "Hers now", "user_id": "ann"}])

    async def talk(client: Client) -> None:
        for id_ in [*others, deleted, NOBODYS, "no uuid"]:
            said = {
                await refused(client, tool, memory_id=id_)
                for tool in ("get_memory", "get_memory_history", "delete_memory", "restore_memory")
            }
            said.add(await refused(client, "update_memory", memory_id=id_, text="mine"))
            assert said == {
                f"There is no memory {id_}. "
                "search_memories and list_memories give the ids there are."
            }
        sly: list[dict[str, Any]] = [
            {"OR": [{"user_id": "bob"}, {"user_id": "ann"}]},
            {"NOT": [{"user_id": "ann"}]},
            {"agent_id": "cook"},
        ]
        for filters in sly:
            for tool, more in (("search_memories", {"query": "code"}), ("list_memories", {})):
                found = await call(client, tool, filters=filters, **more)
                assert "1234" not in json.dumps(found)
        said = {await refused(client, "list_memories", filters={"user_id": "bob"})}
        assert said == {"user_id: fixed for this server. Leave it out of filters."}

    ask(talk, "--user", "ann")
    assert [memory.history(id_) for id_ in others] == before[:3]


def test_all_ids_that_are_fixed_count(ask_once: Ask, memory: Memory) -> None:
    hers = memory.add("Tea", user_id="ann", infer=False)["results"][0]["id"]
    both = memory.add("Tea", user_id="ann", agent_id="cook", infer=False)["results"][0]["id"]

    async def talk(client: Client) -> None:
        await refused(client, "get_memory", memory_id=hers)
        assert (await call(client, "get_memory", memory_id=both))["agent_id"] == "cook"
        [made] = (await call(client, "add_memory", text="Cake"))["results"]
        assert made == {"id": made["id"], "memory": "Cake", "event": "ADD"}
        listed = await call(client, "list_memories", limit=1)
        assert (listed["total"], listed["results"][0]["memory"]) == (2, "Cake")
        rest = await call(client, "list_memories", limit=1, after=listed["next"])
        assert rest["results"][0]["id"] == both

    ask_once(talk, "--user", "ann", "--agent", "cook", "--no-infer", "--actor", "desk")
    newest = memory.get_all(filters={"user_id": "ann"}, top_k=1)["results"][0]
    assert newest["agent_id"] == "cook"
    assert memory.history(newest["id"])[0]["actor"] == "desk"


def test_what_is_wrong_is_a_tool_error_that_says_what_to_do(ask_once: Ask, memory: Memory) -> None:
    id_ = memory.add("Tea", user_id="ann", infer=False)["results"][0]["id"]

    async def talk(client: Client) -> None:
        for tool, arguments, told in (
            ("search_memories", {"query": " "}, "Invalid query"),
            ("list_memories", {"filters": {"n": {"near": 1}}}, "Use one of eq, ne, gt"),
            ("list_memories", {"after": "x"}, "cursor"),
            ("list_memories", {"limit": 0}, "greater than or equal to 1"),
            ("add_memory", {"text": "x", "expiration_date": "soon"}, "YYYY-MM-DD"),
            ("update_memory", {"memory_id": id_}, "At least one of text"),
            ("restore_memory", {"memory_id": id_, "changed_at": "1999-01-01"}, "1999"),
        ):
            assert told in await refused(client, tool, **arguments)

    ask_once(talk, "--user", "ann")


def test_a_model_that_fails_is_a_tool_error(ask_once: Ask, endpoint: Endpoint) -> None:
    endpoint.embeddings = lambda request: (400, {"error": {"message": "no such model"}})

    async def talk(client: Client) -> None:
        assert "no such model" in await refused(client, "search_memories", query="tea")

    ask_once(talk, "--user", "ann")


def test_a_page_of_another_site_cannot_reach_the_server(env: dict[str, str]) -> None:
    httpx = pytest.importorskip("httpx")
    with over_http(env, "--user", "ann") as url:
        assert url.startswith("http://127.0.0.1:")
        said = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        for header in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
            answer = httpx.post(url, json=said, headers=header)
            assert answer.status_code in (403, 421)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "at least one of --user, --agent and --run"),
        (("--user", "ann", "--json"), "no --json without --http"),
        (("--user", " "), "cannot be empty"),
    ],
)
def test_a_server_of_nobody_does_not_start(args: tuple[str, ...], message: str) -> None:
    ran = memlayer("mcp", *args, MEMLAYER_DSN="host=nowhere.invalid")
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


def test_a_port_that_is_taken_ends_with_a_line(env: dict[str, str]) -> None:
    with over_http(env, "--user", "ann") as url:
        port = url.rpartition(":")[2].partition("/")[0]
        ran = memlayer("mcp", "--user", "ann", "--http", "--port", port, **env)
    assert ran.code == 1
    assert f"port {port}" in ran.err
    assert "--port" in ran.err.splitlines()[-1]
