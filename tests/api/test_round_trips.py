"""What goes over the wire to Postgres: one statement for nearly everything, and no BEGIN."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.proxy import Proxy
from tests.api.test_reading import ANN, say


@pytest.fixture
def wire(live: str) -> Iterator[Proxy]:
    """A proxy in front of the shared database."""
    with Proxy(live) as proxy:
        yield proxy


@pytest.fixture
def warm(make: Any, wire: Proxy) -> Any:
    """A memory behind the proxy that has a connection and has shaken hands."""
    memory = make(dsn=wire.dsn)
    memory.get_all(filters=ANN)
    wire.forget()
    return memory


def test_the_first_call_shakes_hands_once(make: Any, wire: Proxy) -> None:
    memory = make(dsn=wire.dsn)
    memory.get_all(filters=ANN)
    memory.get_all(filters=ANN)
    assert wire.functions == ["handshake", "get_all", "get_all"]
    assert wire.connections == 1


def test_every_operation_takes_as_many_round_trips_as_it_must(
    warm: Any, wire: Proxy, endpoint: Any
) -> None:
    endpoint.facts({"text": "Ann likes tea", "entities": [{"name": "Ann", "type": "person"}]})
    [stored] = warm.add("I am Ann, I like tea", user_id="ann")["results"]
    assert wire.functions == ["recall_context", "add"]
    assert len(endpoint.requests) == 3
    id_ = stored["id"]
    calls: list[tuple[Any, list[str], int]] = [
        (lambda: say(warm, "Hello Bob"), ["messages", "add"], 1),
        (lambda: warm.search("what does Ann like?", filters=ANN), ["search"], 1),
        (lambda: warm.update(id_, "Ann likes coffee"), ["get", "update"], 1),
        (lambda: warm.update(id_, "Ann likes coffee", {"k": 1}), ["get", "update"], 0),
        (lambda: warm.update(id_, metadata={"k": 1}), ["update"], 0),
        (lambda: warm.get(id_), ["get"], 0),
        (lambda: warm.get_all(filters=ANN, with_total=True), ["get_all"], 0),
        (lambda: warm.history(id_), ["history"], 0),
        (lambda: warm.messages(user_id="ann"), ["messages"], 0),
        (lambda: warm.scopes(), ["scopes"], 0),
        (lambda: warm.delete(id_), ["delete"], 0),
        (lambda: warm.delete_all(user_id="ann"), ["delete_all"], 0),
        (lambda: warm.reset(), ["reset"], 0),
    ]
    for call, functions, requests in calls:
        wire.forget()
        endpoint.requests.clear()
        call()
        assert wire.functions == functions
        assert wire.round_trips == len(functions)
        assert len(endpoint.requests) == requests
        assert wire.others == []


def test_statements_are_prepared_unless_that_is_turned_off(make: Any, wire: Proxy) -> None:
    never = make(dsn=wire.dsn, prepare_threshold=None)
    for _ in range(8):
        never.get_all(filters=ANN)
    assert wire.functions.count("get_all") == 8
    wire.forget()
    soon = make(dsn=wire.dsn, prepare_threshold=2)
    for _ in range(8):
        soon.get_all(filters=ANN)
    assert wire.functions.count("get_all") < 8
