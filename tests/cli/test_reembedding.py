"""`memlayer reembed`."""

from __future__ import annotations

import signal
from typing import Any

import psycopg
import pytest

from memlayer_pg import reembedding
from tests.cli.running import Shell, on_a_terminal, program
from tests.endpoint import Endpoint


class Users:
    """Runs commands with one embedder or the other."""

    def __init__(self, shell: Shell, endpoint: Endpoint) -> None:
        self.shell = shell
        self.old = {
            "MEMLAYER_EMBEDDER_BASE_URL": endpoint.base_url,
            "MEMLAYER_EMBEDDER_MODEL": "old",
        }
        self.new = {
            **self.old,
            "MEMLAYER_EMBEDDER_MODEL": "new",
            "MEMLAYER_EMBEDDER_DIMENSIONS": "32",
        }

    def sql(self, query: str) -> list[Any]:
        with psycopg.connect(self.shell.dsn, autocommit=True) as conn:
            cursor = conn.execute(query.encode(), {"tenant": self.shell.tenant})
            return cursor.fetchall() if cursor.description else []

    def fill(self, size: int) -> None:
        self.shell.well("add", "she plays the cello", "--user", "ann", "--no-infer", **self.old)
        self.sql(
            "insert into memlayer.memory (tenant, user_id, text)"
            f" select %(tenant)s, 'ann', 'fact ' || n from generate_series(2, {size}) n"
        )
        self.shell.well("embed-pending", **self.old)

    def cosine(self, env: dict[str, str]) -> float:
        found = self.shell.well("search", "cello", "--user", "ann", "--explain", "--json", **env)
        return float(found.json["results"][0]["score_details"]["cosine_similarity"])


@pytest.fixture
def users(shell: Shell, endpoint: Endpoint) -> Users:
    return Users(shell, endpoint)


@pytest.fixture
def indexes(users: Users) -> Any:
    """The vector indexes of the tenant's models, by their model."""
    return lambda: users.sql(
        "select d.name from memlayer.model d join pg_class c on c.relname = 'memory_ann_' || d.id"
        " where d.tenant = %(tenant)s order by 1"
    )


def test_what_it_takes_is_said_before_anything_is_embedded(
    users: Users, shell: Shell, endpoint: Endpoint
) -> None:
    users.fill(3)
    endpoint.requests.clear()
    want = ["reembed", "--model", "new", "--dimensions", "32"]
    shown = shell.well(*want, "--dry-run", **users.old).out
    assert shown == (
        "from old to new@32: 3 memories, 0 entities\n"
        "to be embedded: 3 texts, 31 characters, about 12 tokens, 1 requests\n"
    )
    plan = shell.well(*want, "--dry-run", "--json", **users.old).json
    assert (plan["remaining"], plan["requests"], plan["cut_over"]) == (3, 1, False)
    unconfirmed = shell(*want, **users.old)
    assert unconfirmed.code == 2
    assert "--yes" in unconfirmed.err
    code, shown = on_a_terminal(*want, typed="n\n", **{**shell.env, **users.old})
    assert code == 1
    assert "Embed them?" in shown
    assert endpoint.embedded == []
    code, shown = on_a_terminal(*want, typed="y\n", **{**shell.env, **users.old})
    assert code == 0
    assert "memories now of new@32: 3" in shown
    assert users.cosine(users.new) > 0.4
    refused = shell("search", "cello", "--user", "ann", **users.old)
    assert refused.code == 1
    assert "new@32 (32 dimensions), not with old (64 dimensions)" in refused.err
    assert "memlayer reembed --rollback" in refused.err


def test_the_way_back_and_the_end(users: Users, shell: Shell) -> None:
    users.fill(3)
    nothing = shell("reembed", "--rollback", "--yes", **users.old)
    assert nothing.code == 2
    assert "nothing to go back to" in nothing.err
    found = shell.well("reembed", "--yes", "--json", **users.new).json
    assert (found["model"], found["cut_over"], found["memories"]) == ("old", True, 3)
    assert "already" in shell.well("reembed", "--yes", **users.new).out
    back = shell.well("reembed", "--rollback", "--yes", **users.new).out
    assert back == "in use: old; memories given their old vector: 3; vectors dropped: 0\n"
    assert users.cosine(users.old) > 0.4
    shell.well("reembed", "--yes", **users.new)
    assert shell.well("reembed", "--finish", "--yes").out == "vectors of old dropped: 3\n"
    assert shell("reembed", "--rollback", "--yes").code == 2
    assert shell("reembed", "--rollback", "--finish", "--yes").code == 2
    assert shell.well("verify", "--json").json == []


def test_a_killed_command_goes_on_where_it_was_and_doctor_tells_of_it(
    users: Users, shell: Shell, endpoint: Endpoint
) -> None:
    users.fill(reembedding.BATCH + 10)

    def said() -> dict[str, Any]:
        report = shell("doctor", "--offline", "--json", **users.old).json
        [check] = [check for check in report if check["name"] == "reembedding"]
        return dict(check)

    assert (said()["status"], said()["said"]) == ("ok", "none is under way")
    endpoint.requests.clear()
    with program("reembed", "--yes", **{**shell.env, **users.new}) as running:

        def kill(request: object) -> None:
            if len(endpoint.embedded) == 2:
                running.send_signal(signal.SIGKILL)
                running.wait()

        endpoint.embeddings = kill
        running.communicate()
    assert running.returncode == -signal.SIGKILL
    endpoint.embeddings = None
    assert said()["status"] == "warn"
    assert said()["said"].startswith("100 of 110 vectors of new@32 are there")
    endpoint.requests.clear()
    assert shell.well("reembed", "--yes", "--json", **users.new).json["embedded"] == 10
    assert said()["said"] == "110 vectors of old are kept to go back to"
    assert shell.well("verify", "--json").json == []


def test_a_vector_index_moves_to_the_model_in_use(users: Users, shell: Shell, indexes: Any) -> None:
    users.fill(3)
    shell.well("db", "ann-index", **users.old)
    big = {**users.new, "MEMLAYER_EMBEDDER_DIMENSIONS": "3072"}
    made = shell.well("reembed", "--yes", "--json", **big).json["index"]
    assert made.startswith("memory_ann_")
    assert indexes() == [("new@3072",)]
    assert users.cosine(big) > 0.4
    back = shell.well("reembed", "--rollback", "--yes", "--json", **big).json
    assert back["index"] not in (None, made)
    assert indexes() == [("old",)]


def test_a_terminal_shows_how_far_it_is(users: Users, shell: Shell) -> None:
    users.fill(3)
    code, shown = on_a_terminal("reembed", "--yes", **{**shell.env, **users.new})
    assert code == 0
    assert "embedding" in shown
    assert "texts embedded: 3" in shown
