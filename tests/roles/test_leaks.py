"""What a login may learn of others by the way: leaky functions, statistics, copies, sequences."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import errors as refused

from memlayer_pg import errors
from tests.roles.store import Store, answers, names, texts
from tests.roles.test_tables import OF_TENANTS
from tests.sql.calls import Connection, call, count

# Cheaper than anything the planner has, so that it would ask it first if it might.
TELLTALE = """
create function pg_temp.tell(t text) returns boolean language plpgsql cost 0.0000001 as $$
  begin raise notice '%', t; return true; end $$;
create function pg_temp.tell(t text, other text) returns boolean language plpgsql
  cost 0.0000001 as $$
  begin raise notice '%', t; return true; end $$;
create operator pg_temp.=== (leftarg = text, rightarg = text, function = pg_temp.tell);
"""

TOUCHABLE = """
select p.proname from pg_proc p cross join unnest(p.proargtypes) a join pg_type t on t.oid = a
 where p.pronamespace = 'memlayer'::regnamespace
   and (t.typtype in ('c', 'p') or t.typname like 'reg%%')
   and has_function_privilege(%s, p.oid, 'execute')
"""


@pytest.mark.parametrize("condition", ["pg_temp.tell(r::text)", "r::text operator(pg_temp.===) ''"])
def test_a_function_of_the_readers_own_is_not_asked_about_rows_of_others(
    store: Store, condition: str
) -> None:
    with store.connected("reader") as conn:
        relations = names(conn, OF_TENANTS)
        conn.execute(TELLTALE)
        told: list[str] = []
        conn.add_notice_handler(lambda notice: told.append(str(notice.message_primary)))
        for relation in relations:
            told.clear()
            conn.execute(f"select from memlayer.{relation} r where {condition}".encode())
            assert told, relation
            assert all("acme" in text and "of other" not in text for text in told), relation


@pytest.mark.parametrize("word", ["app", "reader", "unbound", "nobody"])
def test_the_statistics_of_postgres_show_no_value_of_anybody(store: Store, word: str) -> None:
    with store.connected() as owner:
        owner.execute("analyze memlayer.memory, memlayer.history, memlayer.entity")
        assert names(owner, "select attname from pg_stats where schemaname = 'memlayer'")
    with store.connected(word) as conn:
        assert names(conn, "select attname from pg_stats where schemaname = 'memlayer'") == []
        for catalog in ("pg_statistic", "pg_statistic_ext_data"):
            with pytest.raises(refused.InsufficientPrivilege):
                conn.execute(f"select * from {catalog}".encode())


def test_a_login_does_not_see_what_others_are_running(store: Store) -> None:
    with store.connected("app_of_other") as other, store.connected("app") as conn:
        texts(other, tenant="other")
        seen = names(conn, "select query from pg_stat_activity where usename <> current_user")
        assert seen
        assert set(seen) <= {"", "<insufficient privilege>"}


def test_a_copy_holds_the_rows_of_the_reader_and_goes_to_no_program(reader: Connection) -> None:
    with reader.cursor().copy("copy memlayer.memory to stdout") as copied:
        lines = b"".join(bytes(block) for block in copied).splitlines()
    assert len(lines) == count(reader, "memory") > 0
    assert all(line.startswith(b"acme\t") for line in lines)
    for statement in (
        "copy (select text from memlayer.memory) to program 'cat'",
        "copy (select text from memlayer.memory) to '/tmp/never'",
    ):
        with pytest.raises(refused.InsufficientPrivilege):
            reader.execute(statement.encode())
    with (
        pytest.raises(refused.DatabaseError),
        reader.cursor().copy("copy memlayer.memory from stdin"),
    ):
        pass


@pytest.mark.parametrize("word", ["app", "reader", "admin", "unbound"])
def test_sequences_are_nobodys(store: Store, word: str) -> None:
    with store.connected(word) as conn:
        sequences = names(
            conn,
            "select relname from pg_class"
            " where relnamespace = 'memlayer'::regnamespace and relkind = 'S'",
        )
        assert sequences
        for sequence in sequences:
            for statement in (
                "select nextval('memlayer.{}')",
                "select setval('memlayer.{}', 1)",
                "select currval('memlayer.{}')",
            ):
                with pytest.raises(refused.InsufficientPrivilege):
                    conn.execute(statement.format(sequence).encode())
            if word in ("app", "unbound"):
                with pytest.raises(refused.InsufficientPrivilege):
                    conn.execute(f"select last_value from memlayer.{sequence}".encode())


@pytest.mark.parametrize("word", ["app", "reader"])
def test_no_function_of_a_login_takes_a_row_or_the_name_of_an_object(
    store: Store, owner: Connection, word: str
) -> None:
    assert names(owner, TOUCHABLE, store.login(word)) == []
    assert names(owner, TOUCHABLE, owner.info.user)  # of helpers, there are some


def test_rights_do_not_change_in_the_middle_of_a_transaction(store: Store) -> None:
    with store.connected("app") as conn:
        expected = answers(conn)
        with conn.transaction():
            for name in ("tenant", "change_id", "recorded", "role"):
                conn.execute("select set_config(%s, 'other', true)", [f"memlayer.{name}"])
            with pytest.raises(errors.TenantNotAllowed), conn.transaction():
                texts(conn, tenant="other")
            assert answers(conn) == expected


def test_an_erasure_is_not_pretended(store: Store, owner: Connection) -> None:
    with store.connected("app") as conn:
        [id_] = [row["id"] for row in call(conn, "add", tenant="acme", user_id="ann",
                                            facts=[{"text": "Ann is not erased"}])]  # fmt: skip
        receipt = str(owner.execute("select id from memlayer.receipt").fetchone()[0])  # type: ignore[index]
        conn.execute("select set_config('memlayer.recorded', 'ERASE', false)")
        conn.execute("select set_config('memlayer.change_id', %s, false)", [receipt])
        call(conn, "delete", tenant="acme", id=id_)
    assert count(owner, "history", f"memory_id = '{id_}' and event = 'DELETE'") == 1


def test_a_login_may_not_become_another_nor_get_in_the_way(store: Store) -> None:
    for word in ("app", "reader"):
        with psycopg.connect(store.dsn_of(word)) as conn:
            for statement in (
                "set role memlayer_admin",
                f"set session authorization {store.login('app_of_other')}",
                "set session_replication_role = replica",
                "lock table memlayer.memory in access exclusive mode",
                "create table memlayer.more ()",
                "create trigger mine before insert on memlayer.memory for each row"
                " execute function suppress_redundant_updates_trigger()",
                "comment on table memlayer.memory is 'mine'",
                f"grant memlayer_admin to {store.login(word)}",
                f"alter role {store.login(word)} bypassrls",
            ):
                with pytest.raises(refused.InsufficientPrivilege), conn.transaction():
                    conn.execute(statement.encode())
