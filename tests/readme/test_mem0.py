"""Each row of the tables of differences in docs/mem0.md is so.

What a row says of mem0 was seen there; what it says of this package is checked here, a function a
row, or a test elsewhere is named.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from memlayer_pg import (
    AsyncMemory,
    Config,
    ConfigError,
    DatabaseError,
    EmbeddingError,
    FilterError,
    InputError,
    LLMError,
    MemlayerError,
    Memory,
    MemoryNotFound,
    NotStorable,
)
from memlayer_pg.compat import mem0
from tests.api.harness import model
from tests.conftest import create, named
from tests.endpoint import Endpoint
from tests.readme.pages import ROOT, rows

ANN: dict[str, Any] = {"user_id": "ann"}
PAGE = ROOT / "docs" / "mem0.md"
ROWS = [
    *rows(PAGE, "What is different, and why it is better"),
    *rows(PAGE, "Further differences"),
]
TENANTS = itertools.count()


class Shop:
    """A memory of a tenant of its own, and the models it asks."""

    def __init__(self, dsn: str, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.tenant = f"row-{next(TENANTS)}"
        asked = model(endpoint)
        config = Config(dsn=dsn, tenant=self.tenant, llm=asked, embedder=asked)
        self.memory = Memory(config)
        self.moved = mem0.Memory(config)
        self.conn = psycopg.connect(dsn, autocommit=True)

    def learn(self, *facts: Any, **given: Any) -> Any:
        """What `add` gives when the language model draws these facts."""
        self.endpoint.facts(*facts)
        return self.memory.add("…", **{**ANN, **given})

    def store(self, text: str, **given: Any) -> str:
        """Store a text word for word; the id of the memory."""
        found = self.memory.add(text, **{**ANN, "infer": False, **given})
        return str(found["results"][0]["id"])

    def all(self, **conditions: Any) -> list[str]:
        """The texts of what a filter finds, oldest first."""
        found = self.memory.get_all(filters={**ANN, **conditions})["results"]
        return [item["memory"] for item in reversed(found)]

    def sql(self, query: str) -> list[Any]:
        """The rows of a query on this tenant, %(tenant)s."""
        return self.conn.execute(query.encode(), {"tenant": self.tenant}).fetchall()


@pytest.fixture(scope="session")
def stored(server: str, template: str) -> str:
    """The dsn of the database that the rows share."""
    return create(server, named(template))


@pytest.fixture
def shop(stored: str, endpoint: Endpoint) -> Iterator[Shop]:
    shop = Shop(stored, endpoint)
    yield shop
    shop.memory.close()
    shop.moved.close()
    shop.conn.close()


CHECKS: dict[str, Callable[[Shop], None] | str] = {
    "transactions": "tests/api/test_crash.py",
    "concurrent updates": "tests/api/test_changing.py",
    "links between memories": "tests/sql/test_add.py",
    "`infer=False` and what was said before": "tests/api/test_context.py",
    "the reranker by language model": "tests/models/test_rerank.py",
    "a reranker that fails": "tests/api/test_reading.py",
    "candidates of a search": "tests/sql/test_search.py",
    "words": "tests/sql/test_keyword.py",
    "`AsyncMemory`": "tests/api/test_parity.py",
    "prompt": "tests/unit/test_prompts.py",
    "plain SQL on the memories": "tests/sql/test_history.py",
}


def row(name: str) -> Callable[[Callable[[Shop], None]], Callable[[Shop], None]]:
    """Marks the check of a row."""

    def note(check: Callable[[Shop], None]) -> Callable[[Shop], None]:
        CHECKS[name] = check
        return check

    return note


@row("`timestamp` of `add`")
def _(shop: Shop) -> None:
    shop.learn("Ann likes tea.", timestamp="2024-05-01")
    assert "Wednesday 2024-05-01" in shop.endpoint.prompts[-1]
    [[day]] = shop.sql(
        "select observed_at::date::text from memlayer.memory where tenant = %(tenant)s"
    )
    assert day == "2024-05-01"


@row("`reference_date` of `search`")
def _(shop: Shop) -> None:
    shop.store("Tea")
    assert shop.memory.search("tea", filters=ANN)["results"]
    assert shop.memory.search("tea", filters=ANN, reference_date="2020-01-01") == {"results": []}
    assert shop.memory.get_all(filters=ANN, reference_date="2020-01-01") == {"results": []}


@row("keys of a result")
def _(shop: Shop) -> None:
    plain, told = shop.store("Tea"), shop.store("Tea", timestamp="2024-05-01")
    assert "observed_at" not in (shop.memory.get(plain) or {})
    assert (shop.memory.get(told) or {})["observed_at"] == "2024-05-01T00:00:00+00:00"


@row("a memory that a newer one updates or contradicts")
def _(shop: Shop) -> None:
    shop.learn("Ann lives in Beijing.")
    moved = {"text": "Ann moved to Shanghai.", "links": [{"id": 0, "kind": "updates"}]}
    [newer] = shop.learn(moved)["results"]
    first, second = shop.memory.search("Ann lives in Beijing.", filters=ANN)["results"]
    assert (first["id"], second["memory"]) == (newer["id"], "Ann lives in Beijing.")
    assert second["superseded_by"] == newer["id"]
    assert "superseded_by" not in first


@row("duplicates")
def _(shop: Shop) -> None:
    [first] = shop.learn("Ann likes tea.")["results"]
    known = {"id": first["id"], "memory": "Ann likes tea.", "reason": "duplicate"}
    assert shop.learn("Ann likes tea.") == {"results": [], "skipped": [known]}
    assert len(shop.learn("Ann likes tea.", agent_id="cook")["results"]) == 1


@row("an expired duplicate")
def _(shop: Shop) -> None:
    shop.learn("Ann likes tea.", expiration_date="2020-01-01")
    assert shop.all() == []
    assert shop.learn("Ann likes tea.")["skipped"][0]["reason"] == "revived"
    assert shop.all() == ["Ann likes tea."]


@row("message buffer")
def _(shop: Shop) -> None:
    shop.memory.add([{"role": "user", "content": f"m{n}"} for n in range(13)], **ANN)
    assert [item["content"] for item in shop.memory.messages("ann")] == [
        f"m{n}" for n in range(3, 13)
    ]


@row("`infer=False` and the buffer")
def _(shop: Shop) -> None:
    shop.store("Tea")
    assert len(shop.memory.messages("ann")) == 1


@row("score")
def _(shop: Shop) -> None:
    shop.store("Ann drinks tea in the morning")
    scores = [
        shop.memory.search("tea", filters=ANN, fusion=fusion)["results"][0]["score"]
        for fusion in (None, "calibrated", "additive")
    ]
    assert scores[0] == scores[1] != scores[2]


@row("expired memories in a search")
def _(shop: Shop) -> None:
    for number in range(70):
        shop.store(f"tea {number}", expiration_date="2020-01-01")
    shop.store("some tea")
    assert len(shop.memory.search("tea", filters=ANN, top_k=1)["results"]) == 1


@row("scope in `AND`")
def _(shop: Shop) -> None:
    shop.store("Tea")
    for filters in ({"AND": [{"user_id": "ann"}]}, {"OR": [{"user_id": "*"}]}):
        found = shop.memory.search("tea", filters={"user_id": "bob", **filters})
        assert found == {"results": []}


@row("nested `AND`, `OR`, `NOT`")
def _(shop: Shop) -> None:
    shop.store("Tea", metadata={"a": 1, "b": 2})
    tree = {"OR": [{"AND": [{"a": 1}, {"NOT": [{"b": 3}]}]}, {"a": 5}]}
    assert shop.all(**tree) == ["Tea"]
    assert len(shop.memory.search("tea", filters={**ANN, **tree})["results"]) == 1


@row("`ne`, `nin`, `NOT`")
def _(shop: Shop) -> None:
    shop.store("Tea")
    for condition in ({"a": {"ne": 1}}, {"a": {"nin": [1]}}, {"NOT": [{"a": 1}]}):
        assert shop.all(**condition) == ["Tea"]


@row("types in filters")
def _(shop: Shop) -> None:
    shop.store("Tea", metadata={"n": 5, "b": True, "d": "2026-03-02", "l": ["x"], "o": {"k": 1}})
    for right in ({"n": 5.0}, {"b": True}, {"d": {"gt": "2026-03-01"}}, {"l": "x"}, {"o.k": 1}):
        assert shop.all(**right) == ["Tea"]
    for wrong in ({"n": "5"}, {"b": "true"}, {"d": {"gt": 1}}, {"l": "y"}, {"o.k": "1"}):
        assert shop.all(**wrong) == []


@row("a filter that is not understood")
def _(shop: Shop) -> None:
    filters: list[dict[str, Any]] = [{"n": {"near": 1}}, {"OR": []}, {"or": [{"n": 1}]}, {"n": {}}]
    for wrong in filters:
        with pytest.raises(FilterError):
            shop.all(**wrong)


@row('`"*"` as an id')
def _(shop: Shop) -> None:
    with pytest.raises(ValueError, match="does not name anyone"):
        shop.memory.search("tea", filters={"user_id": "*"})


@row("`None` as an id in `filters`")
def _(shop: Shop) -> None:
    shop.store("Tea", agent_id="cook")
    found = shop.memory.get_all(filters={"user_id": None, "agent_id": "cook"})
    assert len(found["results"]) == 1
    with pytest.raises(ValueError, match="at least one of"):
        shop.memory.get_all(filters={"user_id": None})


@row("`top_k=None`")
def _(shop: Shop) -> None:
    shop.memory.add(
        [{"role": "user", "content": f"tea {n}"} for n in range(21)], **ANN, infer=False
    )
    assert len(shop.memory.search("tea", filters=ANN, top_k=None)["results"]) == 20  # type: ignore[arg-type]


@row("`top_k=0` of `get_all`")
def _(shop: Shop) -> None:
    shop.store("Tea")
    assert shop.memory.get_all(filters=ANN, top_k=0) == {"results": []}


@row("`threshold` of True or NaN")
def _(shop: Shop) -> None:
    for wrong in (True, float("nan")):
        with pytest.raises(ValueError, match="threshold"):
            shop.memory.search("tea", filters=ANN, threshold=wrong)


@row("ids that are no UUID")
def _(shop: Shop) -> None:
    assert shop.memory.get("x") is None
    assert shop.memory.history("x") == []
    with pytest.raises(MemoryNotFound):
        shop.memory.update("x", "y")
    with pytest.raises(MemoryNotFound):
        shop.memory.delete("x")


@row("order of `get_all`")
def _(shop: Shop) -> None:
    for text in ("one", "two", "three"):
        shop.store(text)
    page = shop.memory.get_all(filters=ANN, top_k=2, with_total=True)
    rest = shop.memory.get_all(filters=ANN, after=page["next"])
    texts = [item["memory"] for item in page["results"] + rest["results"]]
    assert (texts, page["total"]) == (["three", "two", "one"], 3)


@row("an update that changes nothing")
def _(shop: Shop) -> None:
    memory_id = shop.store("Tea", metadata={"a": 1})
    shop.memory.update(memory_id, "Tea", metadata={"a": 1})
    assert len(shop.memory.history(memory_id)) == 1


@row("an update with the same text")
def _(shop: Shop) -> None:
    memory_id = shop.store("Tea")
    asked = len(shop.endpoint.embedded)
    shop.memory.update(memory_id, "Tea", metadata={"a": 1})
    assert len(shop.endpoint.embedded) == asked


@row("an update with blank text")
def _(shop: Shop) -> None:
    with pytest.raises(InputError):
        shop.memory.update(shop.store("Tea"), " ")


@row("a cleared `expiration_date`")
def _(shop: Shop) -> None:
    memory_id = shop.store("Tea", expiration_date="2030-01-01")
    shop.memory.update(memory_id, expiration_date=None)
    assert "expiration_date" not in (shop.memory.get(memory_id) or {})


@row("`expiration_date` in metadata")
def _(shop: Shop) -> None:
    memory_id = shop.store("Tea")
    shop.memory.update(memory_id, metadata={"expiration_date": "2030-01-01"})
    assert (shop.memory.get(memory_id) or {})["expiration_date"] == "2030-01-01"
    with pytest.raises(InputError):
        shop.memory.update(memory_id, metadata={"expiration_date": "soon"})


@row("`created_at`, `data`, `hash`, `id` in metadata")
def _(shop: Shop) -> None:
    metadata = {"created_at": "2020-01-01", "data": "x", "hash": "y", "id": "z"}
    found = shop.memory.get(shop.store("Tea", metadata=metadata)) or {}
    assert (found["metadata"], found["memory"]) == (metadata, "Tea")


@row("`history`")
def _(shop: Shop) -> None:
    [added] = shop.learn("Ann likes tea.")["results"]
    shop.memory.update(added["id"], "Ann likes green tea.")
    events = shop.memory.history(added["id"])
    assert [event["event"] for event in events] == ["ADD", "UPDATE"]
    assert all(event["updated_at"] for event in events)


@row("ids of other types")
def _(shop: Shop) -> None:
    assert len(shop.learn("Ann likes tea.", user_id=7)["results"]) == 1
    with pytest.raises(InputError):
        shop.learn("Ann likes tea.", user_id=1.5)


@row("NUL and lone surrogates")
def _(shop: Shop) -> None:
    for text in ("a\x00b", "a\ud800b"):
        with pytest.raises(NotStorable):
            shop.memory.add(text, **ANN)
    assert shop.endpoint.requests == []


@row("metadata that is not JSON")
def _(shop: Shop) -> None:
    with pytest.raises(InputError, match=r"metadata\.a"):
        shop.memory.add("Tea", **ANN, metadata={"a": object()})


@row("a message without a role")
def _(shop: Shop) -> None:
    with pytest.raises(InputError, match="role"):
        shop.memory.add([{"content": "Tea"}], **ANN)


@row("a message without text")
def _(shop: Shop) -> None:
    assert shop.memory.add([{"role": "user", "content": ""}], **ANN, infer=False) == {"results": []}


@row("images")
def _(shop: Shop) -> None:
    image = {"type": "image_url", "image_url": {"url": "http://example.org/a.png"}}
    said = [{"type": "text", "text": "My cat"}, image]
    found = shop.memory.add([{"role": "user", "content": said}], **ANN, infer=False)
    assert [item["memory"] for item in found["results"]] == ["My cat"]


@row("roles other than user, assistant, system")
def _(shop: Shop) -> None:
    shop.endpoint.facts()
    said = {"role": "tool", "content": "x" * 5000}
    shop.memory.add([{"role": "user", "content": "Look it up"}, said], **ANN)
    prompt = shop.endpoint.prompts[-1]
    assert "x" * 4000 + "…" in prompt
    assert "x" * 4001 not in prompt


@row("an empty list of messages")
def _(shop: Shop) -> None:
    assert shop.memory.add([], **ANN) == {"results": []}
    assert shop.endpoint.requests == []


@row("what the language model answers")
def _(shop: Shop) -> None:
    shop.endpoint.reply('Well: {"facts": ["Ann likes tea.", {"text": "Ann likes')
    found = shop.memory.add("…", **ANN)["results"]
    assert [item["memory"] for item in found][:1] == ["Ann likes tea."]
    shop.endpoint.reply("I cannot do that.")
    with pytest.raises(LLMError):
        shop.memory.add("…", **ANN)


@row("an embedder that fails")
def _(shop: Shop) -> None:
    shop.endpoint.embeddings = lambda request: (
        (400, {"error": {"message": "no"}}) if "Two" in request["input"] else None
    )
    with pytest.raises(EmbeddingError):
        shop.learn("One", "Two")
    assert (shop.all(), shop.memory.messages("ann")) == ([], [])


@row("errors")
def _(shop: Shop) -> None:
    memory = shop.memory
    calls: list[tuple[Callable[..., Any], tuple[str, ...]]] = [
        (memory.add, ("Tea",)),
        (memory.search, ("",)),
        (memory.delete_all, ()),
        (memory.delete, ("x",)),
    ]
    for method, args in calls:
        with pytest.raises(MemlayerError) as raised:
            method(*args)
        assert isinstance(raised.value, ValueError)


@row("`llm=` of `AsyncMemory.add`")
def _(shop: Shop) -> None:
    assert "llm" not in inspect.signature(AsyncMemory.add).parameters
    assert "llm" in inspect.signature(mem0.AsyncMemory.add).parameters


@row("`close`")
def _(shop: Shop) -> None:
    shop.memory.close()
    with pytest.raises(DatabaseError, match="closed"):
        shop.memory.scopes()


@row("`vector_store`, `db`, `project`")
def _(shop: Shop) -> None:
    for name in ("vector_store", "db", "project"):
        assert not hasattr(shop.memory, name)
        assert hasattr(shop.moved, name)


@row("`entity_store`")
def _(shop: Shop) -> None:
    assert not hasattr(shop.moved, "entity_store")
    shop.learn({"text": "Ann lives in Oslo.", "entities": [{"name": "Oslo", "type": "place"}]})
    assert shop.sql("select name from memlayer.entities where tenant = %(tenant)s") == [("Oslo",)]


@row("`vectors` of `vector_store.search`, `vector` of `vector_store.update`")
def _(shop: Shop) -> None:
    tea = shop.store("Ann likes tea.")
    shop.store("Ann sails.")
    vector = shop.endpoint.embed("Ann sails.")
    [first, _] = shop.moved.vector_store.search("Ann likes tea.", vector, filters=ANN)
    assert first.id == tea
    shop.moved.vector_store.update(tea, vector, {"data": "Ann skis.", "user_id": "ann"})
    assert shop.memory.search("Ann skis.", filters=ANN, top_k=1)["results"][0]["id"] == tea


@row("`vector_store.list` without an id")
def _(shop: Shop) -> None:
    shop.store("Ann likes tea.")
    shop.store("Bob sails.", user_id="bob", run_id="r")
    [rows] = shop.moved.vector_store.list()
    assert sorted(row.payload["data"] for row in rows) == ["Ann likes tea.", "Bob sails."]
    [rows] = shop.moved.vector_store.list(limit=1)
    assert len(rows) == 1


@row("`tools` of `llm.generate_response`")
def _(shop: Shop) -> None:
    with pytest.raises(InputError, match="tools"):
        shop.moved.llm.generate_response([{"role": "user", "content": "x"}], tools=[{}])


@row("`MemoryClient`, `AsyncMemoryClient`")
def _(shop: Shop) -> None:
    assert not hasattr(mem0, "MemoryClient")


@row("pydantic's `ValidationError` of a configuration")
def _(shop: Shop) -> None:
    with pytest.raises(ValueError, match="did you mean 'provider'") as raised:
        mem0.MemoryConfig(llm={"provder": "openai"})
    assert isinstance(raised.value, ConfigError)


@row("`OPENROUTER_API_KEY`")
def _(shop: Shop) -> None:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("OPENROUTER_API_KEY", "k")
        config = Config.from_mem0({"llm": {"provider": "openai", "config": {"model": "m"}}})
    assert config.llm is not None
    assert (config.llm.base_url, config.llm.api_key) == (None, None)


@row("`MEM0_DIR`")
def _(shop: Shop) -> None:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("MEM0_DIR", "/nowhere")
        shop.store("Ann likes tea.")
    assert not Path("/nowhere").exists()


@row("`expiration_date` as text")
def _(shop: Shop) -> None:
    with pytest.raises(InputError, match="YYYY-MM-DD"):
        shop.store("Ann likes tea.", expiration_date="20990101")


@row("white space around a fact")
def _(shop: Shop) -> None:
    shop.learn(" Ann likes tea.\t")
    assert shop.all() == ["Ann likes tea."]


@row("a fact marked DELETE")
def _(shop: Shop) -> None:
    found = shop.learn({"text": "Ann likes tea.", "event": "DELETE"})
    assert (found["results"], shop.all()) == ([], [])


@row("a language model that fails")
def _(shop: Shop) -> None:
    shop.endpoint.reply((400, {"error": {"message": "no"}}))
    with pytest.raises(LLMError, match=f"{shop.endpoint.address}.* 400: no") as raised:
        shop.memory.add("Tea", **ANN)
    assert raised.value.details["status"] == 400


@row("a payload without times (`vector_store.insert`)")
def _(shop: Shop) -> None:
    vector = shop.endpoint.embed("Ann likes tea.")
    shop.moved.vector_store.insert([vector], [{"data": "Ann likes tea.", **ANN}])
    [item] = shop.memory.get_all(filters=ANN)["results"]
    assert item["hash"]
    assert item["created_at"]
    assert item["updated_at"]


@row("configuration")
def _(shop: Shop) -> None:
    with pytest.raises(ConfigError, match="did you mean 'vector_store'"):
        Memory.from_config({"vectorstore": {}})


@row("telemetry")
def _(shop: Shop) -> None:
    shop.learn("Ann likes tea.")
    hosts = {request.host for request in shop.endpoint.requests}
    assert hosts == {shop.endpoint.address.removeprefix("http://")}


def test_every_row_has_a_check() -> None:
    assert set(CHECKS) == set(ROWS)


@pytest.mark.parametrize("name", ROWS)
def test_a_difference_is_as_the_table_says(shop: Shop, name: str) -> None:
    check = CHECKS[name]
    if isinstance(check, str):
        assert (ROOT / check).is_file()
    else:
        check(shop)
