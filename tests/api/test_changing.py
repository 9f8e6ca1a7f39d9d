"""update, delete, delete_all and reset."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from memlayer_pg.errors import ScopeMissing, VersionConflict
from tests.api.test_reading import ANN, found, say

pytestmark = pytest.mark.usefixtures("consistent")


def test_an_update_keeps_what_it_does_not_name(memory: Any) -> None:  # B003
    metadata = {"category": "music", "n": 3, "nested": {"a": [1, 2]}}
    [id_] = say(memory, "I play the cello", metadata=metadata)
    before = memory.get(id_)
    assert memory.update(id_, "I play the viola") == {"message": "Memory updated successfully!"}
    after = memory.get(id_)
    assert (after["memory"], after["metadata"]) == ("I play the viola", metadata)
    assert after["created_at"] == before["created_at"]
    assert after["updated_at"] > before["updated_at"]
    assert after["hash"] != before["hash"]
    assert found(memory.search("viola", filters=ANN)) == ["I play the viola"]
    assert found(memory.keyword_search("cello", filters=ANN)) == []


def test_metadata_is_merged_key_by_key(memory: Any) -> None:
    [id_] = say(memory, "x", metadata={"a": 1, "b": {"c": 1}})
    memory.update(id_, metadata={"b": {"d": 2}, "user_id": "eve"})
    item = memory.get(id_)
    assert (item["metadata"], item["user_id"]) == ({"a": 1, "b": {"d": 2}}, "ann")


def test_the_expiration_is_set_and_taken_away(memory: Any) -> None:
    [id_] = say(memory, "x")
    memory.update(id_, expiration_date="2000-01-01")
    assert memory.get_all(filters=ANN)["results"] == []
    memory.update(id_, metadata={"k": 1})
    assert memory.get(id_)["expiration_date"] == "2000-01-01"
    memory.update(id_, expiration_date=None)
    assert "expiration_date" not in memory.get(id_)


def test_the_same_text_is_not_embedded_again(memory: Any, endpoint: Any) -> None:  # B032
    [id_] = say(memory, "tea")
    asked = len(endpoint.requests)
    memory.update(id_, "tea")
    assert len(memory.history(id_)) == 1
    memory.update(id_, "tea", metadata={"k": 2})
    assert len(endpoint.requests) == asked
    assert memory.get(id_)["metadata"] == {"k": 2}
    assert found(memory.search("tea", filters=ANN)) == ["tea"]


def test_a_new_text_takes_one_request_with_its_names(memory: Any, endpoint: Any) -> None:
    [id_] = say(memory, "tea")
    endpoint.requests.clear()
    memory.update(id_, "coffee with Bob")
    assert endpoint.embedded == [["coffee with Bob", "Bob"]]


def test_an_update_between_reading_and_writing_is_not_lost(
    memory: Any, endpoint: Any, sql: Any
) -> None:
    [id_] = say(memory, "tea")

    def meanwhile(request: Any) -> None:
        endpoint.embeddings = None
        sql("update memlayer.memory set metadata = '{\"k\": 1}' where tenant = %(tenant)s")

    endpoint.embeddings = meanwhile
    asked = len(endpoint.requests)
    memory.update(id_, "coffee")
    item = memory.get(id_)
    assert (item["memory"], item["metadata"]) == ("coffee", {"k": 1})
    assert len(endpoint.requests) == asked + 1


@pytest.mark.parametrize("kind", ["sync"])
def test_many_updates_at_once_all_happen_in_some_order(make: Any) -> None:
    memory = make(max_size=8)
    [id_] = say(memory, "0")
    errors: list[Exception] = []

    def update(n: int) -> None:
        try:
            memory.update(id_, metadata={f"k{n}": n})
        except VersionConflict as error:
            errors.append(error)

    threads = [threading.Thread(target=update, args=(n,)) for n in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert memory.get(id_)["metadata"] == {f"k{n}": n for n in range(1, 9)}
    events = memory.history(id_)
    assert len(events) == 9


def test_every_step_of_a_history_follows_from_the_one_before(memory: Any) -> None:  # B069
    [id_] = say(memory, "0")
    for n in range(1, 21):
        memory.update(id_, str(n))
    events = memory.history(id_)
    assert [event["new_memory"] for event in events] == [str(n) for n in range(21)]
    assert [event["old_memory"] for event in events[1:]] == [str(n) for n in range(20)]
    assert all(event["created_at"] <= event["updated_at"] for event in events)


def test_what_was_deleted_is_found_no_more(memory: Any) -> None:  # B019
    [id_] = say(memory, "green tea with Bob")
    assert memory.delete(id_) == {"message": "Memory deleted successfully!"}
    assert memory.get(id_) is None
    for answer in (
        memory.search("Bob", filters=ANN),
        memory.keyword_search("tea", filters=ANN),
        memory.get_all(filters=ANN),
    ):
        assert answer == {"results": []}
    with pytest.raises(ValueError, match=f"^Memory with id {id_} not found$"):
        memory.delete(id_)
    assert len(memory.history(id_)) == 2


def test_one_call_deletes_a_whole_scope_and_no_other(memory: Any, sql: Any) -> None:  # B001
    for _ in range(25):
        say(memory, *(f"tea {n}" for n in range(10)))
    say(memory, *"abcde", user_id="bob")
    assert memory.delete_all(user_id="ann") == {"message": "Memories deleted successfully!"}
    assert memory.get_all(filters=ANN)["results"] == []
    assert len(memory.get_all(filters={"user_id": "bob"})["results"]) == 5
    deleted = "select count(*) from memlayer.history where tenant = %(tenant)s and event = 'DELETE'"
    assert sql(deleted) == [(250,)]
    assert memory.delete_all(user_id="ann") == {"message": "Memories deleted successfully!"}


def test_a_scoped_delete_takes_only_what_carries_all_of_its_ids(memory: Any) -> None:  # B002
    say(memory, "1", run_id="r1")
    say(memory, "2", run_id="r2")
    say(memory, "3", user_id="bob", run_id="r1")
    memory.delete_all(user_id="ann", run_id="r1")
    assert found(memory.get_all(filters=ANN)) == ["2"]
    assert found(memory.get_all(filters={"user_id": "bob"})) == ["3"]


def test_a_delete_may_be_narrowed_by_a_filter(memory: Any) -> None:
    say(memory, "old", metadata={"year": 2000})
    say(memory, "new", metadata={"year": 2026})
    memory.delete_all(user_id="ann", filters={"year": {"lt": 2020}})
    assert found(memory.get_all(filters=ANN)) == ["new"]
    memory.delete_all(filters={"user_id": "ann", "year": 2026})
    assert found(memory.get_all(filters=ANN)) == []


def test_nothing_is_deleted_for_nobody(memory: Any) -> None:
    say(memory, "tea")
    for given in ({}, {"user_id": None}, {"user_id": ""}, {"user_id": " "}, {"user_id": "*"},
                  {"filters": {"k": 1}}):  # fmt: skip
        with pytest.raises(ValueError, match=r"At least one filter is required|Invalid user_id"):
            memory.delete_all(**given)
    with pytest.raises(ScopeMissing):
        memory.delete_all()
    assert found(memory.get_all(filters=ANN)) == ["tea"]


def test_a_reset_forgets_all_of_a_tenant_and_nothing_of_another(
    make: Any, endpoint: Any, counts: Any
) -> None:  # B030
    memory, other = make(), make(tenant="another-tenant")
    say(memory, "before the reset with Bob")
    say(other, "kept")
    for _ in range(2):
        assert memory.reset() is None
        assert counts()[:4] == (0, 0, 0, 0)
    assert found(other.get_all(filters=ANN)) == ["kept"]
    memory.add("after", user_id="ann")
    assert "before the reset" not in endpoint.prompts[-1]
    other.reset()


@pytest.mark.parametrize("kind", ["sync"], indirect=True)
def test_a_reset_among_adds_takes_all_or_nothing_of_each(
    make: Any, endpoint: Any, counts: Any
) -> None:  # B130
    memory = make(max_size=5)
    endpoint.facts({"text": "Ann likes tea", "entities": [{"name": "Ann", "type": "person"}]})

    def adds(number: int) -> None:
        for step in range(10):
            memory.add(f"{number} {step}", user_id=f"ann-{number}")
            say(memory, f"{number} {step}", user_id=f"bob-{number}")

    with ThreadPoolExecutor(4) as threads:
        doing = [threads.submit(adds, number) for number in range(4)]
        while not all(done.done() for done in doing):
            memory.reset()
        for done in doing:
            done.result()
    memory.reset()
    assert counts()[:4] == (0, 0, 0, 0)
    assert len(memory.add("I like tea", user_id="ann")["results"]) == 1


def test_talking_to_a_memory_is_not_there_as_in_mem0(memory: Any) -> None:
    with pytest.raises(NotImplementedError, match=r"^Chat function not implemented yet\.$"):
        memory.chat("hello")


def test_a_prepared_write_is_applied_without_asking_a_model(memory: Any, endpoint: Any) -> None:
    endpoint.facts("Ann likes tea")
    prepared = memory.prepare_add("I like tea", user_id="ann")
    assert memory.get_all(filters=ANN)["results"] == []
    asked = len(endpoint.requests)
    [stored] = memory.apply(prepared)["results"]
    change = memory.prepare_update(stored["id"], metadata={"k": 1})
    assert memory.apply(change) == {"message": "Memory updated successfully!"}
    assert len(endpoint.requests) == asked
    late = memory.prepare_update(stored["id"], "Ann likes coffee")
    memory.update(stored["id"], "Ann likes juice")
    with pytest.raises(VersionConflict):
        memory.apply(late)
    assert memory.get(stored["id"])["memory"] == "Ann likes juice"
