"""Whose a memory is, and what values its metadata have: both kinds of memory."""

from __future__ import annotations

from typing import Any

import pytest

from memlayer_pg import InputError, ScopeMissing


def test_an_id_belongs_to_whose_ids_the_memory_carries(memory: Any) -> None:
    id_ = memory.add("tea", user_id="ann", infer=False)["results"][0]["id"]
    memory.delete(id_)
    assert memory.belongs_to(id_, "ann") is True
    assert memory.belongs_to(id_, user_id="bob") is False
    assert memory.belongs_to("no uuid", user_id="ann") is False
    with pytest.raises(ScopeMissing):
        memory.belongs_to(id_)


def test_the_values_of_a_key_come_with_their_numbers(memory: Any) -> None:
    for topic in ("food", "food", ["a"]):
        memory.add("tea", user_id="ann", metadata={"topic": topic, "n": 1}, infer=False)
    ann = {"user_id": "ann"}
    assert memory.metadata_values("topic", filters=ann) == [
        {"value": "food", "memories": 2},
        {"value": ["a"], "memories": 1},
    ]
    assert memory.metadata_values("topic", filters={**ann, "n": 2}) == []
    with pytest.raises(ScopeMissing):
        memory.metadata_values("topic")
    with pytest.raises(InputError):
        memory.metadata_values(None, filters=ann)
