from __future__ import annotations

from typing import Any

import pytest

from memlayer_pg import errors
from tests.sql.calls import Connection, add, call, consistent, count, one

UNKNOWN = "00000000-0000-4000-8000-000000000000"


def store(conn: Connection, text: str, *names: str, **args: Any) -> str:
    """One fact with its vector, and the names in it; its id."""
    given: dict[str, Any] = {
        "facts": [{"text": text, "entities": [*range(1, len(names) + 1)]}],
        "entities": [{"name": name, "type": "person"} for name in names],
        "embeddings": [[1.0, 0.0]],
        "model": "toy",
        **args,
    }
    [memory] = add(conn, **given)
    return memory


def named(conn: Connection, memory: str) -> list[str]:
    rows = conn.execute(
        "select e.name from memlayer.mention n join memlayer.entity e on e.id = n.entity_id"
        " where n.memory_id = %s order by 1",
        [memory],
    )
    return [name for [name] in rows]


def row(conn: Connection, memory: str) -> dict[str, Any]:
    """The memory but for what counts and derives."""
    [found] = call(conn, "get", id=memory)
    vector = one(conn, "select embedding::text from memlayer.memory where id = %s", memory)
    return {**found, "version": None, "updated_at": None, "embedding": vector}


def test_a_memory_is_restored_to_a_version_in_all_its_parts(conn: Connection) -> None:
    memory = store(
        conn, "Ann met Bob", "Ann", "Bob", metadata={"a": 1}, expires_on="2999-01-01",
        observed_at="2020-05-01T10:00:00Z",
    )  # fmt: skip
    before = row(conn, memory)
    names = [{"name": "Ann"}, {"name": "Eve"}]
    call(conn, "update", id=memory, text="Ann met Eve", embedding=[0.0, 1.0], model="toy",
         entities=names, metadata={"b": 2}, clear_expiration=True)  # fmt: skip
    assert named(conn, memory) == ["Ann", "Eve"]
    [restored] = call(conn, "restore", id=memory, version=1, actor="desk")
    assert (restored["event"], restored["version"], restored["pending"]) == ("UPDATE", 3, False)
    assert row(conn, memory) == before
    assert named(conn, memory) == ["Ann", "Bob"]
    assert count(conn, "entity", "name = 'Eve'") == 0
    change = conn.execute(
        "select operation, actor, added, updated, deleted, user_id from memlayer.change"
        " order by recorded_at desc limit 1"
    ).fetchone()
    assert change == ("restore", "desk", 0, 1, 0, "ann")
    assert call(conn, "verify") == []


def test_a_restore_can_itself_be_taken_back(conn: Connection) -> None:
    memory = store(conn, "Ann met Bob", "Ann", "Bob")
    call(conn, "update", id=memory, text="Ann met Eve", embedding=[0.0, 1.0], model="toy",
         entities=[{"name": "Eve"}])  # fmt: skip
    after = row(conn, memory)
    call(conn, "restore", id=memory, version=1)
    call(conn, "restore", id=memory, version=2)
    assert row(conn, memory) == after
    assert named(conn, memory) == ["Eve"]
    assert call(conn, "verify") == []


def test_names_that_differ_under_the_same_words_are_restored_both_ways(conn: Connection) -> None:
    memory = store(conn, "Ann met Bob", "Ann")
    vector = {"embedding": [1.0, 0.0], "model": "toy"}
    call(conn, "update", id=memory, text="Eve", **vector, entities=[{"name": "Eve"}])
    call(conn, "update", id=memory, text="Ann met Bob", **vector, entities=[{"name": "Bob"}],
         metadata={"k": 1})  # fmt: skip
    call(conn, "restore", id=memory, version=1)
    assert named(conn, memory) == ["Ann"]
    call(conn, "restore", id=memory, version=3)
    assert named(conn, memory) == ["Bob"]


def test_a_memory_is_restored_to_a_moment(conn: Connection) -> None:
    memory = store(conn, "one")
    moments = [one(conn, "select clock_timestamp()")]
    for text in ("two", "three"):
        call(conn, "update", id=memory, text=text, embedding=[0.0, 1.0], model="toy")
        moments.append(one(conn, "select clock_timestamp()"))
    call(conn, "delete", id=memory)
    for moment, text in zip(moments, ("one", "two", "three"), strict=True):
        [restored] = call(conn, "restore", id=memory, as_of=moment)
        assert restored["text"] == text
    with pytest.raises(errors.MemoryNotFound, match="did not stand"), conn.transaction():
        call(conn, "restore", id=memory, as_of="2000-01-01T00:00:00Z")
    assert call(conn, "verify") == []


def test_a_deleted_memory_stands_again_under_its_own_id(conn: Connection) -> None:
    other = store(conn, "Ann is here", "Ann")
    memory = store(conn, "Ann met Bob", "Ann", "Bob", metadata={"a": 1})
    before = row(conn, memory)
    call(conn, "delete", id=memory)
    [restored] = call(conn, "restore", id=memory)
    assert (restored["event"], restored["version"]) == ("ADD", 3)
    assert row(conn, memory) == before
    assert restored["updated_at"] > before["created_at"]
    assert (named(conn, memory), named(conn, other)) == (["Ann", "Bob"], ["Ann"])
    assert [h["event"] for h in call(conn, "history", id=memory)] == ["ADD", "DELETE", "ADD"]
    [found] = call(conn, "search", query="where is Bob", user_id="ann")
    assert (str(found["id"]), found["score_details"]["entity_boost"] > 0) == (memory, True)
    call(conn, "update", id=memory, text="Ann met Zoe", embedding=[0.0, 1.0], model="toy")
    assert call(conn, "verify") == []


def test_a_memory_deleted_in_psql_is_restored_with_its_names(conn: Connection) -> None:
    memory = store(conn, "Ann met Bob", "Ann", "Bob")
    before = row(conn, memory)
    conn.execute("delete from memlayer.memory where id = %s", [memory])
    assert count(conn, "entity") == 0
    call(conn, "restore", id=memory)
    assert (row(conn, memory), named(conn, memory)) == (before, ["Ann", "Bob"])
    assert call(conn, "verify") == []


def test_references_come_back_when_both_ends_stand_again(conn: Connection) -> None:
    old = store(conn, "lives in Rome")
    [new] = add(conn, facts=[{"text": "lives in Oslo", "links": [{"id": old, "kind": "updates"}]}])
    call(conn, "delete_all", user_id="ann")
    call(conn, "restore", id=new)
    assert count(conn, "link") == 0
    call(conn, "restore", id=old)
    links = conn.execute("select memory_id::text, linked_id::text, kind from memlayer.link")
    assert links.fetchall() == [(new, old, "updates")]


@pytest.mark.parametrize("deleted", ["old new", "new old"])
@pytest.mark.parametrize("restored", ["old new", "new old"])
def test_references_come_back_in_whatever_order_the_ends_went_and_came(
    conn: Connection, deleted: str, restored: str
) -> None:
    ids = {"old": store(conn, "lives in Rome")}
    link = {"id": ids["old"], "kind": "updates"}
    [ids["new"]] = add(conn, facts=[{"text": "lives in Oslo", "links": [link]}])
    for _ in range(2):
        for end in deleted.split():
            call(conn, "delete", id=ids[end])
        for end in restored.split():
            call(conn, "restore", id=ids[end])
        links = conn.execute("select memory_id::text, linked_id::text, kind from memlayer.link")
        assert links.fetchall() == [(ids["new"], ids["old"], "updates")]


def test_a_reference_that_was_deleted_by_itself_stays_so(conn: Connection) -> None:
    old = store(conn, "lives in Rome")
    [new] = add(conn, facts=[{"text": "lives in Oslo", "links": [{"id": old, "kind": "updates"}]}])
    call(conn, "delete", id=old)
    call(conn, "restore", id=old)
    assert count(conn, "link") == 1
    conn.execute("delete from memlayer.link")
    for memory in (old, new):
        call(conn, "delete", id=memory)
        call(conn, "restore", id=memory)
    assert count(conn, "link") == 0


def test_another_text_keeps_the_references_of_the_memory(conn: Connection) -> None:
    old = store(conn, "lives in Rome")
    [new] = add(conn, facts=[{"text": "lives in Olso", "links": [{"id": old, "kind": "updates"}]}])
    call(conn, "update", id=new, text="lives in Oslo")
    call(conn, "update", id=old, text="lived in Rome")
    call(conn, "restore", id=old, version=1)
    listed = {row["text"]: row["superseded_by"] for row in call(conn, "get_all", user_id="ann")}
    assert listed["lives in Oslo"] is None
    assert str(listed["lives in Rome"]) == new


def test_a_vector_of_a_retired_model_is_not_restored(conn: Connection) -> None:
    memory = store(conn, "one")
    call(conn, "update", id=memory, text="two", embedding=[0.0, 1.0], model="toy")
    conn.execute("update memlayer.model set state = 'retired'")
    conn.execute("insert into memlayer.model (name, dimensions) values ('new', 3)")
    call(conn, "update", id=memory, text="three", embedding=[1.0, 0.0, 0.0], model="new")
    [restored] = call(conn, "restore", id=memory, version=1)
    assert (restored["text"], restored["pending"], restored["version"]) == ("one", True, 4)
    call(conn, "update", id=memory, text="one", embedding=[0.0, 1.0, 0.0], model="new")
    call(conn, "update", id=memory, metadata={"k": 1})
    # Of the same words there is a vector of the model in use.
    [restored] = call(conn, "restore", id=memory, version=1)
    assert (restored["pending"], restored["metadata"]) == (False, {})
    assert call(conn, "verify") == []


def test_a_memory_that_waited_for_its_vector_keeps_the_one_it_got(conn: Connection) -> None:
    [memory] = add(conn, "one")
    call(conn, "update", id=memory, text="one", embedding=[1.0, 0.0], model="toy")
    call(conn, "update", id=memory, text="two", embedding=[0.0, 1.0], model="toy")
    [restored] = call(conn, "restore", id=memory, version=1)
    assert (restored["pending"], row(conn, memory)["embedding"]) == (False, "[1,0]")


def test_a_vector_that_stayed_with_another_text_is_restored(conn: Connection) -> None:
    memory = store(conn, "blue")
    call(conn, "update", id=memory, text="red", embedding=[1.0, 0.0], model="toy")
    call(conn, "update", id=memory, text="green", embedding=[0.0, 1.0], model="toy")
    call(conn, "restore", id=memory, version=1)
    assert (row(conn, memory)["text"], row(conn, memory)["embedding"]) == ("blue", "[1,0]")


def test_a_restored_memory_gives_way_to_one_that_says_the_same(conn: Connection) -> None:
    [first] = add(conn, "tea")
    call(conn, "delete", id=first)
    [second] = add(conn, "tea")
    assert second != first
    call(conn, "restore", id=first)
    assert add(conn, "tea") == [second]
    call(conn, "update", id=second, text="milk")
    call(conn, "restore", id=second, version=1)
    assert count(conn, "memory", "text = 'tea'") == 2
    assert consistent(conn)


def test_what_is_so_already_writes_nothing(conn: Connection) -> None:
    memory = store(conn, "one")
    [restored] = call(conn, "restore", id=memory, version=1)
    assert (restored["event"], restored["version"]) == (None, 1)
    assert (count(conn, "change"), count(conn, "history")) == (1, 1)


def test_the_words_of_a_message_that_is_gone_stay_gone(conn: Connection) -> None:
    question, answer = add(
        conn, facts=[{"text": "a secret", "role": "user"},
                     {"text": "yes", "role": "assistant", "context": "a secret"}],
    )  # fmt: skip
    call(conn, "delete", id=question)
    call(conn, "restore", id=answer, version=1)
    call(conn, "delete", id=answer)
    call(conn, "restore", id=answer, version=1)
    assert call(conn, "keyword_search", query="secret", user_id="ann") == []


@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        ({"id": UNKNOWN, "version": 1}, errors.MemoryNotFound, "never was"),
        ({"version": 3}, errors.MemoryNotFound, "has no version 3"),
        ({"version": 0}, errors.MemoryNotFound, "has no version 0"),
        ({}, errors.FilterError, "to a version or to a moment"),
        ({"version": 1, "as_of": "2999-01-01"}, errors.FilterError, "to a version or to a moment"),
        ({"version": 1, "expected_version": 1}, errors.VersionConflict, "at version 2, not 1"),
    ],
)
def test_what_cannot_be_restored_is_refused(
    conn: Connection, args: dict[str, Any], error: type[Exception], message: str
) -> None:
    memory = store(conn, "one")
    call(conn, "update", id=memory, metadata={"k": 1})
    with pytest.raises(error, match=message), conn.transaction():
        call(conn, "restore", **{"id": memory, **args})
    assert count(conn, "history") == 2


def test_a_version_that_is_a_deletion_is_none(conn: Connection) -> None:
    memory = store(conn, "one")
    call(conn, "delete", id=memory)
    with pytest.raises(errors.VersionConflict), conn.transaction():
        call(conn, "restore", id=memory, expected_version=1)
    call(conn, "restore", id=memory, expected_version=2)
    with pytest.raises(errors.MemoryNotFound, match="deleted with version 2"), conn.transaction():
        call(conn, "restore", id=memory, version=2)


def test_a_version_that_history_no_longer_has_is_an_error_of_its_own(conn: Connection) -> None:
    memory = store(conn, "one")
    for text in ("two", "three"):
        call(conn, "update", id=memory, text=text, embedding=[0.0, 1.0], model="toy")
    # What retention leaves: the state of the oldest version that is kept.
    conn.execute("delete from memlayer.history where version = 1")
    conn.execute(
        "update memlayer.history set event = 'BASELINE', old_state = null, old_embedding = null,"
        " old_embedding_model = null where version = 2"
    )
    for wanted in ({"version": 1}, {"as_of": "2000-01-01T00:00:00Z"}):
        with pytest.raises(errors.HistoryTooShort), conn.transaction():
            call(conn, "restore", id=memory, **wanted)
    [restored] = call(conn, "restore", id=memory, version=2)
    assert (restored["text"], restored["version"]) == ("two", 4)
    assert call(conn, "verify") == []


def test_a_stale_version_deletes_nothing(conn: Connection) -> None:
    memory = store(conn, "one")
    call(conn, "update", id=memory, metadata={"k": 1})
    with pytest.raises(errors.VersionConflict, match="at version 2, not 1"), conn.transaction():
        call(conn, "delete", id=memory, expected_version=1)
    assert count(conn, "memory") == 1
    call(conn, "delete", id=memory, expected_version=2)
    assert count(conn, "memory") == 0


def test_what_was_deleted_before_history_kept_names_comes_back_without(conn: Connection) -> None:
    memory = store(conn, "Ann met Bob", "Ann", "Bob")
    before = row(conn, memory)
    call(conn, "delete", id=memory)
    conn.execute("update memlayer.history set old_mentions = null")
    call(conn, "restore", id=memory)
    assert (row(conn, memory), named(conn, memory)) == (before, [])
    assert call(conn, "verify") == []
