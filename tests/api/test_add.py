"""add: what is stored, what is returned, what the models are told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from memlayer_pg.errors import (
    DatabaseError,
    EmbeddingError,
    EmbeddingMismatch,
    IdempotencyConflict,
    LLMError,
    NotStorable,
    ValidationError,
)
from tests.endpoint import embeddings, refusal

pytestmark = pytest.mark.usefixtures("consistent")


def test_facts_come_back_in_the_models_order_with_three_keys(memory: Any, endpoint: Any) -> None:
    endpoint.facts("Ann likes tea", "Ann lives in Oslo")
    results = memory.add("I like tea and live in Oslo", user_id="ann")["results"]
    assert [list(item) for item in results] == [["id", "memory", "event"]] * 2
    assert [item["memory"] for item in results] == ["Ann likes tea", "Ann lives in Oslo"]
    assert [memory.get(item["id"])["memory"] for item in results] == [
        "Ann likes tea",
        "Ann lives in Oslo",
    ]


def test_everything_of_an_add_is_there(memory: Any, endpoint: Any, sql: Any, counts: Any) -> None:
    endpoint.facts(
        {"text": "Ann works at Acme", "entities": [{"name": "Ann", "type": "person"},
                                                   {"name": "Acme", "type": "organization"}]}
    )  # fmt: skip
    memory.add("I am Ann of Acme", user_id="ann", metadata={"k": 1}, timestamp="2021-11-16")
    assert counts() == (1, 1, 2, 1, 1)
    [(operation, prompt, completion, embedding)] = sql(
        "select operation, prompt_tokens, completion_tokens, embedding_tokens"
        " from memlayer.change where tenant = %(tenant)s"
    )
    assert (operation, prompt, completion, embedding) == ("add", 11, 7, 4)
    [(observed, metadata, pending)] = sql(
        "select observed_at, metadata, embedding is null from memlayer.memory"
        " where tenant = %(tenant)s"
    )
    assert (observed.astimezone(UTC).date().isoformat(), metadata, pending) == (
        "2021-11-16",
        {"k": 1},
        False,
    )


def test_when_it_was_said_is_shown_where_that_was_told(memory: Any, endpoint: Any) -> None:  # B028
    endpoint.facts("the roof was mended")
    [told] = memory.add("x", user_id="ann", timestamp="2021-11-16")["results"]
    endpoint.facts("the roof is red")
    [untold] = memory.add("y", user_id="ann")["results"]
    assert memory.get(told["id"])["observed_at"] == "2021-11-16T00:00:00+00:00"
    assert "observed_at" not in memory.get(untold["id"])


def test_the_same_fact_is_stored_once_and_said_to_be_known(
    memory: Any, endpoint: Any
) -> None:  # B014
    endpoint.facts("Ann cycles to work")
    [first] = memory.add("I cycle to work", user_id="ann")["results"]
    for _ in range(3):
        assert memory.add("I cycle to work", user_id="ann") == {
            "results": [],
            "skipped": [{"id": first["id"], "memory": first["memory"], "reason": "duplicate"}],
        }
    assert len(memory.get_all(filters={"user_id": "ann"})["results"]) == 1


def test_the_same_fact_is_another_one_in_another_scope(memory: Any, endpoint: Any) -> None:  # B026
    endpoint.facts("cycles to work")
    for scope in ({"user_id": "a"}, {"user_id": "b"}, {"user_id": "a", "run_id": "r1"},
                  {"user_id": "a", "run_id": "r2"}):  # fmt: skip
        assert len(memory.add("x", **scope)["results"]) == 1
        assert memory.add("x", **scope)["results"] == []


def test_a_fact_whose_only_copy_has_expired_lives_again(memory: Any, endpoint: Any) -> None:
    endpoint.facts("the door code is 1234")
    yesterday = datetime.now(UTC).date() - timedelta(days=1)
    [first] = memory.add("x", user_id="ann", expiration_date=yesterday)["results"]
    assert memory.get_all(filters={"user_id": "ann"})["results"] == []
    [skipped] = memory.add("x", user_id="ann")["skipped"]
    assert (skipped["id"], skipped["reason"]) == (first["id"], "revived")
    assert len(memory.get_all(filters={"user_id": "ann"})["results"]) == 1


def test_what_was_said_is_stored_word_for_word(memory: Any, endpoint: Any) -> None:
    messages = [
        {"role": "system", "content": "be nice"},
        {"role": "user", "content": "my dog is called Pixel", "name": "ann"},
        {"role": "assistant", "content": "what a name"},
        {"role": "tool", "content": "ok"},
    ]
    results = memory.add(messages, user_id="u", infer=False)["results"]
    assert [list(item) for item in results] == [["id", "memory", "event", "actor_id", "role"]] * 3
    assert [(item["memory"], item["actor_id"], item["role"]) for item in results] == [
        ("my dog is called Pixel", "ann", "user"),
        ("what a name", None, "assistant"),
        ("ok", None, "tool"),
    ]
    assert endpoint.chats == []
    assert len(memory.messages(user_id="u")) == 4


def test_what_is_said_word_for_word_may_repeat(memory: Any) -> None:  # B014
    for _ in range(3):
        assert len(memory.add("hello", user_id="u", infer=False)["results"]) == 1
    assert len(memory.get_all(filters={"user_id": "u"})["results"]) == 3


def test_without_a_language_model_nothing_is_extracted(make: Any, endpoint: Any) -> None:
    memory = make(llm=None)
    [stored] = memory.add("I like tea", user_id="u")["results"]
    assert (stored["memory"], stored["role"]) == ("I like tea", "user")
    assert endpoint.chats == []


def test_parts_that_are_no_text_are_left_out(memory: Any, caplog: Any) -> None:  # B009
    content = [
        {"type": "text", "text": "My dog is called Pixel"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "input_text", "text": "and he is two"},
    ]
    with caplog.at_level("INFO", "memlayer_pg"):
        [stored] = memory.add([{"role": "user", "content": content}], user_id="u", infer=False)[
            "results"
        ]
    assert stored["memory"] == "My dog is called Pixel and he is two"
    assert "image_url" in caplog.text
    assert "AAAA" not in caplog.text
    assert [said["content"] for said in memory.messages(user_id="u")] == [stored["memory"]]


@pytest.mark.parametrize("infer", [True, False])
@pytest.mark.parametrize(
    "messages",
    ["", "   \n\t", [], [{"role": "user", "content": ""}], [{"role": "user", "content": []}],
     [{"role": "user", "content": {"type": "image_url", "image_url": {"url": "x"}}}]],
)  # fmt: skip
def test_talk_without_text_asks_no_model_and_writes_nothing(
    memory: Any, endpoint: Any, counts: Any, messages: Any, infer: bool
) -> None:  # B013
    assert memory.add(messages, user_id="u", infer=infer) == {"results": []}
    assert endpoint.requests == []
    assert counts() == (0, 0, 0, 0, 0)


def test_tool_calls_without_content_are_no_messages(memory: Any, endpoint: Any) -> None:  # B010
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "book it"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "assistant", "content": None},
        {
            "role": "tool",
            "tool_call_id": "1",
            "content": [{"type": "tool_result", "content": "21C"}],
        },
        {"role": "developer", "content": "be brief"},
    ]
    memory.add(messages, user_id="u")
    assert [(m["role"], m["content"]) for m in memory.messages(user_id="u")] == [
        ("user", "book it"),
        ("tool", "21C"),
        ("system", "be brief"),
    ]
    assert "book it" in endpoint.prompts[0]
    assert "tool_result" not in endpoint.prompts[0]
    stored = memory.add(messages, user_id="v", infer=False)["results"]
    assert [item["memory"] for item in stored] == ["book it", "21C"]


def test_an_empty_extraction_keeps_the_messages(memory: Any, counts: Any) -> None:
    assert memory.add("hello", user_id="u") == {"results": []}
    assert counts() == (0, 0, 0, 1, 1)


def test_the_newest_ten_messages_are_kept_and_shown_next_time(memory: Any, endpoint: Any) -> None:
    memory.add([{"role": "user", "content": f"line {n}"} for n in range(13)], user_id="u")
    assert [m["content"] for m in memory.messages(user_id="u")] == [
        f"line {n}" for n in range(3, 13)
    ]
    memory.add("the last one", user_id="u")
    earlier = endpoint.prompts[1].split("# New messages")[0]
    assert "line 12" in earlier
    assert "line 2" not in earlier


def test_known_memories_are_shown_by_number_and_linked_by_id(
    memory: Any, endpoint: Any, sql: Any
) -> None:
    endpoint.facts("Ann sits in seat 12C")
    [old] = memory.add("seat 12C", user_id="ann")["results"]
    link = [{"id": 0, "kind": "updates"}, {"id": 12, "kind": "related"}]
    endpoint.facts({"text": "Ann moved from seat 12C to 14A", "links": link})
    [new] = memory.add("now 14A", user_id="ann")["results"]
    assert "[0] Ann sits in seat 12C" in endpoint.prompts[1]
    assert old["id"] not in endpoint.prompts[1]
    links = sql(
        "select memory_id::text, linked_id::text, kind from memlayer.link where tenant = %(tenant)s"
    )
    assert links == [(new["id"], old["id"], "updates")]


def test_a_correction_said_in_a_conversation_is_what_every_reader_shows(
    memory: Any, endpoint: Any, sql: Any
) -> None:  # B067
    endpoint.facts("Ann sits in seat 12C")
    memory.add("seat 12C", user_id="ann")
    link = [{"id": 0, "kind": "updates"}]
    endpoint.facts({"text": "Ann sits in seat 14A", "links": link})
    [new] = memory.add("no, 14A", user_id="ann")["results"]
    ann = {"user_id": "ann"}
    for query in ("Ann sits in seat", "Ann sits in seat 12C"):
        first, second = memory.search(query, filters=ann)["results"]
        assert (first["memory"], second["superseded_by"]) == ("Ann sits in seat 14A", new["id"])
    [current] = memory.search("seat", filters=ann, include_superseded=False)["results"]
    assert current["id"] == new["id"]
    assert memory.get_all(filters=ann)["results"][0]["id"] == new["id"]
    assert sql("select text from memlayer.memories where tenant = %(tenant)s and is_current") == [
        ("Ann sits in seat 14A",)
    ]


def test_nothing_of_another_user_is_put_into_a_prompt(memory: Any, endpoint: Any) -> None:
    endpoint.facts("Bob hides the key under the doormat")
    memory.add("the key is under the mat", user_id="bob")
    memory.add("where is the key?", user_id="ann")
    assert "doormat" not in endpoint.prompts[1]


def test_a_procedural_memory_is_one_record(memory: Any, endpoint: Any) -> None:
    endpoint.reply("```\n1. opened the page\n```")
    [stored] = memory.add("open it", agent_id="bot", memory_type="procedural_memory")["results"]
    assert list(stored) == ["id", "memory", "event"]
    assert memory.get(stored["id"])["metadata"] == {"memory_type": "procedural_memory"}
    assert memory.messages(agent_id="bot") == []


def test_the_same_key_stores_once_and_answers_the_same(memory: Any, endpoint: Any) -> None:
    for infer in (True, False):
        endpoint.facts("Ann likes tea")
        given = {"user_id": "ann", "infer": infer, "idempotency_key": f"k-{infer}"}
        first = memory.add("I like tea", **given)
        asked = len(endpoint.chats)
        again = memory.add("I like tea", **given)
        assert [item["id"] for item in again["results"]] == [
            item["id"] for item in first["results"]
        ]
        assert len(endpoint.chats) == asked
        with pytest.raises(IdempotencyConflict):
            memory.add("I like coffee", **given)
    assert len(memory.get_all(filters={"user_id": "ann"})["results"]) == 2


def test_a_language_model_that_fails_leaves_nothing(make: Any, endpoint: Any, counts: Any) -> None:
    memory = make()
    for answer in (refusal(401, "bad key"), refusal(400, "no"), "I would rather not.", ""):
        endpoint.reply(answer)
        with pytest.raises(LLMError, match=r"^LLM extraction failed: ") as caught:
            memory.add("I like tea", user_id="ann")
        assert caught.value.error_code == "LLM_001"
    assert counts() == (0, 0, 0, 0, 0)


@pytest.mark.parametrize("infer", [True, False])
def test_an_embedder_that_fails_leaves_nothing(
    memory: Any, endpoint: Any, counts: Any, infer: bool
) -> None:
    endpoint.facts("a", "b")
    endpoint.embeddings = lambda request: embeddings(
        [endpoint.embed("x")] * (len(request["input"]) - 1)
    )
    with pytest.raises(EmbeddingError):
        memory.add("I like tea", user_id="ann", infer=infer)
    assert counts() == (0, 0, 0, 0, 0)


def test_vectors_of_another_size_or_model_are_refused_by_name(
    make: Any, memory: Any, endpoint: Any, counts: Any
) -> None:
    memory.add("hello", user_id="u", infer=False)
    before = counts()
    endpoint.dimensions = 32
    for given in ({"infer": False}, {"infer": True}):
        with pytest.raises(EmbeddingMismatch, match=r"64 dimensions.*32 dimensions"):
            memory.add("more", user_id="u", **given)
    with pytest.raises(EmbeddingMismatch, match=r"64 dimensions.*32 dimensions"):
        memory.search("hello", filters={"user_id": "u"})
    assert counts() == before


def test_a_fact_the_database_refuses_takes_the_others_with_it(
    memory: Any, endpoint: Any, counts: Any, sql: Any, tenant: str
) -> None:  # B005
    endpoint.facts("Ann likes tea", "x" * 11_000_000, "Ann lives in Oslo")
    with pytest.raises(NotStorable):
        memory.add("hello", user_id="u")
    assert counts() == (0, 0, 0, 0, 0)


def test_a_fact_a_trigger_refuses_takes_the_others_with_it(
    make: Any, endpoint: Any, database: str
) -> None:  # B005
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute(
            "create function refuse() returns trigger language plpgsql as $$"
            " begin raise exception 'not this one'; end $$;"
            " create trigger refuse before insert on memlayer.memory for each row"
            " when (new.text like '%boom%') execute function refuse()"
        )
        memory = make(dsn=database)
        endpoint.facts("Ann likes tea", "boom", {"text": "in Oslo", "entities": [{"name": "Oslo"}]})
        with pytest.raises(DatabaseError, match="not this one"):
            memory.add("hello", user_id="u")
        for table in ("memory", "history", "entity", "message", "change"):
            assert conn.execute(f"select from memlayer.{table}".encode()).fetchall() == [], table
        endpoint.facts("Ann likes tea", "Ann lives in Oslo")
        stored = memory.add("hello", user_id="u")["results"]
        assert [memory.get(item["id"])["memory"] for item in stored] == [
            "Ann likes tea",
            "Ann lives in Oslo",
        ]


@pytest.mark.parametrize("text", ["👩‍👩‍👧‍👦 loves 🍜 — “quotes” İstanbul ß ﷽", "$$ \\ %s {} ' --"])
def test_text_is_kept_code_point_by_code_point(memory: Any, sql: Any, text: str) -> None:  # B136
    [stored] = memory.add(text, user_id="u", infer=False)["results"]
    assert stored["memory"] == memory.get(stored["id"])["memory"] == text
    assert memory.history(stored["id"])[0]["new_memory"] == text
    assert sql("select text from memlayer.memory where tenant = %(tenant)s") == [(text,)]
    assert memory.messages(user_id="u")[0]["content"] == text
    assert memory.search(text, filters={"user_id": "u"})["results"][0]["memory"] == text
    memory.update(stored["id"], "x")
    memory.update(stored["id"], text)
    assert memory.history(stored["id"])[-1]["new_memory"] == text
    assert sql("select text from memlayer.memories where tenant = %(tenant)s") == [(text,)]


def test_a_text_of_five_megabytes_is_stored(memory: Any) -> None:
    text = "the river rose again " * 250_000
    [stored] = memory.add(text, user_id="u", infer=False)["results"]
    assert memory.get(stored["id"])["memory"] == text


def test_several_conversations_are_added_each_by_itself(memory: Any, endpoint: Any) -> None:
    endpoint.chat = lambda request: (
        refusal(400, "no") if "bad" in request["messages"][1]["content"] else '{"facts":["fine"]}'
    )
    told: list[tuple[int, int]] = []
    jobs = [{"messages": text, "user_id": f"u{n}"} for n, text in enumerate(["a", "bad", "c"])]
    results = memory.add_many(
        jobs, concurrency=2, on_progress=lambda done, all_: told.append((done, all_))
    )
    assert [item["memory"] for n in (0, 2) for item in results[n]["results"]] == ["fine", "fine"]
    assert isinstance(results[1]["error"], LLMError)
    assert sorted(told) == [(1, 3), (2, 3), (3, 3)]


def test_a_foreign_error_in_one_conversation_does_not_lose_the_others(make: Any) -> None:
    class Odd(dict[str, Any]):
        def get(self, key: str, default: Any = None) -> Any:
            raise RuntimeError("odd")

    memory = make(llm=None)
    jobs = [
        {"messages": "a", "infer": False},
        {"messages": [Odd(role="user", content="b")]},
        {"messages": "c", "infer": False},
    ]
    first, second, third = memory.add_many(jobs, user_id="ann", concurrency=2)
    assert [item["memory"] for done in (first, third) for item in done["results"]] == ["a", "c"]
    assert isinstance(second["error"], RuntimeError)


def test_an_argument_that_add_does_not_take_is_named_before_anything_is_added(
    memory: Any, endpoint: Any
) -> None:
    with pytest.raises(ValueError, match="'user'; did you mean 'user_id'"):
        memory.add_many([{"messages": "a", "user": "u"}])
    with pytest.raises(ValueError, match="has no 'messages'"):
        memory.add_many([{}], user_id="u")
    with pytest.raises(ValidationError):
        memory.add("x")
    assert endpoint.requests == []
