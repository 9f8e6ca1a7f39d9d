"""A process that dies in the middle of an add leaves all of it or nothing."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import Any

import pytest

from tests.api.proxy import Proxy

PROGRAM = """
import sys
from memlayer_pg import Config, Endpoint, Memory
dsn, tenant, url = sys.argv[1:]
model = Endpoint(model="scripted", base_url=url, api_key="k")
with Memory(Config(dsn=dsn, tenant=tenant, llm=model, embedder=model)) as memory:
    print("ready", flush=True)
    sys.stdin.readline()
    print(memory.add("I am Ann and like tea", user_id="ann"), flush=True)
"""
FACT = {"text": "Ann likes tea", "entities": [{"name": "Ann", "type": "person"}]}
REQUESTS = [("request", n) for n in (1, 2, 3)]
STATEMENTS = [(when, n) for n in (1, 2, 3) for when in ("before", "after")]


@pytest.mark.parametrize(("when", "step"), REQUESTS + STATEMENTS)
def test_killed_at_any_step_it_leaves_everything_or_nothing(
    live: str, tenant: str, endpoint: Any, counts: Any, sql: Any, when: str, step: int
) -> None:
    endpoint.facts(FACT)
    with Proxy(live) as proxy:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, proxy.dsn, tenant, endpoint.base_url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"

        def kill(reached: int) -> None:
            if reached == step:
                process.kill()
                process.wait()

        def vectors(request: Any) -> None:
            kill(len(endpoint.requests))

        def facts(request: Any) -> str:
            kill(len(endpoint.requests))
            return json.dumps({"facts": [FACT]})

        if when == "request":
            endpoint.embeddings, endpoint.chat = vectors, facts
        else:
            setattr(proxy, when, kill)
        process.stdin.write("\n")
        process.stdin.close()
        assert process.wait(60) == -signal.SIGKILL
        assert process.stdout.read() == ""
        process.stdout.close()
    # What Postgres was told before the process died it may still be doing.
    sql(
        "select pg_terminate_backend(pid, 10000) from pg_stat_activity"
        " where application_name = 'memlayer' and pid <> pg_backend_pid()"
    )
    assert counts() in ((0, 0, 0, 0, 0), (1, 1, 1, 1, 1))
    assert sql("select * from memlayer.verify(%(tenant)s)") == []
    if (when, step) == ("after", 3):
        assert counts() == (1, 1, 1, 1, 1)


GUARD = """
import os, sys
PORT = int(sys.argv[3].rpartition(":")[2].partition("/")[0])
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND
def guard(event, args):
    if event == "socket.connect" and args[1][:2] != ("127.0.0.1", PORT):
        print("connected to", args[1], flush=True)
    if event == "open" and isinstance(args[2], int) and args[2] & WRITING:
        if args[0] != os.devnull:
            print("wrote", args[0], flush=True)
sys.addaudithook(guard)
"""


USE = """
    [item] = memory.search("tea", filters={"user_id": "ann"})["results"]
    memory.update(item["id"], metadata={"seen": (item["metadata"] or {}).get("seen", 0) + 1})
    print(len(memory.history(item["id"])), "changes,", end=" ")
    print(len(memory.messages(user_id="ann")), "messages,", item["memory"], flush=True)
    sys.stdin.read()
"""
RELATIONS = "select array_agg(oid order by oid) from pg_class where relkind not in ('t', 'i')"


def test_processes_share_all_and_write_no_file_and_call_nobody_else(
    live: str, tenant: str, endpoint: Any, tmp_path: Any, counts: Any, sql: Any
) -> None:  # B078, B100, B152
    endpoint.facts(FACT)
    before = sql(RELATIONS)
    tmp_path.chmod(0o555)
    for number in (1, 2, 3):
        process = subprocess.Popen(
            [sys.executable, "-B", "-c", GUARD + PROGRAM + USE, live, tenant, endpoint.base_url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env={"PYTHONPATH": ":".join(filter(None, sys.path))},  # no HOME
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\n")
        process.stdin.flush()
        said = [process.stdout.readline() for _ in range(3)]
        # It is killed while its connections are open, and the next one goes on.
        process.kill()
        process.communicate()
        assert said[0] == "ready\n"
        assert said[2] == f"{number + 1} changes, {number} messages, Ann likes tea\n"
    assert counts() == (1, 4, 1, 3, 6)
    assert list(tmp_path.iterdir()) == []
    assert sql(RELATIONS) == before
