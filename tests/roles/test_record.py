"""What the record says of who did it, whoever that was, and that a search is the owner's."""

from __future__ import annotations

from typing import Any

import pytest
from psycopg import errors as refused
from psycopg.sql import SQL, Identifier

from memlayer_pg import errors
from tests.roles.store import Store, vector
from tests.sql.calls import Connection, add, call

SCANS = """
select c.relname, pg_stat_get_xact_numscans(c.oid), pg_stat_get_xact_tuples_returned(c.oid)
  from pg_class c
 where c.relnamespace = 'memlayer'::regnamespace and c.relkind in ('r', 'i')
 order by 1
"""


@pytest.mark.parametrize(
    "given",
    [
        {"query": "tea number 7", "embedding": vector(7), "model": "toy"},
        {"query": "Zeppelin"},
        {"query": "tea", "filters": {"colour": {"ne": "red"}}},
        {"query": "coffee", "show_expired": True, "fusion": "additive"},
        {"query": "tea", "embedding": vector(1), "model": "toy", "agent_id": None, "top_k": 3},
    ],
    ids=["hybrid", "names", "filtered", "written out", "few"],
)
def test_a_search_is_the_owners_search_with_the_same_scans(
    store: Store, given: dict[str, Any]
) -> None:
    def searched(word: str | None) -> tuple[Any, Any]:
        with store.connected(word) as conn:
            call(conn, "search", tenant="acme", user_id="ann", **given)  # plans are made
            with conn.transaction():
                before = conn.execute(SCANS).fetchall()
                found = call(conn, "search", tenant="acme", user_id="ann", **given)
                after = conn.execute(SCANS).fetchall()
        scans = {
            now[0]: (now[1] - was[1], now[2] - was[2])
            for was, now in zip(before, after, strict=True)
            # Who may is looked up for an app alone.
            if now != was and not now[0].startswith("tenant_role")
        }
        return found, scans

    owners = searched(None)
    assert owners[0]
    assert owners[1]
    for word in ("app", "reader", "admin"):
        assert searched(word) == owners


def test_history_names_the_login_and_the_call_whatever_the_login_sets(
    store: Store, owner: Connection
) -> None:
    with store.connected("app") as conn:
        conn.execute("set application_name = 'till 7'")
        for name, value in (
            ("memlayer.now", "2001-01-01"),
            ("memlayer.change_id", "00000000-0000-0000-0000-000000000000"),
            ("memlayer.recorded", "INSERT"),
        ):
            conn.execute("select set_config(%s, %s, false)", [name, value])
        [id_] = add(conn, "Ann is audited", tenant="acme", actor="clerk 1")
        call(conn, "update", tenant="acme", id=id_, text="Ann is well audited", actor="clerk 2")
        conn.execute("select set_config('memlayer.recorded', 'DELETE', false)")
        call(conn, "delete", tenant="acme", id=id_)
        [added, updated, deleted] = call(conn, "history", tenant="acme", id=id_)
    assert [entry["event"] for entry in (added, updated, deleted)] == ["ADD", "UPDATE", "DELETE"]
    assert [entry["actor"] for entry in (added, updated, deleted)] == ["clerk 1", "clerk 2", None]
    rows = owner.execute(
        """select h.database_role, h.application_name, h.transaction_id = c.transaction_id,
                  c.database_role, c.operation, h.recorded_at > now() - interval '1 hour',
                  c.recorded_at = h.recorded_at, h.client_address is null
             from memlayer.history h
             join memlayer.change c on c.tenant = h.tenant and c.id = h.change_id
            where h.memory_id = %s order by h.seq""",
        [id_],
    ).fetchall()
    login = store.login("app")
    assert rows == [
        (login, "till 7", True, login, operation, True, True, True)
        for operation in ("add", "update", "delete")
    ]


def test_a_login_undoes_what_it_did_itself_and_an_administrator_what_others_did(
    store: Store, owner: Connection
) -> None:
    with store.connected("app") as app, store.connected("admin") as admin:
        add(app, "Ann is undone", tenant="acme")
        add(owner, "Ann is undone by an administrator", tenant="acme")
        [theirs, own, *_] = call(app, "changes", tenant="acme", user_id="ann", top_k=2)
        with pytest.raises(errors.DatabaseError, match="may not undo"):
            call(app, "undo", tenant="acme", change_id=theirs["id"])
        with pytest.raises(errors.TenantNotAllowed):
            call(app, "undo", tenant="other", change_id=own["id"])
        for login, change in ((app, own), (admin, theirs)):
            [row] = call(login, "undo", tenant="acme", change_id=change["id"])
            assert row["outcome"] == "undone"


def test_an_add_is_not_recorded_as_something_else(app: Connection) -> None:
    for operation in ("reset", "delete_all", ""):
        with pytest.raises(errors.NotStorable, match="is not what an add is recorded as"):
            add(app, "Ann is deleted", tenant="acme", operation=operation)


@pytest.mark.parametrize("word", ["app", "reader", "admin"])
@pytest.mark.parametrize("table", ["history", "change"])
def test_nobody_but_the_owner_rewrites_the_record(store: Store, word: str, table: str) -> None:
    with store.connected(word) as conn:
        for role in (store.login(word), *(["memlayer_app"] if word == "app" else [])):
            conn.execute(SQL("set role {}").format(Identifier(role)))
            for statement in (
                f"update memlayer.{table} set database_role = 'ann'",
                f"delete from memlayer.{table}",
                f"insert into memlayer.{table} (tenant) values ('acme')",
                f"truncate memlayer.{table}",
                f"alter table memlayer.{table} disable trigger all",
                "set session_replication_role = replica",
            ):
                with pytest.raises(refused.InsufficientPrivilege):
                    conn.execute(statement.encode())


@pytest.mark.parametrize("part", ["memory", "history"])
def test_only_an_administrator_brings_history_along(store: Store, part: str) -> None:
    row = {
        "id": "0b3c8f3e-3a55-4c3f-8f5e-000000000001",
        "text": "was known long ago",
        "user_id": "ann",
        "version": 2,
        "event": "UPDATE",
        "recorded_at": "2001-01-01T00:00:00Z",
    }
    given = {"memories": [row]} if part == "memory" else {"history": [row | {"event": "DELETE"}]}
    with store.connected("app") as conn, pytest.raises(errors.DatabaseError) as caught:
        call(conn, "import_memories", tenant="acme", **given)
    assert caught.value.sqlstate == "42501"
    with store.connected("app") as conn:
        query = "select count(*) from memlayer.history(%s, %s)"
        assert conn.execute(query, ["acme", row["id"]]).fetchall() == [(0,)]
