"""The LangGraph store does what LangGraph's own store does, and keeps it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

pytest.importorskip("langgraph")

from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from memlayer_pg import AsyncMemory, Config, InputError, Memory, NotStorable
from memlayer_pg.integrations.langgraph import MemlayerStore
from tests.endpoint import Endpoint

DOCS, NOTES, DEEP = ("docs",), ("users", "ann", "notes"), ("users", "ann", "notes", "old")
Batch = Callable[[list[Op]], list[Any]]


@pytest.fixture
def store(memory: Memory) -> MemlayerStore:
    return MemlayerStore(memory)


@pytest.fixture
def theirs(endpoint: Endpoint) -> InMemoryStore:
    """LangGraph's own store, with the same vectors."""
    embed = lambda texts: [endpoint.embed(text) for text in texts]  # noqa: E731
    return InMemoryStore(index={"dims": endpoint.dimensions, "embed": embed})


@pytest.fixture(params=["blocking", "awaited", "awaited in a thread"])
def batch(request: pytest.FixtureRequest, config: Config) -> Iterator[Batch]:
    """Does operations on a store, in one of the ways it can be used."""
    if request.param == "awaited":
        with asyncio.Runner() as runner:
            memory = AsyncMemory(config)
            store = MemlayerStore(memory)
            yield lambda ops: runner.run(store.abatch(ops))
            runner.run(memory.aclose())
        return
    with Memory(config) as blocking:
        store = MemlayerStore(blocking)
        if request.param == "blocking":
            yield store.batch
        else:
            yield lambda ops: asyncio.run(store.abatch(ops))


VALUES: list[tuple[tuple[str, ...], str, dict[str, Any]]] = [
    (DOCS, "a", {"text": "green tea", "n": 2, "tags": ["x", "y"], "meta": {"lang": "en"}}),
    (DOCS, "b", {"text": "black coffee", "n": 9, "tags": "x", "meta": {"lang": "de", "k": 1}}),
    (DOCS, "c", {"text": "water", "n": 10, "ok": True, "none": None, "a.b": 1}),
    (NOTES, "a", {"text": "trains to Porto", "n": 2.0, "ok": 1}),
    (DEEP, "ä/ 'quote' \"\\", {"text": "trains to Porto", "a": {"b": 1}}),
    (("users", "bob"), "a", {}),
    (("users", 'q"[],'), "a", {"text": "odd labels"}),
    (("users", "*"), "a", {"text": "a star"}),
]
PUTS: list[Op] = [PutOp(namespace, key, value) for namespace, key, value in VALUES]


def under(path: tuple[str, ...]) -> MatchCondition:
    return MatchCondition("prefix", path)


def ending(path: tuple[str, ...]) -> MatchCondition:
    return MatchCondition("suffix", path)


READS: dict[str, Op] = {
    "get": GetOp(DOCS, "b"),
    "get odd": GetOp(DEEP, "ä/ 'quote' \"\\"),
    "get empty": GetOp(("users", "bob"), "a"),
    "get nothing": GetOp(DOCS, "nothing"),
    "get of the namespace above": GetOp(("users", "ann"), "a"),
    "get of a namespace that reads the same": GetOp(("users", "ann notes"), "a"),
    "all": SearchOp((), limit=100),
    "prefix": SearchOp(("users", "ann"), limit=100),
    "prefix odd": SearchOp(("users", 'q"[],'), limit=100),
    "a star is a label": SearchOp(("users", "*"), limit=100),
    "no part of a label": SearchOp(("use",), limit=100),
    "equal": SearchOp(DOCS, {"text": "water"}, 100),
    "equal number": SearchOp((), {"n": 2}, 100),
    "equal list": SearchOp(DOCS, {"tags": ["x", "y"]}, 100),
    "not an element": SearchOp(DOCS, {"tags": "x"}, 100),
    "equal nested": SearchOp(DOCS, {"meta": {"lang": "de"}}, 100),
    "equal none": SearchOp(DOCS, {"none": None}, 100),
    "dotted key": SearchOp((), {"a.b": 1}, 100),
    "$eq": SearchOp(DOCS, {"n": {"$eq": 9}}, 100),
    "$ne": SearchOp(DOCS, {"n": {"$ne": 9}}, 100),
    "$ne of a list": SearchOp(DOCS, {"tags": {"$ne": "x"}}, 100),
    "$gt": SearchOp(DOCS, {"n": {"$gt": 2}}, 100),
    "$gte": SearchOp(DOCS, {"n": {"$gte": 9}}, 100),
    "$lt": SearchOp(DOCS, {"n": {"$lt": 10}}, 100),
    "$lte and $gt": SearchOp(DOCS, {"n": {"$lte": 10, "$gt": 2}}, 100),
    "two keys": SearchOp(DOCS, {"n": 9, "tags": "x"}, 100),
    "namespaces": ListNamespacesOp(),
    "namespaces under": ListNamespacesOp((under(("users",)),)),
    "namespaces with a star": ListNamespacesOp((under(("users", "*", "notes")),)),
    "namespaces that end": ListNamespacesOp((ending(("notes",)),)),
    "namespaces that end with a star": ListNamespacesOp((ending(("notes", "*")),)),
    "namespaces cut": ListNamespacesOp(max_depth=2),
    "namespaces cut to one": ListNamespacesOp(max_depth=1),
    "a page of namespaces": ListNamespacesOp(limit=2, offset=1),
}  # fmt: skip


def plain(result: Any) -> Any:
    """A result without its times; a list of items in an order that does not depend on them."""
    if isinstance(result, Item):
        return (result.namespace, result.key, result.value)
    if isinstance(result, list) and result and isinstance(result[0], Item):
        return sorted(map(plain, result), key=repr)
    return result


def test_what_is_read_is_what_langgraphs_own_store_reads(
    batch: Batch, theirs: InMemoryStore
) -> None:
    """B050: numbers are compared as numbers."""
    batch(PUTS)
    theirs.batch(PUTS)
    ours = dict(zip(READS, batch(list(READS.values())), strict=True))
    # Gets at the end: theirs lists a namespace from then on in which something was looked for.
    for name, op in sorted(READS.items(), key=lambda read: isinstance(read[1], GetOp)):
        [wanted] = theirs.batch([op])
        assert plain(ours[name]) == plain(wanted), name


def test_a_search_finds_what_langgraphs_own_store_finds(
    batch: Batch, theirs: InMemoryStore
) -> None:
    batch(PUTS)
    theirs.batch(PUTS)
    for op in (
        SearchOp((), query="trains to Porto", limit=100),
        SearchOp(DOCS, query="black coffee", limit=100),
        SearchOp(DOCS, {"n": {"$lt": 10}}, query="green tea", limit=100),
        SearchOp(("users", "ann"), query="trains", limit=1),
        SearchOp(DOCS, query="tea", limit=2, offset=1),
    ):
        [ours], [wanted] = batch([op]), theirs.batch([op])
        assert ours[0].value.get("text") == wanted[0].value.get("text")  # type: ignore[index, union-attr]
        assert len(ours) == len(wanted)  # type: ignore[arg-type]
        if op.offset == 0 and op.limit == 100:
            assert plain(ours) == plain(wanted)
        scores = [item.score for item in ours if item.score is not None]
        assert scores == sorted(scores, reverse=True)


def test_reads_of_a_batch_see_what_stood_before_it(batch: Batch, theirs: InMemoryStore) -> None:
    ops: list[Op] = [
        PutOp(DOCS, "a", {"v": 1}),
        GetOp(DOCS, "a"),
        PutOp(DOCS, "a", {"v": 2}),
        SearchOp(DOCS),
        PutOp(DOCS, "b", {"v": 3}),
        PutOp(DOCS, "b", None),
        PutOp(DOCS, "never", None),
    ]
    for _ in range(2):
        assert list(map(plain, batch(ops))) == list(map(plain, theirs.batch(ops)))
    after: list[Op] = [GetOp(DOCS, "a"), GetOp(DOCS, "b"), ListNamespacesOp()]
    assert list(map(plain, batch(after))) == list(map(plain, theirs.batch(after)))


def test_a_put_replaces_the_value_and_keeps_when_it_was_made(store: MemlayerStore) -> None:
    store.put(DOCS, "a", {"text": "tea", "gone": 1})
    first = store.get(DOCS, "a")
    store.put(DOCS, "a", {"text": "coffee"})
    second = store.get(DOCS, "a")
    assert first is not None
    assert second is not None
    assert second.value == {"text": "coffee"}
    assert second.created_at == first.created_at
    assert second.updated_at > first.updated_at
    assert store.search(DOCS, query="coffee")[0].score is not None


def test_an_item_that_was_deleted_can_be_put_again(store: MemlayerStore) -> None:
    for number in range(3):
        store.put(DOCS, "a", {"n": number})
        found = store.get(DOCS, "a")
        assert found is not None
        assert found.value == {"n": number}
        store.delete(DOCS, "a")
        assert store.get(DOCS, "a") is None
        assert store.list_namespaces() == []


def test_items_that_say_the_same_are_items_all_the_same(store: MemlayerStore) -> None:
    for key in "abc":
        store.put(DOCS, key, {"text": "tea"})
    assert len(store.search(DOCS)) == 3


def test_what_is_put_is_a_memory_whose_history_is_kept(
    store: MemlayerStore, memory: Memory, sql: Any
) -> None:
    store.put(DOCS, "a", {"text": "tea"})
    store.put(DOCS, "a", {"text": "tea", "n": 1})
    store.put(DOCS, "a", {"text": "tea", "n": 1})
    [item] = memory.get_all(filters={"agent_id": "langgraph"})["results"]
    assert [event["event"] for event in memory.history(item["id"])] == ["ADD", "UPDATE"]
    assert sql("select * from memlayer.verify(%(tenant)s)") == []


def test_nothing_is_embedded_that_is_not_searched(store: MemlayerStore, endpoint: Endpoint) -> None:
    store.put(DOCS, "a", {"text": "tea"}, index=False)
    store.put(DOCS, "a", {"text": "coffee"}, index=False)
    store.put(DOCS, "b", {"other": 1}, index=["text"])
    assert endpoint.embedded == []
    store.put(DOCS, "c", {"text": "coffee", "id": "xyz"}, index=["text", "tags[*]"])
    assert endpoint.embedded == [["coffee"]]
    store.put(DOCS, "c", {"text": "coffee", "id": "abc"}, index=["text", "tags[*]"])
    assert endpoint.embedded == [["coffee"]]
    first, *rest = store.search(DOCS, query="coffee")
    assert first.key == "c"
    assert first.score is not None
    assert [(item.key, item.score) for item in rest] == [("b", None), ("a", None)]

    store.put(DOCS, "a", {"text": "coffee"})
    store.put(DOCS, "c", {"text": "coffee"}, index=False)
    first, *rest = store.search(DOCS, query="coffee")
    assert first.key == "a"
    assert {item.score for item in rest} == {None}


def test_a_store_without_fields_asks_no_embedder(config: Config, endpoint: Endpoint) -> None:
    with Memory(config) as memory:
        store = MemlayerStore(memory, fields=None)
        store.put(DOCS, "a", {"text": "tea"}, index=["text"])
        assert [item.key for item in store.search(DOCS, query="tea")] == ["a"]
        assert endpoint.requests == []


def test_the_fields_are_what_is_searched(memory: Memory, endpoint: Endpoint) -> None:
    store = MemlayerStore(memory, fields=["title", "parts[*].text"])
    store.put(DOCS, "a", {"title": "Tea", "secret": "x", "parts": [{"text": "one"}, {"text": "2"}]})
    assert endpoint.embedded == [["Tea\none\n2"]]


def test_many_items_page_and_filter(store: MemlayerStore) -> None:
    store.batch([PutOp(DOCS, str(n), {"n": n, "text": f"tea {n}"}) for n in range(45)])
    keys = [item.key for n in range(0, 50, 20) for item in store.search(DOCS, limit=20, offset=n)]
    assert sorted(keys, key=int) == [str(n) for n in range(45)]
    odd = store.search(DOCS, filter={"n": {"$gte": 40, "$ne": 42}}, query="tea", limit=10)
    assert {item.key for item in odd} == {"40", "41", "43", "44"}
    assert all(item.score is not None for item in odd)


def test_stores_of_different_agents_and_tenants_see_nothing_of_each_other(
    memory: Memory, config: Config
) -> None:
    one, two = MemlayerStore(memory), MemlayerStore(memory, agent_id="other")
    with Memory(config.with_(tenant=f"{config.tenant}-b")) as elsewhere:
        three = MemlayerStore(elsewhere)
        for number, store in enumerate((one, two, three)):
            store.put(DOCS, "a", {"text": "tea", "n": number})
        for number, store in enumerate((one, two, three)):
            assert [item.value["n"] for item in store.search((), query="tea")] == [number]
            found = store.get(DOCS, "a")
            assert found is not None
            assert found.value["n"] == number
        two.delete(DOCS, "a")
        assert one.get(DOCS, "a") is not None


def test_other_memories_of_the_agent_are_no_items(store: MemlayerStore, memory: Memory) -> None:
    memory.add("tea", agent_id="langgraph", infer=False)
    store.put(DOCS, "a", {"text": "tea"})
    assert [item.key for item in store.search((), query="tea")] == ["a"]
    assert store.list_namespaces() == [DOCS]


def test_an_item_about_a_user_is_his(memory: Memory) -> None:
    def user_of(namespace: tuple[str, ...]) -> str | None:
        return namespace[1] if namespace[0] == "users" else None

    store = MemlayerStore(memory, user_of=user_of)
    store.put(NOTES, "a", {"text": "Ann likes tea"})
    store.put(NOTES, "a", {"text": "Ann likes green tea"})
    store.put(DOCS, "a", {"text": "tea"})
    [hers] = memory.search("tea", filters={"user_id": "ann"})["results"]
    assert hers["metadata"]["value"] == {"text": "Ann likes green tea"}
    memory.delete_all(user_id="ann")
    assert [item.namespace for item in store.search(())] == [DOCS]


def test_an_item_expires_and_is_swept(store: MemlayerStore, sql: Any) -> None:
    store.put(DOCS, "a", {"text": "tea"}, ttl=0.0001)
    store.put(DOCS, "b", {"text": "tea"}, ttl=60)
    store.put(DOCS, "c", {"text": "tea"})
    while store.get(DOCS, "a", refresh_ttl=False) is not None:
        pass
    assert {item.key for item in store.search(DOCS, query="tea")} == {"b", "c"}
    assert {item.key for item in store.search(DOCS)} == {"b", "c"}
    rows = "select count(*) from memlayer.memory where tenant = %(tenant)s"
    assert sql(rows) == [(3,)]
    assert store.sweep_ttl() == 1
    assert sql(rows) == [(2,)]
    assert asyncio.run(store.asweep_ttl()) == 0


def test_an_expired_item_can_be_put_again(store: MemlayerStore) -> None:
    store.put(DOCS, "a", {"text": "tea"}, ttl=0)
    assert store.get(DOCS, "a") is None
    assert store.list_namespaces() == []
    store.put(DOCS, "a", {"text": "tea"})
    assert store.get(DOCS, "a") is not None
    assert store.sweep_ttl() == 0


def test_reading_lets_an_item_live_on_unless_that_is_not_wanted(memory: Memory, sql: Any) -> None:
    def expires() -> Any:
        return sql("""select metadata ->> 'expires', expires_on::text from memlayer.memory
                       where tenant = %(tenant)s""")[0]

    store = MemlayerStore(memory, ttl={"default_ttl": 3 * 24 * 60})
    store.put(DOCS, "a", {"text": "tea"})
    put, day = expires()
    assert day is not None
    store.get(DOCS, "a", refresh_ttl=False)
    store.search(DOCS, refresh_ttl=False)
    assert expires()[0] == put
    store.get(DOCS, "a")
    read = expires()[0]
    assert float(read) > float(put)
    store.search(DOCS, query="tea")
    assert float(expires()[0]) > float(read)
    kept = MemlayerStore(memory, ttl={"refresh_on_read": False})
    found = expires()[0]
    assert kept.get(DOCS, "a") is not None
    assert expires()[0] == found
    store.put(DOCS, "a", {"text": "tea"}, ttl=None)
    assert expires() == (None, None)


def test_puts_of_one_item_at_once_leave_one(store: MemlayerStore) -> None:
    def put(number: int) -> None:
        store.put(DOCS, "a", {"text": "tea", "n": number})
        if number % 3 == 0:
            store.delete(DOCS, "a")

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(put, range(24)))
    store.put(DOCS, "a", {"text": "tea", "n": 99})
    assert [item.value["n"] for item in store.search(DOCS)] == [99]


def test_what_cannot_be_kept_is_refused_with_the_rest_of_it(store: MemlayerStore) -> None:
    """B024: a character that Postgres cannot keep is named, and stops nothing else."""
    with pytest.raises(NotStorable, match="NUL"):
        store.put(DOCS, "a", {"text": "a\x00b"})
    with pytest.raises(InvalidNamespaceError):
        store.put(("a.b",), "a", {"text": "tea"})
    store.put(DOCS, "b", {"n": 1})
    with pytest.raises(ValueError, match="Unsupported operator"):
        store.search(DOCS, filter={"n": {"$near": 1}})
    assert [item.key for item in store.search(())] == ["b"]


def test_an_async_memory_is_not_used_without_being_awaited(config: Config) -> None:
    async def refused() -> None:
        async with AsyncMemory(config) as memory:
            with pytest.raises(InputError, match="awaited"):
                MemlayerStore(memory).get(DOCS, "a")

    asyncio.run(refused())


def test_a_graph_remembers_through_the_store(config: Config) -> None:
    from langgraph.graph import END, START, StateGraph
    from typing_extensions import TypedDict

    class State(TypedDict):
        said: str
        known: str

    def recall(state: State, *, store: BaseStore) -> dict[str, str]:
        found = store.search(("facts",), query=state["said"])
        store.put(("facts",), state["said"], {"text": state["said"]})
        return {"known": json.dumps([item.value["text"] for item in found])}

    def graph(memory: Memory) -> Any:
        building = StateGraph(State)
        building.add_node("recall", recall)
        building.add_edge(START, "recall")
        building.add_edge("recall", END)
        return building.compile(store=MemlayerStore(memory))

    with Memory(config) as memory:
        assert graph(memory).invoke({"said": "Ann likes tea"})["known"] == "[]"
    with Memory(config) as memory:
        known = asyncio.run(graph(memory).ainvoke({"said": "tea"}))["known"]
        assert json.loads(known) == ["Ann likes tea"]
