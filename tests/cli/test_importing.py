"""`memlayer import` and `memlayer export`."""

from __future__ import annotations

import base64
import json
import signal
import struct
import time
import uuid
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.cli.running import Shell, on_a_terminal, program
from tests.endpoint import Endpoint

ID = "0b0e0d0c-0000-4000-8000-00000000000{}"


def query(shell: Shell, statement: str, **given: Any) -> list[Any]:
    with psycopg.connect(shell.dsn) as conn:
        cursor = conn.execute(statement.encode(), {"tenant": shell.tenant, **given})
        return cursor.fetchall() if cursor.description else []


def write(path: Path, *memories: Any) -> str:
    path.write_text("".join(json.dumps(memory) + "\n" for memory in memories), "utf-8")
    return str(path)


def vector(*values: float) -> str:
    return base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()


def told(shell: Shell, *memories: Any) -> tuple[int, str]:
    """How an import of these memories ended, and its error."""
    ran = shell("import", "-", stdin="".join(json.dumps(memory) + "\n" for memory in memories))
    return ran.code, ran.err


def everything() -> list[dict[str, Any]]:
    """Memories with all there can be, in the order of their ids."""
    ann = {"user_id": "ann", "embedding_model": "m"}
    return [
        {
            "id": ID.format(1),
            "memory": "安娜喝茶 ☕ \u2028 with “Eve” in São Paulo",
            **ann,
            "agent_id": "tutor",
            "run_id": "r1",
            "metadata": {"topic": "food", "deep": [{"a": 1.5, "b": None}], "memory_type": "x"},
            "created_at": "2024-02-29T12:00:00.000001+00:00",
            "observed_at": "2024-02-28T12:00:00+00:00",
            "expiration_date": "2999-12-31",
            "attributed_to": "user",
            "embedding": vector(0.25, 0.5, 1),
            "entities": [
                {"name": "Eve", "type": "person", "embedding": vector(1, 0, 0)},
                {"name": "São Paulo", "type": "place", "embedding": vector(0, 1, 0)},
            ],
            # The newer one comes first here.
            "links": [{"id": ID.format(3), "kind": "updates"}],
        },
        {
            "id": ID.format(2),
            "memory": "Yes",
            **ann,
            "role": "user",
            "actor_id": "Ann",
            "context": "Do you drink tea?",
            "embedding": vector(0.25, 0.5, 1),
            "entities": [{"name": "Eve"}],
        },
        {
            "id": ID.format(3),
            "memory": "Ann drank coffee",
            **ann,
            "agent_id": "tutor",
            "run_id": "r1",
            "embedding": vector(0.5, 0.5, 1),
            "entities": [{"name": "Eve"}],
        },
        {"id": ID.format(4), "memory": "I made a plan", "agent_id": "tutor", "text": "ignored",
         "memory_type": "procedural_memory"},
        {"id": ID.format(5), "memory": "Bob has no vector", "run_id": "r2"},
    ]  # fmt: skip


def test_what_was_exported_is_exported_again_byte_for_byte(shell: Shell, tmp_path: Path) -> None:
    given = everything()
    shell.well("import", write(tmp_path / "given.jsonl", *given))
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    assert shell.well("export", str(first)).out == "memories exported: 5\n"
    other = Shell(shell.dsn, f"{shell.tenant}-other")
    ran = other.well("import", str(first), "--json")
    assert ran.json == {
        "added": 5, "known": 0, "duplicates": 0, "conflicts": [], "pending": 2, "links": 1,
        "links_left_out": 0,
    }  # fmt: skip
    assert other.well("export", str(second), "--json").json == {"exported": 5}
    assert first.read_bytes() == second.read_bytes()
    found = [json.loads(line) for line in first.read_bytes().split(b"\n") if line]
    assert [one["memory"] for one in found] == [one["memory"] for one in given]
    for key in given[0]:
        assert found[0][key] == given[0][key], key
    # The first that names her is of another scope: there she has a vector of her own, here none.
    assert found[1]["entities"] == [{"name": "Eve"}]
    assert found[2]["entities"] == [{"name": "Eve", "type": "person"}]
    assert list(tmp_path.glob(".*")) == []


def test_an_import_has_its_history_and_contradicts_nothing(shell: Shell, tmp_path: Path) -> None:
    path = write(tmp_path / "given.jsonl", *everything()[:4])
    shell.well("import", path)
    assert query(
        shell,
        "select distinct event, version, h.application_name, c.operation, c.added, c.entities"
        " from memlayer.history h"
        " join memlayer.change c on c.tenant = h.tenant and c.id = h.change_id"
        " where h.tenant = %(tenant)s",
    ) == [("ADD", 1, "memlayer", "import", 4, 3)]
    problems = shell("verify", "--json").json
    assert [(found["memory_id"], found["problem"]) for found in problems] == [
        (ID.format(4), "the memory waits for its vector")
    ]


def test_imported_again_nothing_is_stored_twice(shell: Shell, tmp_path: Path) -> None:
    nameless = [{"memory": "said twice", "user_id": "ann", "role": "user"}] * 2
    path = write(tmp_path / "given.jsonl", *everything(), *nameless)
    shell.well("import", path)
    before = shell.well("export").out
    ran = shell.well("import", path)
    assert ran.out.startswith("memories added: 0; known already: 7; duplicates: 0")
    assert shell.well("export").out == before
    assert query(
        shell, "select count(*) from memlayer.change where tenant = %(tenant)s"
    ) == [(1,)]  # fmt: skip


def test_a_fact_that_the_scope_has_is_a_duplicate(shell: Shell) -> None:
    first = {"id": ID.format(1), "memory": "Ann drinks tea", "user_id": "ann"}
    second = {**first, "id": ID.format(2)}
    elsewhere = {**first, "id": ID.format(3), "agent_id": "tutor"}
    lines = "\n".join(map(json.dumps, (first, second, elsewhere)))
    for dry in (["--dry-run"], []):
        found = shell.well("import", "-", "--json", *dry, stdin=lines).json
        assert (found["added"], found["duplicates"]) == (2, 1)


def test_an_id_that_stands_with_another_text_is_named_and_left(shell: Shell) -> None:
    memory = {"id": ID.format(1), "memory": "Ann drinks tea", "user_id": "ann"}
    assert told(shell, memory) == (0, "")
    for other in ({"memory": "Ann drinks gin"}, {"user_id": "bob"}):
        code, err = told(shell, {**memory, "id": ID.format(2)}, {**memory, **other})
        assert code == 1
        assert f"error: line 2: memory {memory['id']} stands with another text or scope" in err
    assert [
        one[0] for one in query(shell, "select text from memlayer.memory where tenant = %(tenant)s")
    ] == ["Ann drinks tea"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("not JSON",  " is not JSON"),
        ('{"memory": "x", "user_id": "ann", "metadata": {"a": NaN}}',  " is not JSON: NaN"),
        ("[1]", ": a memory is a JSON object, not list"),
        ('{"memory": "x"}', ": there is no user_id, agent_id or run_id"),
        ('{"memory": "x", "user_id": "*"}', ": Invalid user_id"),
        ('{"user_id": "ann"}', ": there is no text"),
        ('{"memory": " \\u200b", "user_id": "ann"}', ": the text is blank"),
        ('{"memory": "x\\u0000", "user_id": "ann"}', ": the text holds a NUL character"),
        ('{"memory": "x\\ud800", "user_id": "ann"}', ": the text holds half a surrogate"),
        ('{"memory": "x", "user_id": "ann", "metadata": {"a": "\\u0000"}}', ": 'metadata.a'"),
        ('{"memory": "x", "user_id": "ann", "id": "7"}', ": the id '7' is not a UUID"),
        ('{"memory": "x", "user": "ann"}', ": a memory has no 'user'; did you mean 'user_id'"),
        ('{"memory": "x", "user_id": "ann", "created_at": "soon"}', ": created_at must be"),
        ('{"memory": "x", "user_id": "ann", "embedding": "%%"}', ": embedding is neither"),
        ('{"memory": "x", "user_id": "ann", "embedding": [0, 0, 0]}', ": embedding consists"),
        ('{"memory": "x", "user_id": "ann", "embedding": [1e9, 0]}', ": embedding holds"),
        ('{"memory": "x", "user_id": "ann", "embedding": [1, 2]}', ": a vector of 2 dimensions"),
        ('{"memory": "x", "user_id": "ann", "links": [{"id": 1}]}', ": a link is an id"),
        ('{"memory": "x", "user_id": "ann", "entities": ["Eve"]}', ": entities must be a list"),
        ('{"memory": "x", "user_id": "ann", "entities": [{"name": " "}]}', ": an entity has no"),
    ],
)  # fmt: skip
def test_a_wrong_line_is_named_and_nothing_of_its_thousand_is_stored(
    shell: Shell, line: str, message: str
) -> None:
    good = {"memory": "good", "user_id": "ann", "embedding": [1, 2, 3], "embedding_model": "m"}
    ran = shell("import", "-", stdin=f"{json.dumps(good)}\n{line}\n")
    assert ran.code in (1, 2)
    assert ran.err.startswith(f"error: line 2{message}")
    assert query(shell, "select from memlayer.memory where tenant = %(tenant)s") == []
    assert query(shell, "select from memlayer.model where tenant = %(tenant)s") == []


def test_a_text_that_is_too_long_is_named(shell: Shell) -> None:
    code, err = told(shell, {"memory": "x" * (10 * 1024 * 1024 + 1), "user_id": "ann"})
    assert code == 1
    assert err.startswith("error: line 1: the text is longer than 10,485,760 bytes")


def test_vectors_of_another_model_or_size_are_refused_by_name(shell: Shell) -> None:
    memory = {"memory": "x", "user_id": "ann", "embedding_model": "m", "embedding": [1, 2, 3]}
    assert told(shell, memory)[0] == 0
    for other in ({"embedding_model": "n"}, {"embedding": [1, 2]}):
        for dry in ([], ["--dry-run"]):
            lines = json.dumps({**memory, "memory": "y", **other})
            ran = shell("import", "-", *dry, stdin=lines)
            assert ran.code == 1
            assert "are embedded with m (3 dimensions), not with" in ran.err
    found = query(shell, "select text from memlayer.memory where tenant = %(tenant)s")
    assert found == [("x",)]


def test_a_dry_run_says_what_would_happen_and_writes_nothing(shell: Shell, tmp_path: Path) -> None:
    path = write(tmp_path / "given.jsonl", *everything(), everything()[0])
    ran = shell.well("import", path, "--dry-run")
    assert ran.out.startswith("memories would be added: 5; known already: 1; duplicates: 0")
    for table in ("memory", "history", "change", "session", "entity", "model"):
        assert query(shell, f"select from memlayer.{table} where tenant = %(tenant)s") == []
    shell.well("import", path)
    assert shell.well("import", path, "--dry-run", "--json").json["known"] == 6


def test_what_comes_without_a_vector_waits_or_is_embedded(shell: Shell, endpoint: Endpoint) -> None:
    env = {"MEMLAYER_EMBEDDER_BASE_URL": endpoint.base_url}
    lines = [{"memory": f"Ann met Eve {n} times", "user_id": "ann"} for n in range(3)]
    text = "\n".join(map(json.dumps, lines))
    ran = shell.well("import", "-", stdin=text)
    assert ran.out.endswith("without a vector: 3 (memlayer embed-pending)\n")
    assert shell.well("embed-pending", "--json", **env).json == {"embedded": 3, "pending": 0}
    other = Shell(shell.dsn, f"{shell.tenant}-embedded")
    endpoint.requests.clear()
    assert other.well("import", "-", "--embed", "--json", stdin=text, **env).json["pending"] == 0
    assert len(endpoint.embedded) == 1
    named = "select name, embedding is not null from memlayer.entity where tenant = %(tenant)s"
    assert query(other, named + " order by name") == query(shell, named + " order by name") != []
    for one in (shell, other):
        assert one.well("verify", "--json").json == []
    assert shell("import", "-", "--embed", "--dry-run", stdin="").code == 2


def test_what_get_all_gives_is_imported(shell: Shell, tmp_path: Path) -> None:
    shell.add("Ann drinks tea", "--expires", "2999-01-01", "--metadata", '{"topic": "food"}')
    shell.add("Ann plays the cello")
    found = shell.well("list", "--user", "ann", "--json")
    other = Shell(shell.dsn, f"{shell.tenant}-other")
    for text in (found.out, json.dumps(found.json), json.dumps(found.json["results"])):
        other.well("import", "-", stdin=text)
    again = other.well("list", "--user", "ann", "--json").json
    assert again == found.json


def test_what_mem0_gives_is_imported(shell: Shell) -> None:
    memory = {
        "id": ID.format(1),
        "memory": "Wrote the report",
        "hash": "f5c1f9",
        "metadata": {"memory_type": "procedural_memory", "expiration_date": "2999-01-01", "k": 1},
        "score": None,
        "created_at": "2025-06-01T01:02:03.000004-07:00",
        "updated_at": None,
        "agent_id": "writer",
    }
    shell.well("import", "-", stdin=json.dumps({"results": [memory]}))
    found = query(
        shell,
        "select memory_type, expires_on::text, metadata,"
        " created_at = '2025-06-01 08:02:03.000004+00', dedup_key"
        " from memlayer.memory where tenant = %(tenant)s",
    )
    assert found == [("procedural_memory", "2999-01-01", {"k": 1}, True, None)]


def test_ids_beside_the_file_are_for_those_that_name_nobody(shell: Shell) -> None:
    lines = '{"text": "x"}\n\n{"text": "y", "agent_id": "a"}\n'
    shell.well("import", "-", "--user", "ann", stdin=lines)
    assert query(
        shell,
        "select user_id, agent_id from memlayer.memory where tenant = %(tenant)s order by text",
    ) == [("ann", None), (None, "a")]


def test_an_export_may_be_of_somebody(shell: Shell, tmp_path: Path) -> None:
    shell.well("import", write(tmp_path / "given.jsonl", *everything()))
    found = [json.loads(line) for line in shell.well("export", "--agent", "tutor").out.splitlines()]
    assert [one["id"] for one in found] == [ID.format(1), ID.format(3), ID.format(4)]


def test_a_killed_import_is_finished_by_running_it_again(alone: Shell, tmp_path: Path) -> None:
    memories = [
        {"id": str(uuid.UUID(int=n, version=4)), "memory": f"fact {n} of Eve",
         "user_id": f"u{n % 7}", "embedding": [1, n, 2], "embedding_model": "m",
         "entities": [{"name": "Eve"}],
         "links": [{"id": str(uuid.UUID(int=(n + 5000) % 6000, version=4))}]}
        for n in range(6000)
    ]  # fmt: skip
    path = write(tmp_path / "given.jsonl", *memories)
    count = "select count(*) from memlayer.memory"
    with program("import", path, **alone.env) as running:
        while query(alone, count)[0][0] == 0:
            assert running.poll() is None
            time.sleep(0.01)
        running.send_signal(signal.SIGKILL)
        running.communicate()
    query(alone, "select pg_terminate_backend(pid, 10000) from pg_stat_activity"
                 " where application_name = 'memlayer' and pid <> pg_backend_pid()")  # fmt: skip
    stored = query(alone, count)[0][0]
    assert stored % 1000 == 0
    assert 1000 <= stored < 6000
    ran = alone.well("import", path, "--json").json
    assert (ran["added"], ran["known"], ran["links_left_out"]) == (
        6000 - stored,
        stored,
        6000 - ran["links"],
    )
    assert alone.well("verify", "--json").json == []
    assert query(alone, "select count(*) from memlayer.link") == [(ran["links"],)]
    assert query(alone, "select count(*) from memlayer.mention") == [(6000,)]


def test_a_terminal_shows_how_far_it_is(shell: Shell, tmp_path: Path) -> None:
    path = write(tmp_path / "given.jsonl", *everything())
    for command in ("import", "export"):
        code, shown = on_a_terminal(command, path, **shell.env)
        assert code == 0
        assert f"{command}ing" in shown


def test_an_export_that_fails_leaves_the_file_as_it_was(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    path.write_text("kept")
    nowhere = Shell("postgresql://127.0.0.1:1/none")
    assert nowhere("export", str(path)).code == 1
    assert shell("export", str(tmp_path / "none" / "file")).code == 1
    assert path.read_text() == "kept"
    assert list(tmp_path.iterdir()) == [path]
