"""What logins may read, write and call; read from the catalog, so that what is new is tried."""

from __future__ import annotations

import pytest
from psycopg import errors as refused
from psycopg.sql import SQL, Identifier

from memlayer_pg import errors
from tests.roles.store import EXECUTABLE, Store, names, texts
from tests.sql.calls import Connection, call, one

RELATIONS = """
select c.relname from pg_class c
 where c.relnamespace = 'memlayer'::regnamespace and c.relkind in ('r', 'p', 'v', 'm') order by 1
"""

OF_TENANTS = """
select c.relname from pg_class c
 where c.relnamespace = 'memlayer'::regnamespace and c.relkind in ('r', 'p', 'v', 'm')
   and c.relname <> 'tenant_role'
   and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant')
 order by 1
"""

REFUSED = (
    refused.InsufficientPrivilege,
    refused.WrongObjectType,
    refused.ObjectNotInPrerequisiteState,
)


@pytest.mark.parametrize("word", ["app", "unbound", "nobody"])
def test_an_app_reads_and_writes_no_table_and_no_view(store: Store, word: str) -> None:
    with store.connected(word) as conn, store.connected() as owner:
        for name in names(owner, RELATIONS):
            for statement in (
                f"select * from memlayer.{name}",
                f"select count(*) from memlayer.{name}",
                f"copy memlayer.{name} to stdout",
                f"insert into memlayer.{name} default values",
                f"delete from memlayer.{name}",
                f"truncate memlayer.{name}",
                f"lock table memlayer.{name}",
                f"alter table memlayer.{name} disable row level security",
                f"drop table memlayer.{name}",
                f"create trigger t before insert on memlayer.{name} "
                "for each row execute function memlayer.record_history()",
            ):
                with pytest.raises(REFUSED), conn.transaction():
                    conn.execute(statement.encode())


def test_an_app_calls_what_is_listed_and_no_helper(app: Connection, owner: Connection) -> None:
    allowed = set(names(app, EXECUTABLE))
    assert {"add", "search", "delete_all", "handshake"} <= allowed
    helpers = set(names(owner, EXECUTABLE)) - allowed
    assert {"reset", "verify", "nearest", "search_of_user", "replay", "record_history"} <= helpers
    # Trigger functions cannot be called; nor can they be put on a table of one's own.
    app.execute("create temp table mine (tenant text, id uuid)")
    with pytest.raises(refused.InsufficientPrivilege):
        app.execute(
            "create trigger t after insert on mine for each row "
            "execute function memlayer.record_history()"
        )
    with pytest.raises(refused.InsufficientPrivilege):
        app.execute("create table memlayer.mine (n int)")


def test_a_reader_sees_the_rows_of_its_tenants_in_every_table_and_view(
    store: Store, reader: Connection, owner: Connection
) -> None:
    # Case B148.
    for name in names(owner, OF_TENANTS):
        [[all_]] = owner.execute(f"select count(distinct tenant) from memlayer.{name}".encode())
        assert all_ == 3, f"nothing of all tenants to see in {name}"
        query = f"select distinct tenant from memlayer.{name}"
        assert names(reader, query) == ["acme"], name
        with store.connected("unbound_reader") as conn:
            assert names(conn, query) == ["default"], name
        with store.connected("admin") as conn:
            assert len(names(conn, query)) == 3, name


def test_a_reader_writes_nothing(reader: Connection, owner: Connection) -> None:
    for name in names(owner, RELATIONS):
        for statement in (
            f"insert into memlayer.{name} default values",
            f"delete from memlayer.{name}",
            f"truncate memlayer.{name}",
        ):
            with pytest.raises(REFUSED):
                reader.execute(statement.encode())
    for function in ("add", "update", "delete", "delete_all", "reset"):
        with pytest.raises(errors.DatabaseError, match="permission denied"):
            call(reader, function, tenant="acme")


def test_a_reader_is_not_told_by_an_error_what_a_hidden_row_holds(reader: Connection) -> None:
    # A condition that may raise is asked of no row that the login must not see.
    query = """select count(*) from memlayer.memory
                where (case when text like '%of other%' then 1 / (version - version) else 1 end)
                      = 1"""
    assert one(reader, query) == 21


def test_row_level_security_is_asked_once_and_leaves_the_indexes(reader: Connection) -> None:
    reader.execute("set enable_seqscan = off")
    query = "explain (costs off) select id from memlayer.memory where user_id = 'ann'"
    plan = "\n".join(names(reader, query))
    assert "InitPlan" in plan
    assert "Filter: (tenant" not in plan, plan
    assert "memory_user_idx" in plan or "memory_pkey" in plan, plan


def test_turning_row_security_off_is_an_error_and_shows_nothing(reader: Connection) -> None:
    reader.execute("set row_security = off")
    with pytest.raises(refused.InsufficientPrivilege):
        reader.execute("select * from memlayer.memory")
    assert len(texts(reader)) == 21


def test_a_role_that_writes_tables_writes_history_in_its_own_name_and_tenant(
    store: Store, owner: Connection
) -> None:
    login = store.login("reader")
    grant = SQL("grant insert, update, delete on memlayer.memory, memlayer.entity to {}")
    owner.execute(grant.format(Identifier(login)))
    try:
        with store.connected("reader") as conn:
            insert = "insert into memlayer.memory (tenant, user_id, text) values (%s, 'eve', %s)"
            conn.execute(insert, ["acme", "Eve wrote this herself"])
            # It claims that the history is written already: that is looked for, not believed.
            for event in ("INSERT", "UPDATE", "DELETE"):
                conn.execute("select set_config('memlayer.recorded', %s, false)", [event])
                conn.execute(insert, ["acme", f"Eve tried {event}"])
                conn.execute(
                    "update memlayer.memory set text = text || '!' where text = %s",
                    [f"Eve tried {event}"],
                )
                conn.execute("delete from memlayer.memory where text like 'Eve tried%'")
            conn.execute(
                "insert into memlayer.entity (tenant, user_id, name) values ('acme', 'eve', 'Eve')"
            )
            conn.execute("delete from memlayer.entity where user_id = 'eve'")
            with pytest.raises(refused.DatabaseError):
                conn.execute(insert, ["other", "in another tenant"])
            assert (
                conn.execute(
                    "update memlayer.memory set text = 'x' where tenant = 'other'"
                ).rowcount
                == 0
            )
            assert conn.execute("delete from memlayer.memory where tenant = 'other'").rowcount == 0
            with pytest.raises(refused.InsufficientPrivilege):
                conn.execute("update memlayer.history set database_role = 'ann'")
        who = owner.execute(
            """select database_role, string_agg(event, ' ' order by seq) from memlayer.history
                where user_id = 'eve' group by 1"""
        ).fetchall()
        assert who == [(login, "ADD ADD UPDATE DELETE ADD UPDATE DELETE ADD UPDATE DELETE")]
        assert {row["problem"] for row in call(owner, "verify", tenant="acme")} == {
            "the memory waits for its vector"
        }
    finally:
        owner.execute("delete from memlayer.memory where user_id = 'eve'")
        owner.execute(
            SQL("revoke insert, update, delete on memlayer.memory, memlayer.entity from {}").format(
                Identifier(login)
            )
        )
