"""erase, blocking and awaited."""

from __future__ import annotations

from typing import Any

import pytest

from memlayer_pg import ScopeMissing
from tests.api.test_reading import ANN, say

pytestmark = pytest.mark.usefixtures("consistent")


def test_an_erasure_gives_a_receipt_and_leaves_nothing(memory: Any) -> None:
    [id_] = say(memory, "tea with Bob")
    receipt = memory.erase("ann", actor="desk")
    assert (receipt["memories"], receipt["history"], receipt["actor"]) == (1, 1, "desk")
    assert "ann" not in str(receipt["scope_digest"])
    assert memory.get_all(filters=ANN)["results"] == memory.history(id_) == []
    assert memory.messages("ann") == []
    assert memory.erase(user_id="ann")["memories"] == 0


def test_an_erasure_names_somebody(memory: Any) -> None:
    with pytest.raises(ScopeMissing, match="erasure"):
        memory.erase()
