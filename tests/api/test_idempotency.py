"""A request that is sent again under its key: done once, paid once, answered the same."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from memlayer_pg import IdempotencyConflict
from tests.api.operations import memory_of
from tests.api.proxy import Proxy

FACT = {"text": "Ann likes tea", "entities": [{"name": "Ann", "type": "person"}]}
SAID: dict[str, Any] = {"messages": "I am Ann and like tea", "idempotency_key": "k"}
KINDS: dict[str, dict[str, Any]] = {
    "extracted": {"user_id": "ann"},
    "verbatim": {"user_id": "ann", "infer": False},
    "procedural": {"agent_id": "bot", "memory_type": "procedural_memory"},
}
EVERY = pytest.mark.parametrize("given", KINDS.values(), ids=KINDS)
CLIENTS = 8


@EVERY
@pytest.mark.usefixtures("consistent")
def test_when_the_answer_is_lost_the_key_gives_it_and_no_model_is_paid_again(
    live: str, tenant: str, endpoint: Any, counts: Any, given: dict[str, Any]
) -> None:
    endpoint.facts(FACT)
    said = SAID | given
    with Proxy(live) as proxy, memory_of(proxy.dsn, tenant, endpoint.base_url) as memory:
        lost: list[int] = []

        def drop(number: int) -> None:
            if "add" in proxy.functions and not lost:
                lost.append(number)
                raise OSError("the wire was cut")

        proxy.after = drop
        first = memory.add(**said)  # asked again by itself
        assert lost
        stored = counts()
        assert (stored[0], stored[4]) == (1, 1)
        paid = len(endpoint.requests)
        assert [item["event"] for item in first["results"]] == ["ADD"]
        found = memory.get(first["results"][0]["id"])
        assert found is not None
        assert found["memory"] == first["results"][0]["memory"]
        assert memory.add(**said) == first
        with pytest.raises(IdempotencyConflict) as caught:
            memory.add(**said | {"messages": "I am Bob"})
        assert caught.value.sqlstate == "ML008"
        assert len(endpoint.requests) == paid
    assert counts() == stored


@EVERY
@pytest.mark.usefixtures("consistent")
def test_of_many_clients_with_one_key_one_adds_and_all_are_told_of_it(
    live: str, tenant: str, endpoint: Any, counts: Any, given: dict[str, Any]
) -> None:
    endpoint.facts(FACT)
    start = threading.Barrier(CLIENTS)

    def ask(_: int) -> dict[str, Any]:
        with memory_of(live, tenant, endpoint.base_url) as memory:
            start.wait()
            return memory.add(**SAID | given)

    with ThreadPoolExecutor(CLIENTS) as threads:
        results = list(threads.map(ask, range(CLIENTS)))
    assert all(result == results[0] for result in results)
    assert [item["event"] for item in results[0]["results"]] == ["ADD"]
    assert (counts()[0], counts()[1], counts()[4]) == (1, 1, 1)


TALK = [
    {"role": "user", "content": "I am Ann and like tea", "name": "Ann"},
    {"role": "assistant", "content": "Noted"},
]


@pytest.mark.usefixtures("consistent")
@pytest.mark.parametrize("facts", [[FACT], [{"text": said["content"]} for said in TALK]])
@pytest.mark.parametrize("first", ["with", "without"])
def test_the_answer_is_the_same_when_a_language_model_came_or_went_meanwhile(
    make: Any, endpoint: Any, counts: Any, first: str, facts: list[dict[str, Any]]
) -> None:
    endpoint.facts(*facts)
    memories = {"with": make(), "without": make(llm=None)}
    asked = {"messages": TALK, "user_id": "ann", "idempotency_key": "k"}
    [then] = [way for way in memories if way != first]
    prepared = memories[then].prepare_add(**asked)  # before the other one wrote
    answer = memories[first].add(**asked)
    assert ("role" in answer["results"][0]) == (first == "without")
    paid, stored = len(endpoint.requests), counts()
    assert memories[then].add(**asked) == answer
    late = memories[then].apply(prepared)
    if facts == [FACT]:  # else nothing tells the two ways apart any more
        assert late == answer
    assert [item["id"] for item in late["results"]] == [item["id"] for item in answer["results"]]
    assert (len(endpoint.requests), counts()) == (paid, stored)


@pytest.mark.usefixtures("consistent")
def test_a_key_belongs_to_its_tenant_and_to_one_scope(make: Any, tenant: str, counts: Any) -> None:
    memory, other = make(llm=None), make(llm=None, tenant=f"{tenant}-other")
    [one] = memory.add(**SAID, user_id="ann")["results"]
    [two] = other.add(**SAID, user_id="ann")["results"]
    assert one["id"] != two["id"]
    for scope in ({"user_id": "bob"}, {"user_id": "ann", "run_id": "r"}, {"agent_id": "ann"}):
        with pytest.raises(IdempotencyConflict):
            memory.add(**SAID, **scope)
    assert counts()[0] == 1


def test_a_key_whose_add_failed_is_free(make: Any, endpoint: Any, counts: Any) -> None:
    memory = make()
    endpoint.reply("I would rather not.")
    with pytest.raises(Exception, match="LLM extraction failed"):
        memory.add(**SAID, user_id="ann")
    endpoint.facts(FACT)
    [stored] = memory.add(**SAID, user_id="ann")["results"]
    assert stored["memory"] == "Ann likes tea"
    assert counts()[0] == 1


def test_without_a_key_nothing_is_asked_beforehand(live: str, tenant: str, endpoint: Any) -> None:
    with Proxy(live) as proxy, memory_of(proxy.dsn, tenant, endpoint.base_url) as memory:
        memory.add("hello", user_id="ann", infer=False)
        proxy.forget()
        memory.add("hello again", user_id="ann", infer=False)
        assert proxy.functions == ["messages", "add"]
        proxy.forget()
        memory.add(**SAID, **KINDS["verbatim"])
        assert proxy.functions == ["recall_context", "messages", "add"]
