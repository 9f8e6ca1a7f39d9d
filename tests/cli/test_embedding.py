"""`memlayer embed-pending`."""

from __future__ import annotations

import signal

import psycopg

from tests.cli.running import Shell, on_a_terminal, program
from tests.endpoint import Endpoint


def plain_sql(shell: Shell, query: str) -> None:
    with psycopg.connect(shell.dsn) as conn:
        conn.execute(query.encode(), {"tenant": shell.tenant})


def insert(shell: Shell, size: int) -> None:
    """Memories of user ann that plain SQL stores, without vectors."""
    plain_sql(
        shell,
        "insert into memlayer.memory (tenant, user_id, text) "
        f"select %(tenant)s, 'ann', 'fact ' || n from generate_series(1, {size}) n",
    )


def test_what_plain_sql_changed_is_embedded(shell: Shell) -> None:
    memory_id = shell.add("Ann drinks tea")
    plain_sql(shell, "update memlayer.memory set text = 'Ann plays the cello' "
                     "where tenant = %(tenant)s")  # fmt: skip
    assert [row["memory_id"] for row in shell("verify", "--json").json] == [memory_id]
    shown = shell.well("embed-pending").out
    assert shown == "memories embedded: 1; without a vector: 0\n"
    assert shell.well("verify", "--json").json == []
    assert "the words are the same" in shell.well("history", memory_id).out
    [hit] = shell.well("search", "cello", "--user", "ann", "--explain", "--json").json["results"]
    assert hit["score_details"]["cosine_similarity"] > 0
    assert shell.well("embed-pending", "--json").json == {"embedded": 0, "pending": 0}


def test_so_many_as_are_asked_for(shell: Shell) -> None:
    insert(shell, 3)
    assert shell.well("embed-pending", "--limit", "2", "--json").json == {
        "embedded": 2,
        "pending": 1,
    }
    assert shell("embed-pending", "--limit", "0").code == 2


def test_an_interrupted_command_goes_on_where_it_was(shell: Shell, endpoint: Endpoint) -> None:
    insert(shell, 60)
    env: dict[str, str] = {**shell.env, "MEMLAYER_EMBEDDER_BASE_URL": endpoint.base_url}
    with program("embed-pending", **env) as running:

        def interrupt(request: object) -> None:
            if len(endpoint.embedded) == 2:  # of the second fifty
                running.send_signal(signal.SIGINT)
                running.wait()

        endpoint.embeddings = interrupt
        _, err = running.communicate()
    assert running.returncode == 130, err
    assert "Traceback" not in err
    assert shell("verify", "--json").code == 1
    endpoint.embeddings = None
    assert shell.well("embed-pending", "--json", **env).json == {"embedded": 10, "pending": 0}
    assert shell.well("verify", "--json").json == []


def test_a_terminal_shows_how_far_it_is(shell: Shell) -> None:
    insert(shell, 3)
    code, shown = on_a_terminal("embed-pending", **shell.env)
    assert code == 0
    assert "embedding" in shown
    assert "memories embedded: 3" in shown


def test_a_failing_embedder_ends_with_1(shell: Shell) -> None:
    insert(shell, 1)
    ran = shell("embed-pending", MEMLAYER_EMBEDDER_BASE_URL="http://127.0.0.1:1/v1")
    assert ran.code == 1
    assert ran.err.startswith("error: ")
