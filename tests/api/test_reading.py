"""search, get, get_all, history, messages and scopes: what they give, and in which shape."""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from memlayer_pg.errors import EmbeddingError, FilterError, InputError
from tests.api.harness import model
from tests.endpoint import Endpoint, refusal

ANN = {"user_id": "ann"}
NOWHERE = "00000000-0000-4000-8000-000000000000"


def say(memory: Any, *texts: str, **given: Any) -> list[str]:
    """Store texts word for word; their ids."""
    messages = [{"role": "user", "content": text} for text in texts]
    results = memory.add(messages, infer=False, **({"user_id": "ann"} | given))["results"]
    return [item["id"] for item in results]


def found(answer: Any) -> list[str]:
    return [item["memory"] for item in answer["results"]]


def test_a_search_gives_mem0s_keys_in_mem0s_order(memory: Any, endpoint: Any) -> None:
    endpoint.facts("Ann likes green tea")
    memory.add("x", user_id="ann", agent_id="bot", run_id="r", metadata={"k": 1},
               expiration_date="2999-01-01")  # fmt: skip
    [item] = memory.search("green tea", filters=ANN)["results"]
    assert list(item) == [
        "id", "memory", "hash", "metadata", "score", "created_at", "updated_at", "user_id",
        "agent_id", "run_id", "attributed_to", "expiration_date", "version",
    ]  # fmt: skip
    assert (item["metadata"], item["expiration_date"]) == ({"k": 1}, "2999-01-01")
    assert 0 < item["score"] <= 1
    got = memory.get(item["id"])
    assert list(got) == list(item)
    assert got["score"] is None
    [listed] = memory.get_all(filters=ANN)["results"]
    assert list(listed) == [key for key in item if key != "score"]


def test_what_was_said_carries_who_said_it(memory: Any) -> None:
    message = {"role": "user", "content": "hello", "name": "Ann"}
    [stored] = memory.add([message], user_id="ann", infer=False)["results"]
    item = memory.get(stored["id"])
    assert (item["actor_id"], item["role"], item["metadata"]) == ("Ann", "user", None)


def test_all_times_are_utc_and_the_same_everywhere(memory: Any) -> None:  # B065
    [id_] = say(memory, "hello tea")
    item = memory.get(id_)
    [hit] = memory.search("tea", filters=ANN)["results"]
    [listed] = memory.get_all(filters=ANN)["results"]
    [event] = memory.history(id_)
    assert item["created_at"].endswith("+00:00")
    assert item["created_at"] == item["updated_at"]
    for other in (hit, listed, event):
        assert other["created_at"] == item["created_at"]


def test_no_time_zone_of_the_session_shows(make: Any, live: str) -> None:  # B065
    from psycopg.conninfo import make_conninfo

    memory = make(dsn=make_conninfo(live, options="-c TimeZone=Asia/Kolkata"))
    [id_] = say(memory, "hello", expiration_date=datetime.now(UTC).date())
    assert memory.get(id_)["created_at"].endswith("+00:00")
    assert memory.history(id_)[0]["updated_at"].endswith("+00:00")
    assert len(memory.get_all(filters=ANN)["results"]) == 1


def test_the_best_answer_comes_first_and_explains_itself(memory: Any) -> None:
    say(memory, "the river rose", "green tea with lemon", "tea")
    answer = memory.search("green tea", filters=ANN, explain=True)
    assert found(answer)[0] == "green tea with lemon"
    for item in answer["results"]:
        parts = item["score_details"]
        summed = parts["semantic_score"] + parts["bm25_score"] + parts["entity_boost"]
        assert summed == pytest.approx(parts["raw_score"])
        assert item["score"] == parts["final_score"]


def test_a_query_is_embedded_without_the_blanks_around_it(memory: Any, endpoint: Any) -> None:
    memory.search(" hello \n", filters=ANN)
    assert endpoint.embedded == [["hello"]]


@pytest.mark.parametrize(
    "query",
    ["speed > 3.2 (x|y) & !z:*", "it's", "foo:*", "'", "\\", "a <-> b", "100%", "!!!", "🙂",
     "the and of", "a " * 500, "x" * 50_000, '"', "$$", "{}", "%s"],
)  # fmt: skip
def test_any_text_is_a_query(memory: Any, query: str) -> None:
    say(memory, "hello")
    assert len(memory.search(query, filters=ANN, threshold=0)["results"]) <= 1


def test_top_k_says_how_many_at_most(memory: Any) -> None:
    say(memory, *(f"tea number {n}" for n in range(25)))
    for given, wanted in ((0, 0), (3, 3), (None, 20), (10**9, 25)):
        assert len(memory.search("tea", filters=ANN, top_k=given)["results"]) == wanted
        assert len(memory.get_all(filters=ANN, top_k=given)["results"]) == wanted


def test_a_reader_that_reranks_asks_the_reranker(make: Any, caplog: Any) -> None:
    class Backwards:
        def rerank(self, query: str, documents: list[Any], top_k: int) -> list[Any]:
            for item in documents:
                item["rerank_score"] = 0.5
            return documents[::-1]

    memory = make(reranker=Backwards())
    say(memory, "green tea", "tea")
    plain = memory.search("tea", filters=ANN)["results"]
    reranked = memory.search("tea", filters=ANN, rerank=True)["results"]
    assert [item["id"] for item in reranked] == [item["id"] for item in plain[::-1]]
    assert [list(item)[-1] for item in reranked] == ["rerank_score"] * 2

    class Broken:
        def rerank(self, query: str, documents: list[Any], top_k: int) -> list[Any]:
            raise RuntimeError("down")

    broken = make(reranker=Broken())
    found = broken.search("tea", filters=ANN, rerank=True)
    assert found == {"results": plain, "rerank_error": "the reranker raised RuntimeError: down"}
    assert "the reranker failed (RuntimeError)" in caplog.text
    assert "down" not in caplog.text


def test_a_language_model_can_be_the_reranker(make: Any, endpoint: Endpoint, caplog: Any) -> None:
    memory = make(reranker=model(endpoint, max_retries=0))
    say(memory, "green tea", "tea")
    plain = memory.search("tea", filters=ANN)["results"]
    endpoint.reply('{"scores": [{"index": 1, "score": 0.9}]}')
    found = memory.search("tea", filters=ANN, rerank=True)
    assert found == {
        "results": [plain[1] | {"rerank_score": 0.9}, plain[0] | {"rerank_score": None}]
    }
    assert len(endpoint.chats) == 1
    endpoint.reply(refusal(400, "I was given: green tea"))
    found = memory.search("tea", filters=ANN, rerank=True)
    assert found["results"] == plain
    assert found["rerank_error"].startswith("reranking failed: ")
    assert "status 400" in caplog.text
    assert "green tea" not in caplog.text


def test_a_reranker_may_be_put_in_later(memory: Any, caplog: Any) -> None:
    say(memory, "green tea", "tea")
    plain = memory.search("tea", filters=ANN)["results"]
    assert memory.search("tea", filters=ANN, rerank=True) == {"results": plain}
    assert "no reranker is configured" in caplog.text

    class Last:
        def rerank(self, query: str, documents: list[Any], top_k: int) -> Any:
            return [{"index": len(documents) - 1, "score": 1}]

    memory.memory.reranker = Last()
    [found] = memory.search("tea", filters=ANN, rerank=True)["results"]
    assert found == plain[-1] | {"rerank_score": 1.0}


def test_words_alone_are_searched_when_the_embedder_is_down(memory: Any, endpoint: Any) -> None:
    say(memory, "green tea", "the river")
    endpoint.embeddings = lambda request: refusal(400, "down")
    with pytest.raises(EmbeddingError):
        memory.search("tea", filters=ANN)
    assert found(memory.search("tea", filters=ANN, fallback="keyword")) == ["green tea"]
    asked = len(endpoint.requests)
    assert found(memory.keyword_search("tea", filters=ANN)) == ["green tea"]
    assert len(endpoint.requests) == asked


def test_similar_memories_are_those_of_the_same_scope(memory: Any) -> None:
    [first, second] = say(memory, "green tea", "black tea")
    say(memory, "green tea", user_id="bob")
    assert [item["id"] for item in memory.similar_to(first)["results"]] == [second]


@pytest.mark.parametrize(
    "wanted", ["ticket-77", "", "1; drop table x", NOWHERE, uuid.uuid4(), None]
)
def test_an_id_nobody_has_gives_nothing_and_harms_nothing(memory: Any, wanted: Any) -> None:  # B018
    assert memory.get(wanted) is None
    assert memory.history(wanted) == []
    for change in (memory.delete, lambda id_: memory.update(id_, "x")):
        with pytest.raises(ValueError, match="not found"):
            change(wanted)
    say(memory, "tea")
    assert found(memory.search("tea", filters=ANN)) == ["tea"]


def test_pages_are_disjoint_complete_and_say_when_there_are_more(memory: Any) -> None:
    ids = say(memory, *(f"line {n}" for n in range(10)))
    seen: list[str] = []
    cursor = None
    while True:
        page = memory.get_all(filters=ANN, top_k=4, after=cursor, with_total=True)
        assert page["total"] == 10
        seen += [item["id"] for item in page["results"]]
        if "next" not in page:
            break
        cursor = page["next"]
    assert seen == ids[::-1]
    assert list(memory.get_all(filters=ANN)) == ["results"]
    assert memory.get_all(filters={"user_id": "nobody"}, with_total=True) == {
        "results": [],
        "total": 0,
    }


def test_a_page_that_is_cut_shows_that_there_is_more(memory: Any) -> None:  # B038
    say(memory, *(f"line {n}" for n in range(47)))
    page = memory.get_all(filters=ANN)
    assert len(page["results"]) == 20
    assert page["next"]
    everything = memory.get_all(filters=ANN, top_k=1000)
    assert len(everything["results"]) == 47
    assert "next" not in everything
    memory.delete(page["results"][-1]["id"])
    rest = memory.get_all(filters=ANN, top_k=1000, after=page["next"])["results"]
    assert rest == everything["results"][20:]
    assert memory.get_all(filters=ANN, after=page["next"], top_k=27)["results"] == rest


def test_a_cursor_that_is_none_is_an_error(memory: Any) -> None:
    for wrong in ("garbage", "5", 5, "\x00"):
        with pytest.raises(ValueError, match=r"(?i)after|cursor|NUL"):
            memory.get_all(filters=ANN, after=wrong)


def test_a_memory_is_shown_until_the_end_of_its_last_day(memory: Any) -> None:
    today = datetime.now(UTC).date()
    for day in (-1, 0, 1):
        say(memory, f"tea {day}", expiration_date=today + timedelta(days=day))
    for read in (memory.get_all, lambda **given: memory.search("tea", **given)):
        assert sorted(found(read(filters=ANN))) == ["tea 0", "tea 1"]
        assert len(read(filters=ANN, show_expired=True)["results"]) == 3
        later = today + timedelta(days=1)
        assert found(read(filters=ANN, reference_date=later)) == ["tea 1"]
        assert read(filters=ANN, reference_date=date(2000, 1, 1))["results"] == []
    [expired] = [
        item
        for item in memory.get_all(filters=ANN, show_expired=True)["results"]
        if item["memory"] == "tea -1"
    ]
    assert memory.get(expired["id"])["memory"] == "tea -1"


def test_a_moment_is_read_as_it_was(memory: Any) -> None:
    [tea] = say(memory, "Ann likes green tea")
    stored = memory.get(tea)["updated_at"]
    memory.update(tea, "Ann likes black coffee")
    changed = memory.get(tea)["updated_at"]
    memory.delete(tea)
    for read in (memory.get_all, lambda **given: memory.search("tea or coffee?", **given)):
        assert found(read(filters=ANN)) == []
        # The text of a result is a moment, and so are a datetime, with a zone of its own or in UTC.
        there = datetime.fromisoformat(stored)
        elsewhere = there.astimezone(timezone(timedelta(hours=9)))
        for moment in (stored, there, elsewhere, there.replace(tzinfo=None)):
            assert found(read(filters=ANN, as_of=moment)) == ["Ann likes green tea"]
        [then] = read(filters=ANN, as_of=changed)["results"]
        assert (then["id"], then["memory"]) == (tea, "Ann likes black coffee")
        assert then["updated_at"] == changed
        assert read(filters=ANN, as_of="2020-01-01") == {"results": []}
        assert read(filters=ANN, as_of="2999-01-01") == {"results": []}
        with pytest.raises(InputError, match="exclude each other"):
            read(filters=ANN, as_of=stored, reference_date=there.date())


def test_a_scope_cannot_be_left(memory: Any) -> None:
    say(memory, "tea of ann")
    say(memory, "tea of bob", user_id="bob")
    ways_out: list[dict[str, Any]] = [
        {"AND": [{"user_id": "bob"}]},
        {"AND": [{"user_id": "*"}]},
        {"OR": [{"user_id": "bob"}, {"user_id": "ann"}]},
        {"OR": [{"user_id": {"ne": "x"}}]},
        {"NOT": [{"user_id": "ann"}]},
    ]
    for extra in ways_out:
        for read in (memory.get_all, lambda **given: memory.search("tea", **given)):
            assert "tea of bob" not in found(read(filters={"user_id": "ann", **extra}))
    for wrong in ("*", "", " ", ["ann"], {"eq": "ann"}):
        with pytest.raises(ValueError, match="user_id"):
            memory.get_all(filters={"user_id": wrong})
    for pattern in ("%", "_nn", "a%"):
        assert found(memory.get_all(filters={"user_id": pattern})) == []


def test_filters_are_those_of_the_database(memory: Any) -> None:
    for n, kind in enumerate("abc"):
        say(memory, f"tea {kind}", metadata={"kind": kind, "n": n})
    cases: list[tuple[dict[str, Any], list[str]]] = [
        ({"kind": "a"}, ["tea a"]),
        ({"n": {"gte": 1, "lt": 2}}, ["tea b"]),
        ({"kind": {"in": {"a", "c"}}}, ["tea a", "tea c"]),
        ({"OR": [{"kind": "a"}, {"NOT": [{"n": {"lt": 2}}]}]}, ["tea a", "tea c"]),
        ({"created_at": {"gte": date(2000, 1, 1)}}, ["tea a", "tea b", "tea c"]),
        ({"kind": "*"}, ["tea a", "tea b", "tea c"]),
    ]
    for given, wanted in cases:
        assert sorted(found(memory.get_all(filters={**ANN, **given}))) == wanted
        assert sorted(found(memory.search("tea", filters={**ANN, **given}))) == wanted


@pytest.mark.parametrize(
    "given",
    [{"n": {"regex": "x"}}, {"n": {"in": "abc"}}, {"OR": []}, {"AND": "x"}, {"n": {"gt": {}}}],
)
def test_a_filter_that_is_not_understood_is_an_error(memory: Any, given: Any) -> None:
    with pytest.raises(FilterError):
        memory.get_all(filters={**ANN, **given})
    with pytest.raises(FilterError):
        memory.search("tea", filters={**ANN, **given})


def test_history_tells_every_change_and_outlives_the_memory(memory: Any) -> None:  # B064
    [id_] = say(memory, "seat 12C")
    memory.update(id_, "seat 14A")
    memory.delete(id_)
    events = memory.history(id_)
    assert [list(event) for event in events] == [
        ["id", "memory_id", "old_memory", "new_memory", "event", "created_at", "updated_at",
         "is_deleted", "actor_id", "role"]
    ] * 3  # fmt: skip
    assert [(e["event"], e["old_memory"], e["new_memory"], e["is_deleted"]) for e in events] == [
        ("ADD", None, "seat 12C", False),
        ("UPDATE", "seat 12C", "seat 14A", False),
        ("DELETE", "seat 14A", None, True),
    ]
    times = [datetime.fromisoformat(event["updated_at"]) for event in events]
    assert times == sorted(times)
    assert {event["created_at"] for event in events} == {events[0]["created_at"]}


def test_the_buffer_is_that_of_exactly_these_ids(memory: Any) -> None:
    say(memory, "to ann")
    say(memory, "in a run", run_id="r")
    assert [m["content"] for m in memory.messages(user_id="ann")] == ["to ann"]
    [message] = memory.messages(user_id="ann", run_id="r")
    assert list(message) == ["role", "content", "name", "created_at"]


def test_scopes_are_counted(memory: Any) -> None:
    say(memory, "a", "b", agent_id="bot")
    say(memory, "c", user_id="bob")
    rows = [(row["type"], row["id"], row["total_memories"]) for row in memory.scopes()]
    assert rows == [("user", "ann", 2), ("user", "bob", 1), ("agent", "bot", 2)]
    assert [row["id"] for row in memory.scopes(user_id="bob")] == ["bob"]


def test_an_id_may_be_a_number_everywhere(memory: Any) -> None:  # B020
    memory.add("tea", user_id=42, infer=False)
    assert found(memory.search("tea", filters={"user_id": 42})) == ["tea"]
    assert found(memory.get_all(filters={"user_id": "42"})) == ["tea"]
    memory.add("tea", user_id=0, infer=False)
    memory.delete_all(user_id=0)
    assert len(memory.get_all(filters={"user_id": "42"})["results"]) == 1
    memory.delete_all(user_id=42)
    assert memory.scopes() == []
    someone = uuid.uuid4()
    memory.add("rum", user_id=someone, agent_id=7, infer=False)
    for asked in (someone, str(someone)):
        assert found(memory.get_all(filters={"user_id": asked, "agent_id": 7})) == ["rum"]
    for read in (memory.get_all, lambda **given: memory.search("rum", **given)):
        with pytest.raises(InputError, match="user_id"):
            read(filters={"user_id": True})
    with pytest.raises(InputError, match="user_id"):
        memory.delete_all(user_id=True)


def test_two_tenants_do_not_see_each_other(make: Any) -> None:
    ours, theirs = make(), make(tenant="somebody-else")
    [id_] = say(ours, "our tea")
    assert theirs.get(id_) is None
    assert theirs.history(id_) == []
    assert theirs.search("tea", filters=ANN)["results"] == []
    assert theirs.messages(user_id="ann") == []
    with pytest.raises(ValueError, match="not found"):
        theirs.delete(id_)
