"""Faults that other memory layers were reported for: a model that is another one, or that fails."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

import pytest
from psycopg.conninfo import make_conninfo

from memlayer_pg import Endpoint as Settings
from memlayer_pg import schema
from memlayer_pg.errors import (
    EmbeddingError,
    EmbeddingMismatch,
    LLMError,
    MemlayerError,
)
from tests.api.harness import Make, model
from tests.api.test_reading import ANN, found, say
from tests.endpoint import Endpoint, refusal
from tests.models.answers import READABLE
from tests.models.test_matrix import SILENCE

pytestmark = pytest.mark.usefixtures("consistent")


@pytest.mark.parametrize(
    ("dimensions", "name", "said"),
    [
        (32, "scripted", r"64 dimensions.*32 dimensions"),
        (64, "another", r"scripted.*another"),
        (32, "another", r"scripted.*another"),
    ],
)
def test_after_another_embedder_every_call_says_so_and_stores_nothing(  # B093
    make: Make, endpoint: Endpoint, counts: Any, dimensions: int, name: str, said: str
) -> None:
    endpoint.facts("Ann likes rum")
    old = make()
    ids = say(old, *(f"tea {n}" for n in range(10)))
    before = counts()
    endpoint.dimensions = dimensions
    new = make(embedder=Settings(model=name, base_url=endpoint.base_url, api_key="k"))
    calls: list[Callable[[], Any]] = [
        lambda: new.add("I like rum", user_id="ann"),
        lambda: new.add("I like rum", user_id="ann", infer=False),
        lambda: new.search("tea", filters=ANN),
        lambda: new.update(ids[0], "coffee"),
        lambda: new.import_memories([{"memory": "coffee", "user_id": "ann"}], embed=True),
    ]
    for call in calls:
        with pytest.raises(EmbeddingMismatch, match=said) as caught:
            call()
        assert caught.value.suggestion
    assert counts() == before
    # What needs no vector goes on, and so does all when the embedder is the old one again.
    new.update(ids[1], metadata={"k": 1})
    assert len(new.get_all(filters=ANN)["results"]) == 10
    assert len(new.keyword_search("tea", filters=ANN)["results"]) == 10
    endpoint.dimensions = 64
    old.update(ids[0], "coffee")
    assert found(old.search("coffee", filters=ANN))[0] == "coffee"


def test_nothing_to_store_is_told_apart_from_each_way_to_fail(  # B116
    make: Make, endpoint: Endpoint, counts: Any
) -> None:
    with Endpoint() as gone:
        pass  # nobody listens there any more
    failing: list[tuple[Any, dict[str, Any]]] = [
        (refusal(401, "wrong key"), {"status": 401}),
        ("I would rather not.", {"reason": "unreadable"}),
        ("", {"reason": "empty"}),
    ]
    memory = make()
    for answer, details in failing:
        endpoint.reply(answer)
        with pytest.raises(LLMError) as caught:
            memory.add("I like tea", user_id="ann")
        assert caught.value.details == details
    down = make(llm=model(gone, max_retries=0))
    with pytest.raises(LLMError, match="no answer from") as caught:
        down.add("I like tea", user_id="ann")
    assert caught.value.details == {}
    assert counts() == (0, 0, 0, 0, 0)
    endpoint.reply('{"facts": []}')
    assert memory.add("I like tea", user_id="ann") == {"results": []}
    assert [said["content"] for said in memory.messages(user_id="ann")] == ["I like tea"]


def test_every_shape_of_an_answer_is_stored_as_its_texts(  # B101, B102, B104, B113, B114, B115
    make: Make, endpoint: Endpoint, counts: Any
) -> None:
    memory = make(llm=model(endpoint, max_retries=0))
    for number, (name, (answer, texts)) in enumerate(READABLE.items()):
        endpoint.reply(answer)
        who = {"user_id": f"user-{number}"}
        assert (name, found(memory.add("hello", **who))) == (name, texts)
        assert sorted(found(memory.get_all(filters=who))) == sorted(texts), name
    before = counts()
    for name, silence in SILENCE.items():
        endpoint.reply(silence)
        with pytest.raises(LLMError, match=r"^LLM extraction failed: "):
            memory.add(f"hello {name}", user_id="ann")
    assert counts() == before


def test_instructions_of_ones_own_keep_the_form_of_the_answer(  # B110
    make: Make, endpoint: Endpoint
) -> None:
    def strict(request: dict[str, Any]) -> Any:
        told = "".join(message["content"] for message in request["messages"])
        if "response_format" in request and "json" not in told.lower():
            return refusal(400, "'messages' must contain the word 'json' in some form")
        return '{"facts": ["Ann skis {0} %s"]}'

    endpoint.chat = strict
    memory = make(custom_instructions="Extract hobbies. {x} {0} %s %(y)s")
    assert found(memory.add("I ski {0} %s", user_id="ann")) == ["Ann skis {0} %s"]
    assert "Extract hobbies. {x} {0} %s %(y)s" in endpoint.prompts[0]
    assert "I ski {0} %s" in endpoint.prompts[0]
    stored = memory.add("I ski", user_id="bob", prompt="Nothing but {sports}")
    assert found(stored) == ["Ann skis {0} %s"]
    assert "Nothing but {sports}" in endpoint.prompts[1]


def test_an_add_whose_embedder_hung_up_can_be_made_again(  # B117
    make: Make, endpoint: Endpoint, counts: Any
) -> None:
    def hangs_up(request: dict[str, Any]) -> None:
        if endpoint.chats:
            raise ConnectionError("after the language model has answered")

    memory = make(embedder=model(endpoint, max_retries=0))
    endpoint.facts("Ann likes tea")
    endpoint.embeddings = hangs_up
    with pytest.raises(EmbeddingError, match="no answer from"):
        memory.add("I like tea", user_id="ann")
    assert len(endpoint.chats) == 1
    assert counts() == (0, 0, 0, 0, 0)
    endpoint.embeddings = None
    for stored in (1, 0):
        assert len(memory.add("I like tea", user_id="ann")["results"]) == stored
    assert counts()[:2] == (1, 1)


def test_a_closed_memory_leaves_no_connection_to_its_models(  # B097
    make: Make, endpoint: Endpoint
) -> None:
    endpoint.facts("Ann likes tea")
    with Endpoint() as other:
        memory = make(embedder=model(other))
        memory.add("I like tea", user_id="ann")
        assert (endpoint.connected, other.connected) == (1, 1)
        if memory.is_async:
            memory.run(memory.memory.aclose())
        else:
            memory.memory.close()
        for server in (endpoint, other):
            while server.connected:
                time.sleep(0.01)


def test_what_only_looks_like_a_secret_is_kept_and_what_is_one_is_shown_nowhere(  # B099
    make: Make, endpoint: Endpoint, empty: str, live: str, caplog: Any, capfd: Any
) -> None:
    kept = {"token_limit": 5, "keyword_weight": 0.5, "author_field": "x", "password": "of a door"}
    secret = {"password": "hidden-1", "sslpassword": "hidden-2"}
    with caplog.at_level(logging.DEBUG):
        schema.migrate(make_conninfo(empty, **secret))
        keys: dict[str, Any] = {
            "api_key": "hidden-3",
            "base_url": endpoint.base_url,
            "headers": {"x": "hidden-4"},
        }
        memory = make(
            dsn=make_conninfo(live, **secret),
            llm=Settings(model="m", max_tokens=50, **keys),
            embedder=Settings(model="m", **keys),
        )
        endpoint.facts("Ann likes tea")
        [stored] = memory.add("I like tea", user_id="ann", metadata=kept)["results"]
        memory.search("tea", filters={**ANN, "token_limit": 5})
        endpoint.reply(refusal(401, "wrong key: hidden-3"))
        with pytest.raises(MemlayerError) as refused:
            memory.add("I like rum", user_id="ann")
        with pytest.raises(MemlayerError) as wrong:
            make(dsn="postgresql://u:hidden-1@[::1:no/d").get_all(filters=ANN)
    assert memory.get(stored["id"])["metadata"] == kept
    assert endpoint.chats[0]["max_tokens"] == 50
    assert {request.headers["authorization"] for request in endpoint.requests} == {
        "Bearer hidden-3"
    }
    shown = [caplog.text, *capfd.readouterr(), repr(memory.memory)]
    shown += [
        f"{error.value!r} {error.value} {error.value.suggestion}" for error in (refused, wrong)
    ]
    assert "hidden-" not in "".join(shown)
