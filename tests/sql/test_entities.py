from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.sql.calls import Connection, add, call, consistent, count, one, rows_read


def store(
    conn: Connection,
    text: str,
    *names: str,
    vectors: list[list[float]] | None = None,
    **args: Any,
) -> str:
    [memory] = add(
        conn,
        text,
        facts=[{"text": text, "entities": [n + 1 for n in range(len(names))]}],
        entities=[{"name": name} for name in names],
        entity_embeddings=vectors,
        model="toy" if vectors else None,
        **args,
    )
    return memory


def names(conn: Connection) -> list[str]:
    rows = conn.execute("select name from memlayer.entity order by name").fetchall()
    return [row[0] for row in rows]


def test_one_folded_name_is_one_entity_of_the_exact_scope(conn: Connection) -> None:
    store(conn, "a", "New  York")
    store(conn, "b", "new york", "\uff2e\uff25\uff37 \uff39\uff2f\uff32\uff2b")
    assert names(conn) == ["New  York"]
    assert count(conn, "mention") == 2
    store(conn, "c", "New York", run_id="r")
    assert len(names(conn)) == 2


def test_names_with_nearly_the_same_vector_are_one_entity(conn: Connection) -> None:
    store(conn, "a", "New York", vectors=[[1.0, 0.0]])
    store(conn, "b", "NYC", vectors=[[1.0, 0.1]])
    store(conn, "c", "Boston", vectors=[[1.0, 1.0]])
    assert names(conn) == ["Boston", "New York"]


def test_a_duplicate_fact_brings_no_entity(conn: Connection) -> None:
    store(conn, "a", "Rome")
    store(conn, "a", "Paris")
    assert names(conn) == ["Rome"]


def test_entities_go_with_the_last_memory_that_names_them(conn: Connection) -> None:
    first, second = store(conn, "a", "Rome", "Ann"), store(conn, "b", "Ann")
    call(conn, "delete", id=first)
    assert names(conn) == ["Ann"]
    conn.execute("delete from memlayer.memory where id = %s", [second])
    assert names(conn) == []
    store(conn, "c", "Oslo")
    store(conn, "d", "Oslo")
    assert call(conn, "delete_all", user_id="ann") == [{"deleted": 2}]
    assert names(conn) == []
    assert consistent(conn)


def test_another_text_names_others(conn: Connection) -> None:
    memory = store(conn, "Ann lives in Rome", "Ann", "Rome")
    call(
        conn,
        "update",
        id=memory,
        text="Ann lives in Oslo",
        entities=[{"name": "Ann"}, {"name": "Oslo"}],
    )
    assert names(conn) == ["Ann", "Oslo"]
    call(conn, "update", id=memory, metadata={"k": 1})
    assert names(conn) == ["Ann", "Oslo"]
    assert consistent(conn)


def test_a_name_in_the_query_lifts_the_memories_that_mention_it(conn: Connection) -> None:
    store(conn, "met him at the fair", "Grimshaw")
    store(conn, "bought shoes", "Shoes")
    store(conn, "去过那里", "长城")
    [hit] = call(conn, "keyword_search", query="what about grimshaw?", user_id="ann")
    assert (hit["text"], hit["score_details"]["entity_boost"]) == ("met him at the fair", 0.125)
    [hit] = call(conn, "keyword_search", query="我什么时候去长城的", user_id="ann")
    assert hit["text"] == "去过那里"
    assert call(conn, "keyword_search", query="grimshawx", user_id="ann") == []
    assert call(conn, "keyword_search", query="grimshaw", user_id="bob") == []


def test_the_boost_fades_with_the_number_of_memories_over_all_exact_scopes(
    conn: Connection,
) -> None:
    for n in range(4):
        store(conn, f"fact {n}", "Ann", run_id="r1" if n % 2 else "r2")
    rows = call(conn, "keyword_search", query="ann", user_id="ann")
    assert {row["score_details"]["entity_boost"] for row in rows} == {0.125 / (1 + 0.001 * 9)}


def test_names_are_also_known_by_their_vectors(conn: Connection) -> None:
    store(conn, "a", "Rome", vectors=[[1.0, 0.0]], embeddings=[[1.0, 1.0]])
    store(conn, "b", "Oslo", vectors=[[0.0, 1.0]], embeddings=[[1.0, 1.0]])
    first, second = call(
        conn,
        "search",
        query="the eternal city",
        embedding=[1.0, 1.0],
        entity_embeddings=[[1.0, 0.25]],
        model="toy",
        user_id="ann",
    )
    assert first["text"] == "a"
    assert 0.12 < first["score_details"]["entity_boost"] < 0.125
    assert second["score_details"]["entity_boost"] == 0


def test_a_name_the_scope_knows_is_not_compared_by_its_vector(conn: Connection) -> None:
    store(conn, "a", "Rome", vectors=[[1.0, 0.0]], embeddings=[[1.0, 1.0]])
    store(conn, "b", "Roma", vectors=[[0.9, 0.3]], embeddings=[[1.0, 1.0]])
    ask = {"embedding": [1.0, 1.0], "entity_embeddings": [[1.0, 0.0]], "model": "toy"}

    def lifted(name: str, **args: Any) -> set[str]:
        rows = call(
            conn, "search", query=f"in {name}", entities=[name], user_id="ann", **ask, **args
        )
        return {row["text"] for row in rows if row["score_details"]["entity_boost"] > 0}

    assert lifted("Rome") == {"a"}
    assert lifted("Rom") == {"a", "b"}
    assert lifted("Rome", fusion="additive") == {"a", "b"}


def test_orphans_are_dropped_once_for_many_deletions(conn: Connection) -> None:
    for n in range(50):
        store(conn, f"fact {n}", "Ann", f"Thing {n}")
    call(conn, "delete_all", user_id="ann")
    assert one(conn, "select count(*) from memlayer.entity") == 0


MANY = """
with remembered as (
  insert into memlayer.memory (user_id, text)
  select 'ann', 'fact ' || n from generate_series(1, 700) n
  returning id, substr(text, 6)::int as number
), named as (
  insert into memlayer.entity (user_id, name)
  select 'ann', 'Thing ' || n from generate_series(1, 35000) n
  returning id, substr(name, 7)::int as number
)
insert into memlayer.mention (memory_id, entity_id)
select r.id, e.id from remembered r join named e on e.number % 700 + 1 = r.number
"""


@pytest.mark.parametrize("analyzed", [True, False])
def test_of_35_000_entities_a_deletion_reads_only_those_it_named(  # B140
    database: str, analyzed: bool
) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute(MANY)
        gone = store(conn, "Ann met Rome and Thing 7", "Rome", "Thing 7")
        if analyzed:
            conn.execute("analyze memlayer.memory, memlayer.entity, memlayer.mention")
    # A session that knows nothing of what was added.
    with psycopg.connect(database) as conn:
        tables = ("memory", "entity", "mention", "link")
        before = {table: rows_read(conn, table) for table in tables}
        call(conn, "delete", id=gone)
        for table in tables:
            assert rows_read(conn, table) - before[table] < 50, table
        conn.commit()
        assert count(conn, "entity") == 35_000
        assert count(conn, "entity", "name in ('Rome', 'Thing 7')") == 1
        assert count(conn, "mention") == 35_000
        assert consistent(conn)
