"""`memlayer demo` from beginning to end, and the server it starts."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from memlayer_pg import demo
from tests.cli.running import ID, PROGRAM, Shell, memlayer, on_a_terminal, program
from tests.conftest import temporary_folder
from tests.endpoint import Endpoint

STEPS = ["setting", "memories", "searches", "correction", "messages", "analysis", "verify"]


@pytest.fixture(scope="module")
def data_dir() -> Iterator[Path]:
    """The folder of an embedded server, not yet made."""
    with temporary_folder() as folder:
        yield folder / "data"


@pytest.fixture(scope="module")
def embedded(data_dir: Path) -> Iterator[dict[str, str]]:
    """The environment of a program that starts its own server; one keeps it up meanwhile."""
    env = {"MEMLAYER_DATA_DIR": str(data_dir)}
    with program("serve-embedded", "--json", **env) as serving:
        assert serving.stdout is not None
        assert serving.stderr is not None
        said = serving.stderr.readline()
        assert said == f"serving: {data_dir}, until Ctrl-C\n"
        told = json.loads("".join(serving.stdout.readline() for _ in range(4)))
        assert told["data_dir"] == str(data_dir)
        yield {**env, "SERVING": told["dsn"]}
        serving.send_signal(signal.SIGTERM)
        assert serving.wait(60) == 0
        assert serving.stderr.read() == ""
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(told["dsn"])


def test_the_demo_shows_every_step(alone: Shell) -> None:
    found = alone.well("demo", "--json").json
    assert list(found) == STEPS
    assert found["setting"]["llm"] is None
    said = [m["content"] for talk in demo.conversations() for m in talk["messages"]]
    assert [memory["memory"] for memory in found["memories"]] == said
    assert [memory["observed_at"][:10] for memory in found["memories"]][:1] == ["2025-03-03"]
    assert [message["content"] for message in found["messages"]] == said[-10:]
    assert [len(search["results"]) for search in found["searches"]] == [3, 3, 3]
    assert [e["event"] for e in found["correction"]["history"]] == ["ADD", "UPDATE", "UPDATE"]
    assert found["analysis"]["rows"]
    assert found["verify"] == []
    assert alone.well("verify").code == 0


def test_the_demos_searches_find_what_they_are_to_find(alone: Shell) -> None:
    tea, sister, diogo = alone.well("demo", "--json").json["searches"]
    assert "oolong tea" in " ".join(hit["memory"] for hit in tea["results"][:2])
    assert "四月十二日" in sister["results"][0]["memory"]
    assert "Diogo" in diogo["results"][0]["memory"]
    for search in (tea, sister, diogo):
        for hit in search["results"]:
            parts = hit["score_details"]
            assert parts["final_score"] == pytest.approx(
                min(parts["raw_score"] / parts["max_possible_score"], 1)
            )


@pytest.mark.parametrize("columns", [80, 100])
def test_the_demo_fits_and_is_the_same_twice(alone: Shell, columns: int) -> None:
    first, second = (alone.well("demo", COLUMNS=str(columns)).out for _ in range(2))
    widths = [sum(1 + (ord(c) > 0x2E80) for c in line) for line in first.splitlines()]
    assert max(widths) <= columns
    assert "\x1b" not in first
    assert "word for word" in first
    assert "(0 rows)" in first

    def constant(text: str) -> str:
        return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "", ID.sub("", text))

    assert constant(first) == constant(second)


def test_the_demo_touches_no_other_tenant(alone: Shell) -> None:
    memory_id = alone.add("tea")
    alone.well("demo", MEMLAYER_TENANT="default")
    assert alone.well("get", memory_id, "--json").json["memory"] == "tea"


def test_the_demo_empties_no_tenant_of_somebody_else(alone: Shell) -> None:
    memory_id = alone.add("tea", "--tenant", "demo")
    ran = alone("demo")
    assert ran.code == 2
    assert "ann" in ran.err
    assert alone.well("get", memory_id, "--tenant", "demo", "--json").json["memory"] == "tea"


def test_the_demo_draws_facts_where_there_is_a_language_model(
    alone: Shell, endpoint: Endpoint
) -> None:
    endpoint.facts("Mei drinks two cups of black coffee every morning", "Mei lives in Lisbon")
    models: dict[str, Any] = {
        "MEMLAYER_LLM_BASE_URL": endpoint.base_url,
        "MEMLAYER_LLM_MODEL": "talker",
    }
    found = alone.well("demo", "--json", **models).json
    assert found["setting"]["llm"] == "talker"
    assert len(found["memories"]) == 2
    assert found["correction"]["history"][1]["new_memory"] == "Mei drinks oolong tea every morning"
    assert found["verify"] == []
    shown = alone.well("demo", **models).out
    assert "word for word" not in shown


def test_the_demo_needs_the_schema_in_a_database_of_yours(empty: str) -> None:
    ran = memlayer("demo", "--dsn", empty)
    assert ran.code == 1
    assert "memlayer db upgrade" in ran.err


def test_without_a_dsn_a_server_is_started(embedded: dict[str, str], data_dir: Path) -> None:
    code, shown = on_a_terminal("demo", **embedded)
    assert code == 0, shown
    assert str(data_dir) in shown
    assert "█" in shown
    listed = memlayer("list", "--user", "mei", "--tenant", "demo", "--total", "--json", **embedded)
    assert listed.json["total"] == 14
    assert memlayer("verify", **embedded).code == 0
    [first] = [c for c in memlayer("doctor", "--offline", "--json", **embedded).json][:1]
    assert (first["status"], str(data_dir) in first["said"]) == ("ok", True)


def test_psql_reaches_the_server_that_is_started(embedded: dict[str, str]) -> None:
    # No psql on PATH: the one beside the server is taken.
    done = subprocess.run(
        [*PROGRAM, "db", "psql", "-At", "-c", "select count(*) > 0 from memlayer.deployment"],
        env={**os.environ, **embedded, "PATH": "/nowhere"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("t\n", "")
