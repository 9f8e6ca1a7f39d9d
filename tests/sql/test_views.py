"""The views: what a tool that knows tables and views can do with them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from memlayer_pg import schema
from tests.readme.conftest import url
from tests.sql.calls import Connection, add, call, one

VIEWS = [
    path.removeprefix("views/").removesuffix(".sql")
    for path in schema.load_order()
    if path.startswith("views/")
]


def row(conn: Connection, query: str, *args: Any) -> dict[str, Any]:
    """The single row of a query."""
    cursor = conn.cursor(row_factory=psycopg.rows.dict_row)
    [found] = cursor.execute(query, args or None).fetchall()
    return found


@pytest.fixture
def filled(conn: Connection) -> Connection:
    """Two memories of ann, who was in Porto; one of bob in another tenant."""
    add(
        conn,
        user_id="ann",
        agent_id="bot",
        facts=[
            {"text": "Ann drinks coffee."},
            {"text": "Ann was in Porto.", "entities": [1], "observed_at": "2025-03-01T00:00Z"},
        ],
        entities=[{"name": "Porto", "type": "place"}],
        embeddings=[[1.0, 0.0], [0.0, 1.0]],
        model="toy",
        messages=[{"role": "user", "content": "hi", "name": "Ann"}],
        metadata={"topic": "life", "kept": 1},
        usage={"prompt_tokens": 100, "completion_tokens": 20, "embedding_tokens": 3},
        llm="gpt",
    )
    add(conn, "Bob lives.", user_id="bob", tenant="other")
    return conn


def test_there_are_views_and_each_runs_with_the_rights_of_the_reader(conn: Connection) -> None:
    # An ordinary view reads with the rights of its owner, past row-level security.
    found = dict(
        conn.execute(
            """select relname, reloptions from pg_class
                where relnamespace = 'memlayer'::regnamespace and relkind = 'v'"""
        ).fetchall()
    )
    assert found == {name: ["security_invoker=true"] for name in VIEWS}


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_begins_with_the_tenant_and_hides_what_tools_cannot_show(
    conn: Connection, view: str
) -> None:
    columns = conn.execute(
        """select attname, format_type(atttypid, atttypmod) from pg_attribute
            where attrelid = ('memlayer.' || %s)::regclass order by attnum""",
        [view],
    ).fetchall()
    assert columns[0] == ("tenant", "text")
    kinds = {kind for _, kind in columns}
    assert kinds <= {
        *("text", "uuid", "integer", "bigint", "boolean", "date", "timestamp with time zone"),
        *("jsonb", "text[]", "inet"),
    }


def test_sqlalchemy_reflects_each_view_and_reads_it(database: str) -> None:
    engine = sa.create_engine(url(database, "postgresql+psycopg"))
    with engine.begin() as conn:
        conn.execute(sa.text("insert into memlayer.memory (user_id, text) values ('ann', 'x')"))
        inspector = sa.inspect(conn)
        assert set(VIEWS) <= set(inspector.get_view_names("memlayer"))
        tables = sa.MetaData(schema="memlayer")
        for name in VIEWS:
            view = sa.Table(name, tables, autoload_with=conn)
            assert all(column.comment for column in view.columns)
            conn.execute(sa.select(view).where(view.c.tenant == "default").limit(5)).all()
        memories, versions = (
            tables.tables[f"memlayer.{n}"] for n in ("memories", "memory_versions")
        )
        joined = memories.join(
            versions,
            (memories.c.tenant == versions.c.tenant) & (memories.c.id == versions.c.memory_id),
        )
        assert conn.execute(sa.select(memories.c.text).select_from(joined)).all() == [("x",)]
    engine.dispose()


def test_the_views_join_by_the_keys_their_names_say(filled: Connection) -> None:
    found = row(
        filled,
        """select m.text, e.name, v.event, c.operation, n.memory, n.entity
             from memlayer.memories m
             join memlayer.mentions n on n.tenant = m.tenant and n.memory_id = m.id
             join memlayer.entities e on e.tenant = n.tenant and e.id = n.entity_id
             join memlayer.memory_versions v on v.tenant = m.tenant and v.memory_id = m.id
             join memlayer.changes c on c.tenant = v.tenant and c.id = v.change_id""",
    )
    assert found == {
        "text": "Ann was in Porto.", "memory": "Ann was in Porto.",
        "name": "Porto", "entity": "Porto", "event": "ADD", "operation": "add",
    }  # fmt: skip


def test_a_memory_is_shown_as_it_stands(filled: Connection) -> None:
    found = row(filled, "select * from memlayer.memories where text like '%%Porto%%'")
    assert found["entities"] == ["Porto"]
    assert found["embedding_model"] == "toy"
    assert found["metadata"] == {"topic": "life", "kept": 1}
    assert (found["is_current"], found["is_expired"], found["is_pending"]) == (True, False, False)
    assert (found["user_id"], found["agent_id"], found["run_id"]) == ("ann", "bot", None)
    assert one(filled, "select is_pending from memlayer.memories where user_id = 'bob'")


def test_a_memory_holds_up_to_the_day_it_expires_on(conn: Connection) -> None:
    today = datetime.now(UTC).date()
    for days in (-1, 0):
        add(conn, f"{days}", expires_on=today + timedelta(days=days))
    found = conn.execute(
        "select text, is_expired, is_current from memlayer.memories order by text"
    ).fetchall()
    assert found == [("-1", True, False), ("0", False, True)]


def test_what_a_newer_memory_updates_is_not_current_until_that_one_expires(
    conn: Connection,
) -> None:
    [old] = add(conn, "Ann lives in Taipei.")
    fact = {"text": "Ann lives in Porto.", "links": [{"id": old, "kind": "updates"}]}
    [new] = add(conn, facts=[fact])
    query = "select superseded_by::text, is_current from memlayer.memories where id = %s"
    assert conn.execute(query, [old]).fetchone() == (new, False)
    assert conn.execute(query, [new]).fetchone() == (None, True)
    conn.execute("update memlayer.memory set expires_on = '2020-01-01' where id = %s", [new])
    assert conn.execute(query, [old]).fetchone() == (None, True)


def test_a_correction_shows_at_once_everywhere(conn: Connection) -> None:  # B067
    [memory] = add(conn, "The seat is 12C.")
    call(conn, "update", id=memory, text="The seat is 14A.", metadata={"row": 14})
    shown = one(conn, "select text from memlayer.memories")
    [got] = call(conn, "get", id=memory)
    [found] = call(conn, "keyword_search", user_id="ann", query="14A")
    assert shown == got["text"] == found["text"] == "The seat is 14A."
    change = row(conn, "select * from memlayer.memory_versions where version = 2")
    assert (change["old_text"], change["new_text"]) == ("The seat is 12C.", "The seat is 14A.")
    assert change["changed_keys"] == ["metadata.row", "text"]
    assert (change["old_metadata"], change["new_metadata"]) == ({}, {"row": 14})


def test_what_was_deleted_is_in_the_versions_alone(filled: Connection) -> None:  # B045
    call(filled, "delete_all", user_id="ann")
    assert one(filled, "select count(*) from memlayer.memories where tenant = 'default'") == 0
    assert one(filled, "select count(*) from memlayer.mentions") == 0
    assert one(filled, "select count(*) from memlayer.entities") == 0
    query = "select event from memlayer.memory_versions where tenant = 'default' order by version"
    assert filled.execute(query).fetchall() == [("ADD",)] * 2 + [("DELETE",)] * 2


def test_times_are_those_of_the_functions(filled: Connection) -> None:  # B044
    shown = row(filled, "select * from memlayer.memories where user_id = 'bob'")
    [got] = call(filled, "get", tenant="other", id=shown["id"])
    assert (shown["created_at"], shown["updated_at"]) == (got["created_at"], got["updated_at"])
    change = row(filled, "select * from memlayer.memory_versions where user_id = 'bob'")
    assert change["recorded_at"] == got["created_at"]


def test_who_changed_it_is_named_also_for_plain_sql(conn: Connection) -> None:
    [memory] = add(conn, "tea")
    call(conn, "update", id=memory, text="green tea", actor="support")
    conn.execute("set local application_name = 'psql of an analyst'")
    conn.execute("update memlayer.memory set expires_on = '2030-01-01'")
    found = conn.execute(
        """select operation, actor, application_name, changed_keys, new_expires_on::text
             from memlayer.memory_versions where version > 1 order by version"""
    ).fetchall()
    name = conn.info.parameter_status("application_name")
    assert found[0][:2] == ("update", "support")
    assert found[1] == ("plain SQL", None, "psql of an analyst", ["expires_on"], "2030-01-01")
    assert name == "psql of an analyst"


def test_an_entity_says_how_often_and_when_it_was_named(filled: Connection) -> None:
    fact = {"text": "Porto again.", "entities": [1], "observed_at": "2025-04-01T00:00Z"}
    add(filled, user_id="ann", agent_id="bot", facts=[fact], entities=[{"name": "porto"}])
    found = row(filled, "select * from memlayer.entities")
    assert (found["name"], found["type"], found["memories"]) == ("Porto", "place", 2)
    assert found["first_seen_at"] == datetime(2025, 3, 1, tzinfo=UTC)
    assert found["last_seen_at"] == datetime(2025, 4, 1, tzinfo=UTC)


def test_a_change_says_what_it_cost(filled: Connection) -> None:
    found = row(filled, "select * from memlayer.changes where tenant = 'default'")
    assert (found["added"], found["entities"], found["messages"]) == (2, 1, 1)
    assert (found["llm"], found["embedding_model"], found["total_tokens"]) == ("gpt", "toy", 123)
    assert one(filled, "select total_tokens from memlayer.changes where tenant = 'other'") == 0


def test_messages_carry_the_ids_of_their_session(filled: Connection) -> None:
    found = row(filled, "select * from memlayer.messages")
    assert (found["user_id"], found["agent_id"], found["run_id"]) == ("ann", "bot", None)
    assert (found["role"], found["name"], found["content"]) == ("user", "Ann", "hi")


def test_a_day_counts_calls_and_plain_sql_in_utc(conn: Connection) -> None:
    def at(moment: str) -> None:
        conn.execute("select set_config('memlayer.now', %s, true)", [moment])

    conn.execute("set local timezone = 'Asia/Tokyo'")
    at("2026-01-01 23:30+00")
    tokens = {"prompt_tokens": 10, "completion_tokens": 5, "embedding_tokens": 1}
    [memory, _] = add(conn, "tea", "coffee", usage=tokens)
    at("2026-01-02 00:30+00")
    call(conn, "update", id=memory, text="green tea")
    conn.execute("insert into memlayer.memory (user_id, text) values ('ann', 'milk')")
    conn.execute("insert into memlayer.memory (agent_id, text) values ('bot', 'log')")
    call(conn, "delete", id=memory)
    found = conn.execute(
        """select day::text, user_id, added, updated, deleted, calls,
                  prompt_tokens, completion_tokens, embedding_tokens
             from memlayer.daily_activity order by day, user_id"""
    ).fetchall()
    assert found == [
        ("2026-01-01", "ann", 2, 0, 0, 1, 10, 5, 1),
        ("2026-01-02", "ann", 1, 1, 1, 2, 0, 0, 0),
        ("2026-01-02", None, 1, 0, 0, 0, 0, 0, 0),
    ]


def test_a_scope_says_how_large_it_is(filled: Connection) -> None:
    add(filled, "gone", user_id="ann", expires_on=datetime(2020, 1, 1, tzinfo=UTC).date())
    found = filled.execute(
        """select kind, scope_id, memories, expired, pending, bytes > memories * 10
             from memlayer.scope_sizes where tenant = 'default' order by kind"""
    ).fetchall()
    assert found == [("agent", "bot", 2, 0, 0, True), ("user", "ann", 3, 1, 1, True)]


@pytest.mark.parametrize(
    "view",
    ["memories", "memory_versions", "mentions", "changes", "daily_activity", "scope_sizes"],
)
def test_a_tenant_is_looked_up_and_not_filtered(conn: Connection, view: str) -> None:
    # A condition that a view does not let through to its tables makes it read every tenant.
    conn.execute(
        """insert into memlayer.memory (tenant, user_id, text)
           select 't' || n % 50, 'u' || n % 7, n::text from generate_series(1, 3000) n"""
    )
    conn.execute(
        """insert into memlayer.change (tenant, operation)
           select 't' || n % 50, 'add' from generate_series(1, 3000) n"""
    )
    conn.execute("analyze memlayer.memory, memlayer.history, memlayer.change")
    lines = conn.execute(
        f"explain (costs off) select * from memlayer.{view} where tenant = 't7'"
    ).fetchall()
    plan = "\n".join(line for [line] in lines)
    assert "Index Cond: (" in plan
    for table in ("memory", "history", "change"):
        assert f"Seq Scan on {table} " not in plan
