"""Messages stored word for word are found by what was said before them."""

from __future__ import annotations

import itertools
from typing import Any

import psycopg
import pytest

from tests.api.test_reading import ANN, found

CONTEXTS = """
select text, context from memlayer.memory where tenant = %(tenant)s order by created_at
"""


def talk(memory: Any, *texts: str, **given: Any) -> list[str]:
    """Store what a user and an assistant say in turn, word for word; the ids."""
    messages = [
        {"role": role, "content": text}
        for role, text in zip(itertools.cycle(["user", "assistant"]), texts, strict=False)
    ]
    results = memory.add(messages, infer=False, **({"user_id": "ann"} | given))["results"]
    return [item["id"] for item in results]


def by_words(memory: Any, query: str) -> list[str]:
    return found(memory.keyword_search(query, filters=ANN))


def test_an_answer_is_found_by_its_question(
    memory: Any, sql: Any, endpoint: Any, consistent: None
) -> None:
    talk(memory, "Which instrument do you play?", "The cello, for ten years")
    assert sql(CONTEXTS) == [
        ("Which instrument do you play?", None),
        ("The cello, for ten years", "Which instrument do you play?"),
    ]
    assert by_words(memory, "instrument") == [
        "Which instrument do you play?",
        "The cello, for ten years",
    ]
    assert by_words(memory, "cello") == ["The cello, for ten years"]
    question = memory.search("Which instrument do you play?", filters=ANN, threshold=0)["results"]
    assert [item["memory"] for item in question] == [text for text, _ in sql(CONTEXTS)]
    assert all("context" not in item for item in question)


def test_the_buffer_of_exactly_this_scope_tells_what_came_before(memory: Any, sql: Any) -> None:
    talk(memory, "a", "of a run", run_id="r")
    talk(memory, "b", "one")
    talk(memory, "two", "three")
    talk(memory, "of another", user_id="bob")
    contexts = dict(sql(CONTEXTS))
    assert (contexts["b"], contexts["two"], contexts["of another"]) == (None, "one", None)


def test_what_is_only_in_the_callers_transaction_comes_before(
    make: Any, live: str, tenant: str, kind: str
) -> None:
    if kind == "async":
        pytest.skip("the flow is the same")
    memory = make()
    query = "select context from memlayer.memory where tenant = %s and text = 'two'"
    with psycopg.connect(live) as conn:
        talk(memory, "zero", "one", connection=conn)
        talk(memory, "two", connection=conn)
        newest = conn.execute(query, [tenant]).fetchall()
        conn.rollback()
    assert newest == [("one",)]


def test_a_new_text_keeps_the_context(
    memory: Any, sql: Any, endpoint: Any, consistent: None
) -> None:
    [_, answer] = talk(memory, "Which instrument do you play?", "The cello")
    memory.update(answer, "The viola")
    assert endpoint.embedded[-1] == ["The viola"]
    assert by_words(memory, "instrument") == ["Which instrument do you play?", "The viola"]
    assert sql(CONTEXTS)[1] == ("The viola", "Which instrument do you play?")
    item = memory.get(answer)
    assert (item["memory"], "context" in item) == ("The viola", False)


def test_the_hash_and_the_names_are_of_the_text_alone(memory: Any, sql: Any) -> None:
    talk(memory, "Ann lives in Oslo", "really?")
    talk(memory, "really?", user_id="bob")
    rows = sql("select hash from memlayer.memory where tenant = %(tenant)s and text = 'really?'")
    assert len(rows) == 2
    assert len(set(rows)) == 1
    query = """select m.text from memlayer.mention n
                 join memlayer.memory m on m.tenant = n.tenant and m.id = n.memory_id
                where n.tenant = %(tenant)s"""
    assert set(sql(query)) == {("Ann lives in Oslo",)}


def test_one_switch_turns_it_off(make: Any, sql: Any, endpoint: Any) -> None:
    memory = make(context="off")
    talk(memory, "one", "two")
    talk(memory, "three")
    assert {context for _, context in sql(CONTEXTS)} == {None}
    assert endpoint.embedded == [["one", "two"], ["three"]]


def test_the_vector_may_be_of_both(make: Any, sql: Any, endpoint: Any, consistent: None) -> None:
    memory = make(context="full")
    [_, answer] = talk(memory, "Which instrument do you play?", "The cello")
    memory.update(answer, "The viola")
    assert endpoint.embedded == [
        ["Which instrument do you play?", "Which instrument do you play?\nThe cello"],
        ["Which instrument do you play?\nThe viola"],
    ]
    sql("update memlayer.memory set text = 'The violin' where id = %(id)s", id=answer)
    memory.embed_pending()
    assert endpoint.embedded[-1] == ["Which instrument do you play?\nThe violin"]
