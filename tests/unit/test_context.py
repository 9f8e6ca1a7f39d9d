"""What is indexed with a message that is stored word for word."""

from __future__ import annotations

from typing import Any

from memlayer_pg import context
from memlayer_pg.flows import Store
from tests.unit.test_flows import ROW, World, add, added, update

FULL = Store(context="full")


def said(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "content": content, "name": None, "created_at": None}


def contexts(world: World, messages: Any, store: Any = None) -> list[str | None]:
    add(world, messages, store, infer=False)
    return [fact.get("context") for fact in world.args("add")["p_facts"]]


def test_a_message_is_indexed_with_the_one_before_it_in_the_call() -> None:
    world = World(add=added)
    messages = [
        said("user", "Where do you live?"),
        said("assistant", "In Oslo"),
        said("system", "be nice"),
        said("user", "Since when?"),
    ]
    assert contexts(world, messages, FULL) == [None, "Where do you live?", "In Oslo"]
    [embedded] = [effect for effect in world.seen if hasattr(effect, "texts")]
    assert embedded.texts == (
        "Where do you live?",
        "Where do you live?\nIn Oslo",
        "In Oslo\nSince when?",
        "Oslo",
    )
    facts = world.args("add")["p_facts"]
    assert [fact["text"] for fact in facts] == ["Where do you live?", "In Oslo", "Since when?"]
    assert [fact.get("entities") for fact in facts] == [None, [1], None]


def test_the_first_message_of_a_call_follows_the_newest_in_the_buffer() -> None:
    world = World(add=added, messages=[said("user", "old"), said("assistant", "new")])
    assert contexts(world, "and then?") == ["new"]
    assert world.kinds == ["messages", "Embed", "add"]
    assert world.args("messages")["p_user_id"] == "ann"


def test_what_systems_and_tools_say_is_no_context() -> None:
    buffered = [said("assistant", "a"), said("tool", "b"), said("system", "c")]
    messages = [said("system", "d"), said("tool", "e"), said("user", "f"), said("tool", "g")]
    assert contexts(World(add=added, messages=buffered), messages) == ["a", "a", "f"]
    world = World(add=added, messages=buffered[1:])
    assert contexts(world, messages) == [None, None, "f"]
    assert world.kinds.count("messages") == 1


def test_by_itself_a_vector_is_of_the_text_alone() -> None:
    world = World(add=added)
    assert contexts(world, [said("user", "a?"), said("assistant", "b")]) == [None, "a?"]
    assert world.seen[1].texts == ("a?", "b")


def test_who_goes_on_speaking_may_speak_of_anything() -> None:
    messages = [said("user", "I like tea"), said("user", "My bike is red")]
    assert contexts(World(add=added, messages=messages), messages) == [None, None]
    group = [
        said("user", "Tea?") | {"name": "Ann"},
        said("user", "Rather coffee") | {"name": "Bob"},
        said("user", "As always") | {"name": "Bob"},
    ]
    assert contexts(World(add=added), group) == [None, "Tea?", None]


def test_of_a_long_message_the_end_is_the_context() -> None:
    long = "x" * 5000 + " " + "y" * (context.LONGEST - 2) + "   \n"
    [_, found] = contexts(World(add=added), [said("user", long), said("assistant", "z")])
    assert found == "x " + "y" * (context.LONGEST - 2)


def test_no_text_is_cut_in_its_embedding_for_what_came_before() -> None:
    before = "猫" * 2000
    for text in ("short", "狗" * 300, "x" * (context.EMBEDDED - 1), "x" * 5000):
        embedded = context.embedded(FULL, text, before)
        assert embedded.endswith(text)
        assert len(embedded.encode()) <= max(context.EMBEDDED + 1, len(text))
    assert context.embedded(FULL, "short", before).count("猫") > 300
    assert context.embedded(FULL, "short", "before") == "before\nshort"
    assert context.embedded(FULL, "short", None) == "short"


def test_context_can_be_turned_off() -> None:
    world = World(add=added)
    messages = [said("user", "a"), said("assistant", "b")]
    assert contexts(world, messages, Store(context="off")) == [None, None]
    assert world.kinds == ["Embed", "add"]


def test_facts_and_procedures_have_no_context() -> None:
    world = World([{"text": "A"}], add=added)
    add(world, [said("user", "a"), said("assistant", "b")])
    assert "context" not in world.args("add")["p_facts"][0]
    assert "messages" not in world.kinds


def test_a_new_text_is_embedded_with_the_context_it_has() -> None:
    world = World(get=[ROW | {"context": "Tea or coffee?"}], update=[ROW])
    update(world, "coffee", store=FULL)
    assert world.seen[1].texts == ("Tea or coffee?\ncoffee",)
    assert world.args("update")["p_text"] == "coffee"
