"""Who may change the embedding model of a tenant."""

from __future__ import annotations

from typing import Any

import pytest

from memlayer_pg import errors
from tests.roles.store import Store
from tests.sql.calls import call

CALLS: dict[str, dict[str, Any]] = {
    "reembed_plan": {},
    "reembed_begin": {"model": "former", "dimensions": 3},
    "reembed_page": {},
    "reembed_store": {"model": "former"},
    "reembed_close": {},
    "reembed_cut_over": {},
    "reembed_cancel": {},
    "reembed_finish": {},
}


@pytest.mark.parametrize("word", ["app", "reader"])
@pytest.mark.parametrize("function", CALLS)
def test_an_app_or_a_reader_may_not(store: Store, word: str, function: str) -> None:
    with (
        store.connected(word) as conn,
        pytest.raises(errors.DatabaseError, match="permission denied"),
    ):
        call(conn, function, tenant="acme", **CALLS[function])


def test_an_administrator_may(store: Store) -> None:
    with store.connected("admin") as conn, conn.transaction(force_rollback=True):
        [plan] = call(conn, "reembed_plan", tenant="acme", model="former")
        assert (plan["model"], plan["kept_model"], plan["remaining"]) == ("toy", "former", 1)
        call(conn, "reembed_begin", tenant="acme", model="former", dimensions=3)
        [left] = call(conn, "reembed_page", tenant="acme", entities=True)
        assert left["text"] == "Zeppelin"
        [kept] = call(conn, "reembed_cancel", tenant="acme")
        assert kept["dropped"] == 21
