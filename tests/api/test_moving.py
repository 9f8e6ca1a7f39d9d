"""`import_mem0` and histories that memories bring along, sync and async alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memlayer_pg.errors import InputError
from tests.conftest import create, drop
from tests.endpoint import Endpoint
from tests.mem0_store import Mem0Store

ID = "0b0e0d0c-0000-4000-8000-00000000000{}"
ANN: Any = {"user_id": "ann"}
TEXTS = ["Ann drinks tea", "Ann likes jazz", "Ann works at Ponte Studio"]


@pytest.fixture
def other(server: str) -> Any:
    """The dsn of a database of mem0's own."""
    dsn = create(server)
    yield dsn
    drop(server, dsn)


def store(dsn: str, folder: Path, endpoint: Endpoint, dimensions: int = 64) -> Mem0Store:
    """A store of mem0 with vectors of the scripted model, if of its size."""
    made = Mem0Store(dsn, folder / "history.db", dimensions)
    for number, text in enumerate(TEXTS):
        vector = endpoint.embed(text)[:dimensions]
        made.memory(ID.format(number), text, vector, **ANN)
    made.entity("Ponte Studio", [ID.format(2)], endpoint.embed("Ponte Studio")[:dimensions], **ANN)
    return made


def test_vectors_of_our_own_model_are_recognised_and_kept(
    make: Any, other: str, tmp_path: Path, endpoint: Endpoint, sql: Any
) -> None:
    made = store(other, tmp_path, endpoint)
    memory = make()
    told: list[tuple[int, int | None]] = []
    report = memory.import_mem0(
        other, history_db=made.file, on_progress=lambda *n: told.append(n), actor="mover"
    )
    assert report["vectors"]["kept"] is True
    assert (report["added"], report["pending"]) == (3, 0)
    assert report["verification"]["search"] == {"questions": 3, "agreement": 1.0}
    assert told[0] == (3, 6)
    assert endpoint.embedded == [TEXTS]
    found = memory.search("Ann drinks tea", filters=ANN, top_k=1)["results"]
    assert [item["memory"] for item in found] == ["Ann drinks tea"]
    assert [event["actor"] for event in memory.history(ID.format(1))] == ["mover"]
    assert sql("select * from memlayer.verify(%(tenant)s)") == []


def test_vectors_of_another_size_are_made_anew_where_that_is_asked_for(
    make: Any, other: str, tmp_path: Path, endpoint: Endpoint, sql: Any
) -> None:
    store(other, tmp_path, endpoint, dimensions=8)
    memory = make()
    report = memory.import_mem0(other, embed=True)
    assert report["vectors"]["kept"] is False
    assert report["vectors"]["why"] == "8 dimensions, the embedder makes 64"
    assert (report["added"], report["pending"]) == (3, 0)
    vectors = "select distinct vector_dims(embedding) from memlayer.{} where tenant = %(tenant)s"
    assert sql(vectors.format("memory")) == sql(vectors.format("entity")) == [(64,)]
    assert sql("select * from memlayer.verify(%(tenant)s)") == []


def test_what_is_to_be_moved_has_to_be_said(memory: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="either vector_dsn or dump"):
        memory.import_mem0()
    with pytest.raises(InputError, match="either vector_dsn or dump"):
        memory.import_mem0("dbname=x", dump=[])
    with pytest.raises(InputError, match="without history"):
        memory.import_mem0(dump=[], history_db=tmp_path / "history.db")


@pytest.mark.parametrize(
    ("events", "wrong"),
    [
        ([{"event": "UPDATE", "memory": "a", "at": "2025-01-01"}], "'UPDATE' does not follow"),
        ([{"event": "ADD", "memory": "a"}], "does not say when"),
        (
            [{"event": "ADD", "at": "2025-01-01"}, {"event": "UPDATE", "at": "2025-01-01"}],
            "has no text",
        ),
        (
            [
                {"event": "ADD", "memory": "a", "at": "2025-01-01"},
                {"event": "ADD", "memory": "a", "at": "2025-01-01"},
            ],
            "'ADD' does not follow",
        ),
        ({"event": "ADD"}, "history must be a list"),
    ],
)
def test_a_history_that_does_not_hold_together_is_refused(
    memory: Any, events: Any, wrong: str, counts: Any
) -> None:
    with pytest.raises(InputError, match=wrong):
        memory.import_memories([{"memory": "a", **ANN, "history": events}])
    assert counts() == (0, 0, 0, 0, 0)


def test_facts_that_stand_twice_are_both_kept_with_their_histories(memory: Any, sql: Any) -> None:
    past = [{"event": "ADD", "memory": "a", "at": "2025-01-01"}]
    rows = [{"id": ID.format(n), "memory": "a", **ANN, "history": past} for n in range(2)]
    assert memory.import_memories(rows, dry_run=True)["added"] == 2
    assert memory.import_memories(rows)["added"] == 2
    assert memory.import_memories(rows)["known"] == 2
    assert sql("select count(dedup_key) from memlayer.memory where tenant = %(tenant)s") == [(1,)]


def test_messages_are_put_where_nobody_has_spoken_yet(memory: Any, sql: Any) -> None:
    memory.add("here", **ANN, infer=False)
    given = ", ".join(
        f'{{"user_id": "{user}", "role": "user", "content": "{n}"}}'
        for user in ("ann", "bob")
        for n in range(12)
    )
    answer = f"select stored, left_out from memlayer.import_messages(%(tenant)s, '[{given}]')"
    assert sql(answer) == [(10, 14)]
    assert sql(answer) == [(0, 24)]
    assert [m["content"] for m in memory.messages(user_id="ann")] == ["here"]
    assert [m["content"] for m in memory.messages(user_id="bob")] == [str(n) for n in range(2, 12)]
    problems = "select problem from memlayer.verify(%(tenant)s)"
    assert sql(problems) == []
