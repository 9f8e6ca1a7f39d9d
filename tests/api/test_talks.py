"""Longer conversations with the local embedder: words, names and identifiers find what was said."""

from __future__ import annotations

import pytest

from memlayer_pg.models import local
from memlayer_pg.models.local import LocalEmbedder
from tests.api.harness import Make
from tests.api.talks import TALKS


@pytest.mark.skipif(local.installed() is None, reason="needs memlayer-pg[local]")
@pytest.mark.parametrize(("said", "asked"), TALKS.values(), ids=TALKS)
def test_what_was_said_is_among_the_first_three(
    make: Make, said: list[str], asked: dict[str, str]
) -> None:
    memory = make(embedder=LocalEmbedder())
    for begin in range(0, len(said), 6):
        messages = [{"role": "user", "content": text} for text in said[begin : begin + 6]]
        memory.add(messages, user_id="ann", infer=False)
    missed = {}
    for question, answer in asked.items():
        found = memory.search(question, filters={"user_id": "ann"}, top_k=3)["results"]
        texts = [item["memory"] for item in found]
        if not any(answer in text for text in texts):
            missed[question] = texts
    assert missed == {}
