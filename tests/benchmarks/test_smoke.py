"""The benchmarks run, at a size where nothing they say about speed means anything."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import psycopg
import pytest

from benchmarks import contenders, filling, quality, report, sets, soak, speed
from benchmarks.endpoint import process
from benchmarks.measure import Effort
from benchmarks.options import Options
from benchmarks.quality import QualityOptions
from benchmarks.script import OPERATIONS
from benchmarks.soak_client import Ledger
from benchmarks.text import Writer
from benchmarks.timing import Batch
from benchmarks.vectors import Vectors

PETS = ("cat", "dog", "parrot", "hamster", "tortoise", "goldfish", "rabbit", "pony", "snake", "owl")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The results of a run of everything that is small enough."""
    options = Options(
        results=tmp_path_factory.mktemp("results"),
        dimensions=16,
        workloads="ABI",
        users=3,
        per_user=(6, 16),
        clients=(1, 2),
        scope=40,
        imported=40,
        repeat_delete_all=1,
        effort=Effort(rounds=1, calls=1, warm=1),
    )
    results = speed.run(options)
    return report.save(options.results, "speed", results) | {"folder": options.results}


def test_every_operation_is_measured_for_everybody_who_has_it(measured: dict[str, Any]) -> None:
    found = {
        (row["per_user"], row["operation"], row["clients"], row["contender"])
        for row in measured["speed"]
        if row["workload"] == "A"
    }
    for per_user in (6, 16):
        assert {(per_user, operation, 1, "ours") for operation in OPERATIONS} <= found
        assert (per_user, "search", 2, "best layout") in found
    assert {(16, "delete_all", 1, name) for name in ("ours", "plain")} <= found
    assert all(row["median_ms"] > 0 and row["cpu_ms"] > 0 for row in measured["speed"])


def test_an_import_is_measured_beside_a_bare_copy_of_its_rows(measured: dict[str, Any]) -> None:
    found = {row["contender"]: row for row in measured["speed"] if row["workload"] == "I"}
    assert set(found) == {"ours", "plain"}
    assert found["ours"]["memories"] == 40


def test_what_a_call_makes_others_do_is_counted(measured: dict[str, Any]) -> None:
    counts = {row["operation"]: row for row in measured["counts"]}
    assert counts["search"]["statements"] == counts["search"]["round_trips"] == 1
    assert counts["search"]["writes"] == 0
    assert counts["add"]["round_trips"] == 2
    assert counts["add"]["writes"] == 1
    assert counts["add"]["http"] == 3
    assert counts["add_first"]["prompt_tokens"] > 100
    assert counts["delete"]["http"] == 0


def test_recall_in_the_large_scope_is_measured_with_and_without_an_index(
    measured: dict[str, Any],
) -> None:
    recall = {row["contender"]: row["recall"] for row in measured["recall"]}
    assert recall.keys() == {"ours", "ours, ANN"}
    assert min(recall.values()) > 0.9


def test_both_forms_of_vectors_are_decoded(measured: dict[str, Any]) -> None:
    cost = measured["decoding"]
    assert all(0 < cost[form] < 1000 for form in ("base64", "float"))


def test_a_page_and_the_figures_are_saved(measured: dict[str, Any]) -> None:
    page = (measured["folder"] / "benchmarks.md").read_text()
    assert "search, 16 a user: to the plain query" in page
    assert "| A 6 a user: search | ours |" in page
    saved = json.loads((measured["folder"] / "speed.json").read_text())
    assert saved["speed"] == measured["speed"]
    assert saved["about"]["postgres"]["fsync"] == "on"


def test_what_is_filled_in_is_what_add_stores(database: str) -> None:
    writer, vectors = Writer(1, 4), Vectors(16, 1)
    store = filling.Ours(database, vectors)
    filling.fill([store], writer, vectors, filling.order(["ann"], 4), lambda rows: None)
    store.finish()
    with process(16, 1, 4) as endpoint, psycopg.connect(database) as conn:
        ours = contenders.Ours(database, endpoint, writer)
        ours.run("add", [{"user": "bob", "number": 1}], 1)
        ours.close()
        [filled], [added] = (
            conn.execute(
                """
                select array_agg(distinct (
                         select string_agg(key, ' ' order by key)
                           from jsonb_each_text(to_jsonb(m)) where value is not null)),
                       bool_and(h.new_state ->> 'text' = m.text and h.version = 1)
                  from memlayer.memory m
                  join memlayer.history h on h.tenant = m.tenant and h.memory_id = m.id
                 where m.user_id = %s
                """,
                [user],
            ).fetchall()
            for user in ("ann", "bob")
        )
        assert filled == added
        assert filled[1] is True
        assert conn.execute("select * from memlayer.verify()").fetchall() == []


@pytest.fixture
def retrieval_set(tmp_path: Path) -> Path:
    """A folder with one set: twenty memories of two users, ten questions."""
    folder = tmp_path / "sets" / "pets"
    folder.mkdir(parents=True)
    docs = [
        {"id": f"{scope}-{pet}", "scope": scope, "text": f"The {pet} of {scope} is called {name}."}
        for scope, name in (("Ann", "Milo"), ("Bob", "Luna"))
        for pet in PETS
    ]
    questions = [
        {"scope": scope, "text": f"What is the name of the {pet}?", "relevant": [f"{scope}-{pet}"]}
        for scope, pet in zip(("Ann", "Bob") * 5, PETS, strict=True)
    ]
    for name, rows in (("docs", docs), ("queries", questions)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder.parent


def test_retrieval_is_measured_on_a_set_of_ones_own(retrieval_set: Path, tmp_path: Path) -> None:
    options = QualityOptions(
        data=retrieval_set, results=tmp_path / "results", cache=tmp_path / "cache"
    )
    found = {row["contender"]: row for row in quality.run(options)["quality"]}
    assert found.keys() == {"ours", "ours, additive", "dense leg", "keyword leg"}
    assert found["keyword leg"]["ndcg"] == 1
    assert found["ours"]["recall"] == 1
    assert all(0 < row["ndcg"] <= row["recall"] <= 1 for row in found.values())
    assert {path.suffix for path in options.cache.iterdir()} == {".npz"}


def test_a_set_that_is_a_conversation_is_stored_as_one(retrieval_set: Path, tmp_path: Path) -> None:
    docs = retrieval_set / "pets" / "docs.jsonl"
    rows = [json.loads(line) for line in docs.read_text().splitlines()]
    docs.write_text(
        "".join(
            json.dumps({**row, "session": row["scope"], "text": f"{row['scope']}: {row['text']}"})
            + "\n"
            for row in rows
        )
    )
    options = QualityOptions(
        data=retrieval_set, results=tmp_path / "results", cache=tmp_path / "cache"
    )
    found = {row["contender"]: row for row in quality.run(options)["quality"]}
    assert found["ours, as a conversation"]["recall"] == 1
    assert found["dense leg"]["recall"] <= 1


def test_recall_and_ndcg_are_what_they_are_said_to_be() -> None:
    relevant = frozenset({"a", "b"})
    assert sets.recall(["x", "a", "b"], relevant, 2) == 0.5
    assert sets.ndcg(["a", "b"], relevant, 10) == 1
    assert sets.ndcg(["x", "a"], relevant, 10) == pytest.approx(
        (1 / math.log2(3)) / (1 + 1 / math.log2(3))
    )


def test_model_time_is_taken_off() -> None:
    batch = Batch(walls=[0.5, 0.6, 0.7], models=[0.1, 0.1, 0.1], elapsed=1.8, cpu=0.3)
    summary = batch.summary()
    assert summary["median_ms"] == pytest.approx(500)
    assert summary["model_ms"] == pytest.approx(100)
    assert summary["cpu_ms"] == pytest.approx(100)


def test_a_long_load_with_kills_keeps_every_promise(tmp_path: Path) -> None:
    found = soak.run(
        soak.SoakOptions(
            minutes=0.15, clients=3, kill_every=0.5, crash_every=4, memories=20, dimensions=16
        )
    )
    result = found["soak"]
    assert result["failures"] == []
    assert result["killed"] >= 1
    assert result["crashed"] >= 1
    assert result["connections_left"] == 0
    assert result["calls"] > 20
    report.save(tmp_path, "soak", found)
    assert "promises broken | none" in (tmp_path / "benchmarks.md").read_text()


def test_the_ledger_of_a_long_load_tells_what_was_lost() -> None:
    ledger = Ledger("ann", texts={"a": "tea", "b": "rum"}, deleted={"c": "gin"}, unsure={"b"})
    assert ledger.wrong({"a": "tea"}) == []
    assert len(ledger.wrong({})) == 1
    assert len(ledger.wrong({"a": "milk", "c": "gin", "d": "ale"})) == 3
