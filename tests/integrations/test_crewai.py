"""The storage backend, in CrewAI's own memory. Skipped without CrewAI, which is heavy."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

os.environ.setdefault("CREWAI_DISABLE_TELEMETRY", "true")
os.environ.setdefault("OTEL_SDK_DISABLED", "true")
pytest.importorskip("crewai")

from crewai import Memory as CrewMemory
from crewai.memory.storage.backend import StorageBackend
from crewai.memory.types import MemoryRecord

from memlayer_pg import InputError, Memory
from memlayer_pg.integrations.crewai import MemlayerStorage

# CrewAI leaves event loops and sockets of its own open.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def storage(memory: Memory) -> MemlayerStorage:
    return MemlayerStorage(memory)


@pytest.fixture
def crew(storage: MemlayerStorage) -> Iterator[CrewMemory]:
    crew = CrewMemory(storage=storage, embedder=storage.embedder, llm="gpt-4o-mini")
    yield crew
    crew.close()


def record(content: str, scope: str = "/", *categories: str, **more: Any) -> MemoryRecord:
    return MemoryRecord(content=content, scope=scope, categories=list(categories), **more)


def test_it_is_what_crewai_asks_for(storage: MemlayerStorage) -> None:
    assert isinstance(storage, StorageBackend)


def test_crewai_remembers_recalls_and_forgets(crew: CrewMemory, storage: MemlayerStorage) -> None:
    about: dict[str, Any] = {"scope": "/team/ann", "categories": ["food"], "importance": 0.7}
    made = crew.remember("Ann drinks oolong tea", metadata={"sure": True}, **about)
    crew.remember("The train to Porto leaves at nine", scope="/team", categories=[], importance=0.5)
    assert made is not None
    [best, *_] = crew.recall("oolong tea", depth="shallow", limit=2)
    assert best.record.content == "Ann drinks oolong tea"
    assert (best.record.id, best.record.scope) == (made.id, "/team/ann")
    assert (best.record.categories, best.record.metadata["sure"]) == (["food"], True)
    assert best.record.importance == 0.7
    found = crew.recall("tea", scope="/team/ann", depth="shallow")
    assert [match.record.content for match in found] == ["Ann drinks oolong tea"]
    assert crew.list_scopes("/") == ["/team"]
    assert crew.list_categories() == {"food": 1}
    crew.update(made.id, content="Ann drinks green tea")
    assert [item.content for item in crew.list_records("/team/ann")] == ["Ann drinks green tea"]
    events = storage.memory.history(made.id)
    assert [event["event"] for event in events] == ["ADD", "UPDATE"]
    assert crew.forget(scope="/team/ann") == 1
    assert storage.count() == 1
    crew.reset()
    assert storage.count() == 0


def test_a_search_gives_similarities_and_heeds_its_filters(storage: MemlayerStorage) -> None:
    storage.save(
        [
            record("green tea", "/a", "food", metadata={"n": 1}),
            record("green tea", "/a/b", "drink", metadata={"n": 2}),
            record("green tea", "/ab", "food", "drink"),
            record("trains", "/a"),
        ]
    )
    [vector] = storage.embedder(["green tea"])

    def scopes(**given: Any) -> list[str]:
        return sorted(found.scope for found, _ in storage.search(vector, **given))

    assert scopes(min_score=0.99) == ["/a", "/a/b", "/ab"]
    assert scopes(scope_prefix="/a", min_score=0.99) == ["/a", "/a/b"]
    assert scopes(scope_prefix="/a/", categories=["food", "x"]) == ["/a"]
    assert scopes(metadata_filter={"n": 2}) == ["/a/b"]
    assert len(scopes(limit=1)) == 1
    scores = [score for _, score in storage.search(vector, scope_prefix="/ab")]
    assert scores == [pytest.approx(1, abs=0.01)]
    with pytest.raises(InputError, match="embedder"):
        storage.search([0.5] * 64)


def test_records_are_listed_counted_and_deleted_by_scope(storage: MemlayerStorage) -> None:
    long_ago = datetime.now(UTC) - timedelta(days=9)
    records = [
        record("one", "/a/b", "x", created_at=long_ago),
        record("two", "/a/c", "x", "y"),
        record("three", "/d"),
        record("four", id="no uuid"),
    ]
    storage.save(records)
    storage.save(records[:1])
    assert [item.content for item in storage.list_records(limit=2, offset=1)][-1] in (
        "two",
        "three",
    )
    assert (storage.count(), storage.count("/a"), storage.count("/a/b")) == (4, 2, 1)
    assert storage.list_scopes() == ["/a", "/d"]
    assert storage.list_scopes("/a/") == ["/a/b", "/a/c"]
    assert storage.list_categories("/a") == {"x": 2, "y": 1}
    info = storage.get_scope_info("/a")
    assert (info.record_count, info.categories) == (2, ["x", "y"])
    assert info.child_scopes == ["/a/b", "/a/c"]
    assert info.oldest_record == long_ago
    got = storage.get_record("no uuid")
    assert got is not None
    assert got.content == "four"
    assert storage.delete(record_ids=[records[0].id, records[2].id], scope_prefix="/a") == 1
    assert storage.delete(record_ids=["no uuid"]) == 1
    assert storage.delete(older_than=long_ago) == 0
    assert storage.delete(categories=["y"]) == 1
    assert [item.content for item in storage.list_records()] == ["three"]


def test_storages_of_different_agents_see_nothing_of_each_other(memory: Memory) -> None:
    one, two = MemlayerStorage(memory), MemlayerStorage(memory, agent_id="other")
    kept = record("tea")
    one.save([kept])
    assert two.get_record(kept.id) is None
    assert two.delete(record_ids=[kept.id]) == 0
    two.reset()
    assert one.count() == 1


def test_what_is_awaited_does_the_same(storage: MemlayerStorage) -> None:
    async def talk() -> None:
        await storage.asave([record("green tea")])
        [vector] = storage.embedder(["green tea"])
        assert len(await storage.asearch(vector, limit=1)) == 1
        assert await storage.adelete(scope_prefix="/") == 1

    asyncio.run(talk())
