"""What `memlayer export` writes, `memlayer import` makes again: a scope, a tenant, histories."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import psycopg
import pytest

from memlayer_pg import cluster
from tests.cli.running import Shell
from tests.cli.test_importing import everything, query, write
from tests.conftest import create, drop, named

KEPT = {
    "memory": "id, user_id, agent_id, run_id, text, context, hash, document::text, document_length,"
    " embedding::text, metadata, memory_type, role, actor_id, attributed_to, expires_on,"
    " observed_at, version, created_at, updated_at",
    "history": "memory_id, version, event, old_state - 'embedding_model',"
    " new_state - 'embedding_model', user_id, agent_id, run_id, recorded_at",
    "link": "memory_id, linked_id, kind",
    "entity": "user_id, agent_id, run_id, name, folded_name, type, embedding::text",
}


def kept(shell: Shell, *tables: str) -> dict[str, list[Any]]:
    rows = "select {} from memlayer.{} where tenant = %(tenant)s order by 1, 2, 3"
    return {table: query(shell, rows.format(KEPT[table], table)) for table in tables}


@pytest.fixture
def filled(alone: Shell, tmp_path: Path) -> Shell:
    """A tenant with all there can be, some of it changed, deleted, restored and folded."""
    shell = Shell(alone.dsn, "acme")
    shell.well("import", write(tmp_path / "given.jsonl", *everything()))
    ids = [row[0] for row in query(shell, "select id::text from memlayer.memory order by id")]
    with psycopg.connect(shell.dsn, autocommit=True) as conn:
        update = "select from memlayer.update('acme', %s, p_metadata => %s)"
        conn.execute(update, [ids[0], '{"topic": "drink"}'])
        conn.execute(update, [ids[0], '{"topic": "tea"}'])
        conn.execute("select from memlayer.delete('acme', %s)", [ids[3]])
        conn.execute("select from memlayer.delete('acme', %s)", [ids[4]])
        conn.execute("select from memlayer.restore('acme', %s, 1)", [ids[4]])
    return shell


def test_with_history_a_tenant_is_the_same_again(filled: Shell, tmp_path: Path) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    filled.well("export", "--history", str(first))
    other = Shell(filled.dsn, "other")
    other.well("import", str(first))
    other.well("export", "--history", str(second))
    assert first.read_bytes() == second.read_bytes()
    tables = ("memory", "history", "link", "entity")
    assert kept(other, *tables) == kept(filled, *tables)
    assert len(kept(other, "history")["history"]) == 5 + 2 + 1 + 2
    found = {problem["problem"] for problem in other("verify", "--json").json}
    assert found == {"the memory waits for its vector"}
    other.well("import", str(first))
    assert kept(other, *tables) == kept(filled, *tables)


def test_a_history_that_retention_shortened_is_the_same_again(
    filled: Shell, tmp_path: Path
) -> None:
    with psycopg.connect(filled.dsn, autocommit=True) as conn:
        conn.execute("select memlayer.prune_history('acme', '0 days')")
    assert query(filled, "select count(*) from memlayer.history where event = 'BASELINE'")[0][0] > 0
    path = tmp_path / "first.jsonl"
    filled.well("export", "--history", str(path))
    other = Shell(filled.dsn, "other")
    other.well("import", str(path))
    assert kept(other, "memory", "history") == kept(filled, "memory", "history")


def test_a_scope_is_the_same_again_and_nothing_else_comes_along(
    filled: Shell, tmp_path: Path
) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    scope = ("--user", "ann", "--agent", "tutor")
    filled.well("export", str(first), *scope)
    other = Shell(filled.dsn, "other")
    other.well("import", str(first))
    other.well("export", str(second), *scope)
    assert first.read_bytes() == second.read_bytes()
    assert query(
        other, "select distinct user_id, agent_id from memlayer.memory where tenant = %(tenant)s"
    ) == [("ann", "tutor")]
    assert kept(other, "link") == kept(filled, "link")
    superseded = "select superseded_by::text from memlayer.get_all('{}', 'ann') where superseded_by is not null"  # noqa: E501
    assert query(other, superseded.format("other")) == query(filled, superseded.format("acme"))


def test_a_dump_of_the_database_is_the_full_backup(
    filled: Shell, server: str, tmp_path: Path
) -> None:
    with psycopg.connect(filled.dsn) as conn:
        programs = cluster.programs()[conn.info.server_version // 10000]
    with psycopg.connect(filled.dsn) as conn:
        said = """[{"user_id": "ann", "role": "user", "content": "hello"}]"""
        conn.execute("select from memlayer.import_messages('acme', %s)", [said])
    dump = tmp_path / "app.dump"
    subprocess.run(
        [programs / "pg_dump", "--format=custom", f"--file={dump}", filled.dsn], check=True
    )
    dsn = create(server, "template0")
    subprocess.run(
        [programs / "pg_restore", f"--dbname={dsn}", "--single-transaction", dump], check=True
    )
    restored = Shell(dsn, filled.tenant)
    with psycopg.connect(filled.dsn) as conn:
        tables = [
            row[0]
            for row in conn.execute(
                "select tablename from pg_tables where schemaname = 'memlayer' order by 1"
            )
        ]
    assert "message" in tables
    for table in tables:
        whole = f"select t::text from memlayer.{table} t order by 1"
        assert query(restored, whole) == query(filled, whole), table
    assert restored("verify", "--json").json == filled("verify", "--json").json
    assert named(dsn) != named(filled.dsn)
    drop(server, dsn)
