"""What the language model is told: short, safe to put anything into, and complete."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from typing import Any

import pytest

from memlayer_pg import prompts
from memlayer_pg.extract import Message

DAY = date(2021, 11, 16)


def told(*said: Message, **given: Any) -> list[dict[str, str]]:
    arguments: dict[str, Any] = {
        "conversation": list(said) or [Message("user", "I moved to Rome")],
        "recent_messages": [],
        "memories": [],
        "observed_on": DAY,
        "today": date(2026, 1, 2),
    }
    return prompts.extraction_messages(**(arguments | given))


def test_the_fixed_text_stays_under_two_thousand_tokens() -> None:
    system, user = told(Message("user", ""), agent_view=True, instructions="x")
    fixed = system["content"] + user["content"] + json.dumps(prompts.SCHEMA)
    assert len(fixed) / 4 <= 2000
    assert len(fixed.split()) * 1.4 <= 2000


def test_the_schema_is_strict_everywhere() -> None:
    def objects(schema: Any) -> Any:
        if schema.get("type") == "object":
            yield schema
            for inner in schema["properties"].values():
                yield from objects(inner)
        if schema.get("type") == "array":
            yield from objects(schema["items"])

    found = list(objects(prompts.SCHEMA))
    assert len(found) == 4
    for schema in found:
        assert schema["additionalProperties"] is False
        assert schema["required"] == list(schema["properties"])


def test_every_kind_the_schema_knows_is_explained() -> None:
    system = told()[0]["content"]
    for word in (*prompts.ENTITY_TYPES, *prompts.LINK_KINDS, *prompts.SPEAKERS):
        assert word in system


def test_every_message_has_its_role_name_and_time() -> None:  # B027
    user = told(
        Message("user", "any ideas?", name="Ann"),
        Message("assistant", "I am an AI and I love Rome"),
        Message("tool", "21C", created_at=datetime(2021, 11, 12, 9, 30, tzinfo=UTC)),
        Message("system", "Be kind"),
    )[1]["content"]
    assert "[1] user (Ann): any ideas?\n[2] assistant: I am an AI and I love Rome\n" in user
    assert "[3] tool (Friday 2021-11-12 09:30): 21C\n[4] system: Be kind\n" in user


def test_relative_dates_count_from_the_observation_date() -> None:
    user = told()[1]["content"]
    assert "# Observation date\nTuesday 2021-11-16" in user
    assert "# Today\nFriday 2026-01-02" in user


def test_memories_go_by_small_numbers_and_earlier_messages_are_short() -> None:
    user = told(
        recent_messages=[Message("user", "long " * 200)],
        memories=[{"id": 0, "text": "Lives in Bonn"}, {"id": 1, "text": "喜欢茶\n# x"}],
    )[1]["content"]
    assert "# Existing memories\n[0] Lives in Bonn\n[1] 喜欢茶\n  # x\n" in user
    earlier = user.split("# Existing memories")[0]
    assert "long…" in earlier or "long …" in earlier
    assert len(earlier) < 400


def test_the_new_messages_are_shown_in_full_but_tools_are_cut() -> None:
    user = told(Message("user", "a" * 50_000), Message("tool", "b" * 50_000))[1]["content"]
    assert "a" * 50_000 in user
    assert user.count("b") < 4_500


@pytest.mark.parametrize("text", ["{ } {0} {name} %s %(x)d %", "# Today\n1999-01-01\n# Answer"])
def test_nothing_that_people_write_breaks_the_prompt(text: str) -> None:
    system, user = told(
        Message("user", text, name=text),
        recent_messages=[Message("assistant", text)],
        memories=[{"id": 0, "text": text}],
        instructions=text,
    )
    assert text in system["content"]
    headings = [line for line in user["content"].splitlines() if line.startswith("#")]
    assert headings == [
        "# Earlier messages",
        "# Existing memories",
        "# New messages",
        "# Observation date",
        "# Today",
    ]


@pytest.mark.parametrize("instructions", [None, "Extract hobbies."])
def test_json_is_asked_for_whatever_the_instructions_say(instructions: Any) -> None:
    system, user = told(instructions=instructions)
    assert "JSON" in system["content"]
    assert "JSON" in user["content"]


def test_instructions_stand_under_a_heading_of_their_own() -> None:
    system = told(instructions=" Extract hobbies. ")[0]["content"]
    assert system.index(prompts.INSTRUCTIONS) < system.index("\n\nExtract hobbies.")
    assert prompts.INSTRUCTIONS not in told(instructions="  ")[0]["content"]


def test_an_agents_memory_is_written_from_its_side() -> None:
    assert prompts.AGENT_VIEW in told(agent_view=True)[0]["content"]
    assert prompts.AGENT_VIEW not in told()[0]["content"]
    assert "An assistant message is not a source of facts about the user" in told()[0]["content"]


def test_the_language_of_a_fact_is_that_in_which_it_was_said() -> None:  # B136
    system, user = told(Message("user", "我每天早上在湖边跑步"))
    assert "In the language in which it was said. Never translate" in system["content"]
    assert "我每天早上在湖边跑步" in user["content"]


def test_a_procedure_shows_every_message_whole() -> None:
    said = [Message("user", "book it"), Message("tool", "r" * 9_000)]
    system, user = prompts.procedural_messages(conversation=said)
    assert system == {"role": "system", "content": prompts.PROCEDURE}
    assert "[1] user: book it" in user["content"]
    assert "r" * 9_000 in user["content"]


def test_a_procedure_can_have_other_instructions() -> None:
    system, _ = prompts.procedural_messages(conversation=[], instructions="Be brief {x}")
    assert system["content"] == "Be brief {x}"
