"""changes_since, of a memory of either kind."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from memlayer_pg.errors import FilterError, InputError
from tests.api.harness import KINDS


def test_a_page_goes_on_where_the_one_before_ended(memory: Any, endpoint: Any) -> None:
    endpoint.facts("Ann drinks tea", "Ann lives in Porto")
    first, second = memory.add("x", user_id="ann", metadata={"k": 1})["results"]
    memory.update(first["id"], "Ann drinks green tea")
    memory.delete(second["id"])

    page = memory.changes_since(limit=3)
    assert [change["event"] for change in page["results"]] == ["ADD", "ADD", "UPDATE"]
    assert page["cursor"] == page["results"][-1]["cursor"]
    changed = page["results"][2]
    assert (changed["memory_id"], changed["version"]) == (first["id"], 2)
    assert changed["old_memory"] == "Ann drinks tea"
    assert changed["new_memory"] == "Ann drinks green tea"
    assert changed["changed_keys"] == ["text"]
    assert changed["new_state"]["metadata"] == {"k": 1}
    assert changed["recorded_at"].endswith("+00:00")

    rest = memory.changes_since(page["cursor"])
    [gone] = rest["results"]
    assert (gone["event"], gone["memory_id"]) == ("DELETE", second["id"])
    assert (gone["new_memory"], gone["operation"]) == (None, "delete")
    assert memory.changes_since(rest["cursor"]) == {"results": [], "cursor": rest["cursor"]}


def test_a_store_without_changes_has_no_cursor(memory: Any) -> None:
    assert memory.changes_since() == {"results": [], "cursor": None}


def test_what_is_no_cursor_or_limit_is_refused(memory: Any) -> None:
    with pytest.raises(FilterError, match="cursor"):
        memory.changes_since("yesterday")
    for given in ({"cursor": 7}, {"limit": 0}, {"limit": True}):
        with pytest.raises(InputError):
            memory.changes_since(**given)


@pytest.mark.parametrize("kind", KINDS[:1], indirect=True)
def test_in_a_transaction_of_the_caller_its_own_changes_are_to_come(memory: Any, live: str) -> None:
    with psycopg.connect(live) as conn:
        memory.add("hello", user_id="ann", infer=False, connection=conn)
        assert memory.changes_since(connection=conn)["results"] == []
        conn.commit()
        assert len(memory.changes_since(connection=conn)["results"]) == 1
