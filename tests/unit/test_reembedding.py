"""How fast memories are re-embedded, by the effects of the flow: nobody waits here."""

from __future__ import annotations

from typing import Any

import pytest

from memlayer_pg import reembedding
from memlayer_pg.effects import Call, Effect, Embed, Embedded, Together, Wait, run
from memlayer_pg.flows import Store

PLAN = {
    "model": "old",
    "next_model": "new",
    "kept_model": None,
    "remaining": 300,
    "characters": 10,
    "bytes": 10,
}


@pytest.mark.parametrize(("rate", "waits"), [(1, [60, 60]), (None, [])])
def test_no_more_requests_a_minute_than_asked_for(rate: int | None, waits: list[int]) -> None:
    done: list[Effect] = []
    batches = [["a", "b"], ["c"], ["d"]]
    pages: list[Any] = [
        [{"id": t, "text": t, "context": None, "basis": t} for t in b] for b in batches
    ]

    def perform(effect: Effect) -> Any:
        match effect:
            case Embed(texts):
                done.append(effect)
                return Embedded([[1.0] for _ in texts], "new")
            case Wait():
                done.append(effect)
            case Together(flow):
                return run(flow, perform)
            case Call("reembed_plan"):
                return [dict(PLAN)]
            case Call("reembed_page"):
                return pages.pop(0) if pages else []
            case Call("reembed_close"):
                return [{"is_ready": True}]
            case Call("reembed_cut_over"):
                return [{"memories": 4, "entities": 0, "pending": 0, "remaining": 0}]
        return []

    flow = reembedding.reembed(
        Store(), "new", dry_run=False, rate=rate, on_progress=None, actor=None
    )
    assert run(flow, perform)["embedded"] == 4
    assert [len(effect.texts) for effect in done if isinstance(effect, Embed)] == [2, 1, 1]
    assert isinstance(done[0], Embed)
    # less what the work between took
    seconds = [effect.seconds for effect in done if isinstance(effect, Wait)]
    assert [round(found) for found in seconds] == waits
