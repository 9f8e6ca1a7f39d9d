"""restore, undo, changes, and expected_version."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from memlayer_pg import HistoryTooShort, InputError, MemoryNotFound, VersionConflict
from tests.api.test_reading import ANN, found, say

pytestmark = pytest.mark.usefixtures("consistent")

UNKNOWN = "00000000-0000-4000-8000-000000000000"


def newest(memory: Any) -> dict[str, Any]:
    [change] = memory.changes(top_k=1)["results"]
    return dict(change)


def test_a_version_is_restored_without_asking_a_model(memory: Any, endpoint: Any) -> None:
    [id_] = say(memory, "tea with Bob", metadata={"k": 1})
    before = memory.get(id_)
    memory.update(id_, "coffee with Eve", metadata={"k": 2}, expiration_date="2999-01-01")
    asked = len(endpoint.requests)
    restored = memory.restore(id_, version=1)
    assert len(endpoint.requests) == asked
    changing = {"updated_at": restored["updated_at"], "version": 3}
    assert restored == {
        **{key: value for key, value in before.items() if key != "score"},
        **changing, "event": "UPDATE", "pending": False,
    }  # fmt: skip
    assert memory.get(id_) == before | changing
    assert found(memory.search("tea", filters=ANN)) == ["tea with Bob"]
    assert [event["event"] for event in memory.history(id_)] == ["ADD", "UPDATE", "UPDATE"]


def test_a_moment_is_a_time_of_any_kind(memory: Any) -> None:
    [id_] = say(memory, "tea")
    time.sleep(0.01)
    then = datetime.now(UTC)
    time.sleep(0.01)
    memory.update(id_, "coffee")
    for moment in (then, then.isoformat(), then.timestamp()):
        assert memory.restore(id_, as_of=moment)["memory"] == "tea"
        memory.update(id_, "coffee")
    with pytest.raises(MemoryNotFound):
        memory.restore(id_, as_of="2000-01-01")


def test_a_deleted_memory_is_found_again_as_before(memory: Any) -> None:
    [id_] = say(memory, "tea with Bob")
    [before] = memory.search("Where is Bob?", filters=ANN, explain=True)["results"]
    memory.delete(id_)
    assert memory.restore(id_)["event"] == "ADD"
    [after] = memory.search("Where is Bob?", filters=ANN, explain=True)["results"]
    assert after["score_details"] == before["score_details"]
    assert after["version"] == 3


def test_a_bad_extraction_is_undone_and_the_messages_stay(memory: Any, endpoint: Any) -> None:
    say(memory, "kept")
    endpoint.facts("Ann hates tea", "Ann is a robot")
    memory.add("I love tea", user_id="ann", actor="importer")
    change = newest(memory)
    assert (change["operation"], change["added"], change["actor"]) == ("add", 2, "importer")
    answer = memory.undo(change["id"], actor="desk")
    assert [(item["outcome"], item["event"]) for item in answer["results"]] == [
        ("undone", "DELETE"),
        ("undone", "DELETE"),
    ]
    assert found(memory.get_all(filters=ANN)) == ["kept"]
    assert [said["content"] for said in memory.messages("ann")] == ["kept", "I love tea"]
    undone = newest(memory)
    assert (undone["operation"], undone["undoes"], undone["deleted"]) == ("undo", change["id"], 2)
    memory.undo(undone["id"])
    assert len(memory.get_all(filters=ANN)["results"]) == 3


def test_a_delete_all_is_undone(memory: Any) -> None:
    say(memory, *(f"tea {n}" for n in range(12)))
    before = memory.search("tea", filters=ANN)
    memory.delete_all("ann", actor="desk")
    memory.undo(newest(memory)["id"])
    after = memory.search("tea", filters=ANN)
    for answer in (before, after):
        for item in answer["results"]:
            item["updated_at"] = item["version"] = None
    assert after == before


def test_what_others_changed_since_is_left(memory: Any) -> None:
    first, second = say(memory, "tea", "coffee")
    change = newest(memory)["id"]
    memory.update(first, "green tea")
    outcomes = {item["id"]: item["outcome"] for item in memory.undo(change)["results"]}
    assert outcomes == {first: "changed since", second: "undone"}
    assert found(memory.get_all(filters=ANN)) == ["green tea"]
    memory.undo(change, force=True)
    assert found(memory.get_all(filters=ANN)) == []


@pytest.mark.parametrize("kind", ["sync"])
def test_an_undo_in_a_transaction_that_fails_undid_nothing(memory: Any, live: str) -> None:
    say(memory, "tea")
    change = newest(memory)["id"]
    with psycopg.connect(live) as conn:
        memory.undo(change, connection=conn)
        assert memory.get_all(filters=ANN, connection=conn)["results"] == []
        conn.rollback()
    assert found(memory.get_all(filters=ANN)) == ["tea"]


def test_changes_come_in_pages_and_by_scope(memory: Any) -> None:
    for n in range(5):
        say(memory, str(n), user_id="ann" if n % 2 else "bob")
    listed = memory.changes()["results"]
    first = memory.changes(top_k=3)
    second = memory.changes(top_k=3, after=first["next"])
    assert [*first["results"], *second["results"]] == listed
    assert "next" not in second
    assert len(memory.changes("ann")["results"]) == 2
    assert memory.changes("eve") == {"results": []}
    assert memory.changes(top_k=0) == {"results": []}
    assert list(listed[0]) == [
        "id", "operation", "user_id", "added", "updated", "deleted", "skipped", "entities",
        "messages", "embedding_tokens", "database_role", "application_name", "created_at",
    ]  # fmt: skip


def test_a_stale_version_is_refused_by_every_writer(memory: Any, endpoint: Any) -> None:
    [id_] = say(memory, "tea")
    memory.update(id_, metadata={"k": 1}, expected_version=1, actor="desk")
    assert newest(memory)["actor"] == "desk"
    asked = len(endpoint.requests)
    writes: list[Callable[[], Any]] = [
        lambda: memory.update(id_, "coffee", expected_version=1),
        lambda: memory.update(id_, metadata={"k": 2}, expected_version=1),
        lambda: memory.prepare_update(id_, "coffee", expected_version=1),
        lambda: memory.delete(id_, expected_version=1),
        lambda: memory.restore(id_, version=1, expected_version=1),
    ]
    for write in writes:
        with pytest.raises(VersionConflict, match="at version 2, not 1"):
            write()
    assert len(endpoint.requests) == asked
    item = memory.get(id_)
    assert (item["memory"], item["metadata"], item["version"]) == ("tea", {"k": 1}, 2)
    memory.update(id_, "coffee", expected_version=2)
    memory.delete(id_, expected_version=3, actor="desk")
    assert newest(memory)["actor"] == "desk"


def test_an_update_of_one_version_does_not_repeat(memory: Any, endpoint: Any, sql: Any) -> None:
    [id_] = say(memory, "tea")

    def meanwhile(request: Any) -> None:
        endpoint.embeddings = None
        sql("update memlayer.memory set metadata = '{\"k\": 1}' where tenant = %(tenant)s")

    endpoint.embeddings = meanwhile
    with pytest.raises(VersionConflict):
        memory.update(id_, "coffee", expected_version=1)
    assert memory.get(id_)["memory"] == "tea"


def test_what_cannot_be_restored_or_undone_is_an_error_that_says_why(memory: Any, sql: Any) -> None:
    [id_] = say(memory, "tea")
    wrong: list[tuple[Callable[[], Any], type[Exception]]] = [
        (lambda: memory.restore(id_), ValueError),
        (lambda: memory.restore(id_, version=1, as_of="2020-01-01"), InputError),
        (lambda: memory.restore(id_, version=0), InputError),
        (lambda: memory.restore(id_, version=True), InputError),
        (lambda: memory.restore(id_, as_of="yesterday"), InputError),
        (lambda: memory.restore(id_, version=2), MemoryNotFound),
        (lambda: memory.restore("nonsense", version=1), MemoryNotFound),
        (lambda: memory.restore(UNKNOWN, version=1), MemoryNotFound),
        (lambda: memory.restore(id_, version=1, expected_version="1"), InputError),
        (lambda: memory.undo(UNKNOWN), MemoryNotFound),
        (lambda: memory.undo("nonsense"), MemoryNotFound),
        (lambda: memory.delete(id_, actor=1), InputError),
    ]
    for call, error in wrong:
        with pytest.raises(error):
            call()
    memory.reset(actor="desk")
    change = newest(memory)
    assert (change["operation"], change["actor"]) == ("reset", "desk")
    with pytest.raises(HistoryTooShort):
        memory.undo(change["id"])


def test_every_writer_keeps_who_acted(memory: Any, sql: Any) -> None:
    [id_] = say(memory, "tea", actor="add")
    memory.update(id_, metadata={"k": 1}, actor="update")
    sql("update memlayer.memory set text = 'coffee' where tenant = %(tenant)s")
    memory.embed_pending(actor="embed")
    memory.restore(id_, version=1, actor="restore")
    memory.undo(newest(memory)["id"], actor="undo")
    memory.delete(id_, actor="delete")
    memory.delete_all("ann", actor="delete_all")
    memory.import_memories([{"user_id": "ann", "memory": "x"}], embed=True, actor="import")
    assert [change["actor"] for change in reversed(memory.changes()["results"])] == [
        "add", "update", "embed", "restore", "undo", "delete", "delete_all", "import",
    ]  # fmt: skip
    for wrong in (1, " ", "x" * 256):
        with pytest.raises(InputError):
            memory.undo(UNKNOWN, actor=wrong)
