"""Cases of tests/cases.md that belong to no one part."""

from __future__ import annotations

from typing import Any

import pytest

from memlayer_pg import errors
from tests.sql.calls import Connection, add, call, consistent, one

DIMENSIONS = (384, 768, 1024, 1536, 2000, 2001, 3072, 4000)

# Whatever a reset could have replaced: objects, rights, indexes, sequences.
OBJECTS = """
select jsonb_agg(to_jsonb(c) - '{relpages,reltuples,relallvisible,relallfrozen,relfrozenxid,
                               relminmxid}'::text[] order by c.oid)
  from pg_class c where c.relnamespace = 'memlayer'::regnamespace
"""


def basis(dimensions: int, number: int) -> list[float]:
    """A vector that is at right angles to those of other numbers."""
    return [float(n == number) for n in range(dimensions)]


def live(conn: Connection, tenant: str, dimensions: int) -> dict[str, Any]:
    """A tenant that added with an entity and then changed the text; how to search it."""
    [id_, _] = add(
        conn,
        tenant=tenant,
        facts=[{"text": "Ann lives in Rome", "entities": [1]}, {"text": "Ann likes tea"}],
        entities=[{"name": "Rome"}],
        embeddings=[basis(dimensions, 0), basis(dimensions, 1)],
        entity_embeddings=[basis(dimensions, 2)],
        model=f"of {dimensions}",
    )
    model = {"embedding": basis(dimensions, dimensions - 1), "model": f"of {dimensions}"}
    call(conn, "update", tenant=tenant, id=id_, text="Ann lives in Oslo", **model)
    return {"tenant": tenant, "user_id": "ann", "query": "?", **model}


def test_no_column_has_a_number_of_dimensions(conn: Connection) -> None:  # B118
    columns = conn.execute(
        """select c.relname, a.attname, a.atttypmod
             from pg_attribute a join pg_class c on c.oid = a.attrelid
            where c.relnamespace = 'memlayer'::regnamespace and c.relkind in ('r', 'p')
              and a.atttypid = 'halfvec'::regtype and not a.attisdropped"""
    ).fetchall()
    assert {(table, column) for table, column, _ in columns} == {
        ("memory", "embedding"),
        ("entity", "embedding"),
        ("other_vector", "embedding"),
        ("history", "old_embedding"),
    }
    assert {size for _, _, size in columns} == {-1}


def test_tenants_of_any_dimensions_live_side_by_side(conn: Connection) -> None:  # B119, B121
    for dimensions in DIMENSIONS:
        ask = live(conn, f"t{dimensions}", dimensions)
        [best, *_] = call(conn, "search", **ask)
        assert best["text"] == "Ann lives in Oslo"
        assert best["score_details"]["cosine_similarity"] == pytest.approx(1, abs=1e-3)
        call(conn, "delete", tenant=f"t{dimensions}", id=best["id"])
        [back] = call(conn, "restore", tenant=f"t{dimensions}", id=best["id"])
        assert not back["pending"]
    assert consistent(conn)
    call(conn, "erase", tenant="t384", user_id="ann")
    assert one(conn, "select count(*) from memlayer.memory") == 2 * (len(DIMENSIONS) - 1)


@pytest.mark.parametrize("dimensions", [2000, 2001, 3072, 4000])
def test_vectors_of_many_dimensions_are_indexed(conn: Connection, dimensions: int) -> None:  # B122
    ask = live(conn, "wide", dimensions)
    conn.execute(
        "insert into memlayer.setting (tenant, defaults)"
        " values ('wide', '{\"exact_threshold\": 1}')"
    )
    call(conn, "create_ann_index", tenant="wide")
    call(conn, "refresh_statistics", tenant="wide")
    model = one(conn, "select id from memlayer.model where tenant = 'wide'")
    scans = f"select pg_stat_get_xact_numscans('memlayer.memory_ann_{model}'::regclass)"
    before = one(conn, scans)
    found = call(conn, "search", **ask)
    assert [row["text"] for row in found][:1] == ["Ann lives in Oslo"]
    assert one(conn, scans) > before


@pytest.mark.parametrize(
    "name",
    ["mem-app", "MemApp", "1st", "select", "naïve", 'quo"te', "x';drop/**/schema/**/memlayer;--"],
)
def test_a_tenant_may_have_any_name_without_blanks(conn: Connection, name: str) -> None:  # B090
    live(conn, name, 3)
    call(conn, "create_ann_index", tenant=name)
    found = call(conn, "search", tenant=name, user_id="ann", query="Oslo")
    assert [row["text"] for row in found] == ["Ann lives in Oslo"]
    call(conn, "reset", tenant=name)
    assert call(conn, "scopes", tenant=name) == []
    with pytest.raises(errors.FilterError, match="is not an id"):
        live(conn, f"{name} two", 3)


def test_a_reset_touches_no_object(conn: Connection) -> None:  # B130
    live(conn, "default", 3)
    before = one(conn, OBJECTS)
    for _ in range(2):
        call(conn, "reset")
        assert one(conn, OBJECTS) == before
    live(conn, "default", 4)  # of another size: the old model is forgotten, too
    assert consistent(conn)
