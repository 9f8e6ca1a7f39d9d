"""`memlayer verify` and `memlayer doctor`."""

from __future__ import annotations

import re
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from memlayer_pg.cli import looking, scaling
from tests.cli.running import Shell, memlayer
from tests.cli.test_indexing import ann_index, blocked, builder, fill, started
from tests.conftest import named
from tests.endpoint import Endpoint


def doctor(shell: Shell, *args: str, code: int = 0, **env: str) -> dict[str, dict[str, Any]]:
    """The lines of the report, by name."""
    ran = shell("doctor", "--json", *args, **env)
    assert ran.code == code, ran.out + ran.err
    return {check["name"]: check for check in ran.json}


def large(shell: Shell) -> dict[str, dict[str, Any]]:
    """The lines about large scopes; that the vectors are of another model is no matter here."""
    found = {check["name"]: check for check in shell("doctor", "--offline", "--json").json}
    return {name: found[name] for name in ("scopes", "statistics", "recall", "indexes")}


def statuses(found: dict[str, dict[str, Any]]) -> list[str]:
    return [check["status"] for check in found.values()]


def test_a_store_that_is_well_ends_with_0(alone: Shell) -> None:
    alone.add("tea")
    assert alone.well("verify", "--json").json == []
    assert "contradicts" in alone.well("verify").out


def test_a_store_that_contradicts_itself_ends_with_1(alone: Shell) -> None:
    memory_id = alone.add("tea", "--tenant", "acme")
    with psycopg.connect(alone.dsn) as conn:
        conn.execute("update memlayer.memory set embedding = null, embedding_model = null")
    for args in ([], ["--tenant", "acme"]):
        ran = alone("verify", "--json", *args, MEMLAYER_TENANT="")
        assert ran.code == 1
        assert [row["memory_id"] for row in ran.json] == [memory_id]
    assert memory_id in alone("verify", "--tenant", "acme", COLUMNS="40").out
    assert alone.well("verify", "--tenant", "other", "--json").json == []


def test_everything_in_place_is_ok(shell: Shell, endpoint: Endpoint) -> None:
    endpoint.reply("ready")
    models: dict[str, Any] = {
        "MEMLAYER_LLM_BASE_URL": endpoint.base_url,
        "MEMLAYER_LLM_MODEL": "talker",
        "MEMLAYER_EMBEDDER_BASE_URL": endpoint.base_url,
        "MEMLAYER_EMBEDDER_MODEL": "embedder",
    }
    found = doctor(shell, **models)
    well = dict.fromkeys(["database", *looking.LOOKS, "embedder", "llm"], "ok")
    # We are a superuser here.
    assert {name: check["status"] for name, check in found.items()} == {**well, "role": "warn"}
    assert "64 dimensions" in found["embedder"]["said"]
    assert len(endpoint.requests) == 2

    doctor(shell, "--offline", **models)
    assert len(endpoint.requests) == 2


def test_a_missing_language_model_is_a_warning(shell: Shell) -> None:
    shown = shell.well("doctor")
    assert "word for word" in shown.out
    assert "→ Set OPENAI_API_KEY" in shown.out
    assert doctor(shell)["llm"]["status"] == "warn"


def test_a_reranker_is_asked_where_one_is_configured(shell: Shell, endpoint: Endpoint) -> None:
    assert "reranker" not in doctor(shell)
    env: dict[str, Any] = {"MEMLAYER_RERANKER_BASE_URL": endpoint.base_url}
    endpoint.reply("[0.5]")
    assert doctor(shell, **env)["reranker"]["status"] == "ok"
    endpoint.reply("no")
    assert doctor(shell, code=1, **env)["reranker"]["status"] == "fail"
    assert "not asked" in doctor(shell, "--offline", **env)["reranker"]["said"]


def test_models_that_fail_are_named(shell: Shell, endpoint: Endpoint) -> None:
    endpoint.chat = lambda request: (401, {"error": {"message": "wrong key"}})
    endpoint.embeddings = lambda request: (404, {"error": {"message": "no such model"}})
    found = doctor(
        shell,
        code=1,
        MEMLAYER_LLM_BASE_URL=endpoint.base_url,
        MEMLAYER_EMBEDDER_BASE_URL=endpoint.base_url,
    )
    assert (found["llm"]["status"], found["embedder"]["status"]) == ("fail", "fail")
    assert "wrong key" in found["llm"]["said"]
    assert "no such model" in found["embedder"]["said"]


def test_another_embedder_than_the_stored_one_is_a_failure(
    shell: Shell, endpoint: Endpoint
) -> None:
    shell.add("tea")
    found = doctor(
        shell,
        code=1,
        MEMLAYER_EMBEDDER_BASE_URL=endpoint.base_url,
        MEMLAYER_EMBEDDER_MODEL="other",
    )
    assert found["model"]["status"] == "fail"
    assert "other" in found["model"]["said"]
    assert doctor(shell)["model"]["status"] == "ok"


def test_memories_without_a_vector_are_a_warning(shell: Shell) -> None:
    memory_id = shell.add("tea")
    with psycopg.connect(shell.dsn) as conn:
        conn.execute("update memlayer.memory set text = 'green tea' where id = %s", [memory_id])
    found = doctor(shell, "--offline")["vectors"]
    assert found["status"] == "warn"
    assert memory_id in found["said"]
    assert found["next_step"] == "memlayer embed-pending"
    shell.well("embed-pending")
    assert doctor(shell, "--offline")["vectors"]["status"] == "ok"


def test_a_scope_that_outgrows_an_exact_search_is_a_warning_until_it_has_an_index(
    shell: Shell,
) -> None:
    assert "has no memories yet" in large(shell)["scopes"]["said"]
    fill(shell, 40, user_id="big")
    found = large(shell)
    assert statuses(found) == ["ok", "ok", "ok", "ok"]
    assert "user big: 40 memories, up to 50" in found["scopes"]["said"]

    fill(shell, 20, user_id="big")
    found = large(shell)
    assert statuses(found) == ["warn", "warn", "ok", "ok"]
    assert "user big has 60 memories" in found["scopes"]["said"]
    assert found["scopes"]["next_step"] == "memlayer db ann-index"
    assert "never counted" in found["statistics"]["said"]

    shell.well("db", "ann-index")
    found = large(shell)
    assert statuses(found) == ["ok", "ok", "ok", "ok"]
    assert ann_index(shell) in found["scopes"]["said"]
    assert f"{ann_index(shell)} finds 1.00" in found["recall"]["said"]


def test_an_index_that_no_scope_needs_is_named(shell: Shell) -> None:
    fill(shell, 10, user_id="small")
    shell.well("db", "ann-index")
    found = large(shell)["scopes"]
    assert found["status"] == "ok"
    assert "slows every add" in found["said"]
    assert "--drop" in found["next_step"]


def test_statistics_that_much_has_changed_since_are_a_warning(shell: Shell) -> None:
    fill(shell, 100, user_id="big")
    shell.well("db", "ann-index")
    fill(shell, 9, user_id="big")
    assert large(shell)["statistics"]["status"] == "ok"
    fill(shell, 8, user_id="big")
    found = large(shell)["statistics"]
    assert found["status"] == "warn"
    assert "of user big 17 memories came or went" in found["said"]
    assert found["next_step"] == "memlayer db refresh-statistics"
    shell.well("db", "refresh-statistics")
    assert large(shell)["statistics"]["status"] == "ok"
    with psycopg.connect(shell.dsn) as conn:
        conn.execute(
            "delete from memlayer.memory where tenant = %s and text like 'fact 1%%'", [shell.tenant]
        )
    assert large(shell)["statistics"]["status"] == "warn"


def test_expired_memories_need_no_statistics(shell: Shell) -> None:
    fill(shell, 45, user_id="big")
    fill(shell, 15, user_id="big", expires_on="2020-01-01")
    shell.well("db", "refresh-statistics")
    assert large(shell)["statistics"]["status"] == "ok"


def test_an_index_that_misses_too_much_is_a_warning(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(shell, 60, user_id="big")
    shell.well("db", "ann-index")
    monkeypatch.setattr(scaling, "RECALL", 1.01)
    found = large(shell)["recall"]
    assert found["status"] == "warn"
    assert f"reindex index concurrently memlayer.{ann_index(shell)};" in found["next_step"]
    assert "it misses many" in shell.well("db", "ann-index").err


def test_an_index_that_was_left_unfinished_is_a_warning(alone: Shell) -> None:
    fill(alone, 60, user_id="big")
    alone.well("db", "ann-index")
    for name, step in (
        (ann_index(alone), "memlayer db ann-index --tenant default"),
        ("memory_pending_idx", "reindex index concurrently memlayer.memory_pending_idx"),
    ):
        invalid = "update pg_index set indisvalid = %s where indexrelid = %s::regclass"
        with psycopg.connect(alone.dsn) as conn:
            conn.execute(invalid, [False, f"memlayer.{name}"])
        found = large(alone)
        assert found["indexes"]["status"] == "warn"
        assert step in found["indexes"]["next_step"]
        with psycopg.connect(alone.dsn) as conn:
            conn.execute(invalid, [True, f"memlayer.{name}"])
    assert large(alone)["indexes"]["status"] == "ok"


def test_an_index_of_a_model_that_is_gone_is_a_warning(alone: Shell) -> None:
    fill(alone, 10, user_id="small")
    alone.well("db", "ann-index")
    name = ann_index(alone)
    alone.well("reset", "--yes")
    found = large(alone)["indexes"]
    assert found["status"] == "warn"
    assert found["next_step"] == f"drop index concurrently memlayer.{name}"


def test_an_index_that_is_being_made_is_left_in_peace(alone: Shell) -> None:
    fill(alone, 60, user_id="big")
    with started(alone) as running:
        with blocked(alone):
            pid = builder(alone)
            found = large(alone)
        running.communicate()
    assert (found["scopes"]["status"], found["indexes"]["status"]) == ("ok", "ok")
    assert f"process {pid} is making" in found["scopes"]["said"]
    assert f"process {pid} is making" in found["indexes"]["said"]


def test_a_schema_that_somebody_changed_is_a_warning_that_names_what(alone: Shell) -> None:
    assert "as it was made" in doctor(alone, "--offline")["schema"]["said"]
    with psycopg.connect(alone.dsn) as conn:
        conn.execute("alter table memlayer.memory disable trigger memory_history_update")
        conn.execute("drop index memlayer.memory_document_idx")
        conn.execute("create index of_theirs on memlayer.memory (tenant, updated_at)")
    found = doctor(alone, "--offline")["schema"]
    assert (found["status"], found["next_step"]) == ("warn", "memlayer db check")
    assert "index memory_document_idx is missing" in found["said"]
    assert "trigger memory_history_update on memory is not what" in found["said"]
    assert "of_theirs" not in found["said"]
    with psycopg.connect(alone.dsn) as conn:
        conn.execute("drop table memlayer.message, memlayer.link cascade")
    said = doctor(alone, "--offline")["schema"]["said"]
    assert re.search(r" and [0-9]+ more$", said)


def test_a_role_that_cannot_compare_the_schema_is_told_who_can(server: str, alone: Shell) -> None:
    role = f"{named(alone.dsn)}_reader"
    with psycopg.connect(alone.dsn) as conn:
        conn.execute(f"create role {role} login")
        conn.execute(f"grant usage on schema memlayer to {role}")
        conn.execute(f"grant select on all tables in schema memlayer to {role}")
        conn.execute(f"grant execute on all functions in schema memlayer to {role}")
    told = doctor(Shell(make_conninfo(alone.dsn, user=role)), "--offline")
    assert told["schema"]["status"] == "ok"
    assert "only its owner can compare it" in told["schema"]["said"]
    assert told["role"]["status"] == "warn"
    assert "granted it by hand" in told["role"]["said"]
    with psycopg.connect(alone.dsn) as conn:
        conn.execute(f"drop owned by {role}")
        conn.execute(f"drop role {role}")


def test_a_missing_schema_is_a_failure_and_the_rest_is_looked_at(empty: str) -> None:
    found = doctor(Shell(empty), "--offline", code=1)
    assert found["schema"]["status"] == "fail"
    assert found["schema"]["next_step"] == "memlayer db upgrade"
    assert found["server"]["status"] == "ok"
    assert found["vectors"]["status"] == "warn"


def test_a_server_that_does_not_answer_is_a_failure_and_models_are_asked(
    endpoint: Endpoint,
) -> None:
    ran = memlayer(
        *("doctor", "--json", "--dsn", "postgresql://ann:s3cret@127.0.0.1:1/d"),
        MEMLAYER_EMBEDDER_BASE_URL=endpoint.base_url,
    )
    assert ran.code == 1
    assert [(check["name"], check["status"]) for check in ran.json] == [
        ("database", "fail"),
        ("embedder", "ok"),
        ("llm", "warn"),
    ]
    assert "s3cret" not in ran.out


def test_a_role_that_may_not_look_is_told_so(alone: Shell) -> None:
    with psycopg.connect(alone.dsn, autocommit=True) as conn:
        conn.execute("drop role if exists stranger")
        conn.execute("create role stranger login")
        conn.execute("grant usage on schema memlayer to stranger")
    stranger = Shell(psycopg.conninfo.make_conninfo(alone.dsn, user="stranger"))
    found = doctor(stranger, "--offline", code=1)
    assert found["role"]["status"] == "fail"
    assert found["vectors"]["status"] == "warn"
    assert "owner" in found["vectors"]["next_step"]
