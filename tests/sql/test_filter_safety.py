"""What a filter refuses, and what it survives: hostile text, depth and size."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from psycopg.sql import SQL
from psycopg.types.json import Jsonb

from tests.sql.filter_rows import (
    Connection,
    Row,
    check,
    found,
    path,
    predicate,
    remember,
    remember_columns,
)


@pytest.mark.parametrize(
    ("filters", "named"),
    [
        ({"priority": {"regex": "x"}}, r'"priority".*"regex"'),
        ({"priority": {"gt": 1, "*": 2}}, r'"priority".*"\*"'),
        ({"kind": {"nested": {"eq": 1}}}, '"nested"'),
        ({"owner": {"in": "Ana"}}, '"in".*"owner".*string'),
        ({"owner": {"nin": None}}, '"nin".*"owner".*null'),
        ({"a": {}}, '"a"'),
        ({"a": {"gt": None}}, '"gt".*"a"'),
        ({"a": {"lt": [1]}}, '"lt".*"a"'),
        ({"a": {"contains": ["x"]}}, '"contains".*"a"'),
        ({"OR": []}, "OR is empty"),
        ({"NOT": []}, "NOT is empty"),
        ({"NOT": {}}, "NOT"),
        ({"OR": {"a": 1}}, "OR"),
        ({"AND": "a"}, "AND"),
        ({"AND": None}, "AND"),
        ({"OR": ["a"]}, '"a"'),
        ({"OR": [None]}, "null"),
        ({"NOT": [[{"a": 1}]]}, "a filter is an object"),
        ({"or": [{"a": 1}]}, '"or"'),
        ({"$nor": [{"a": 1}]}, r'"\$nor"'),
        ([{"a": 1}], "a filter is an object"),
        ("a", "a filter is an object"),
        ({"created_at": "yesterday"}, '"created_at".*"yesterday"'),
        ({"created_at": "2026-02-30"}, "2026-02-30"),
        ({"created_at": {"gt": 1e300}}, "created_at"),
        ({"created_at": {"in": ["2026-01-01", True]}}, "created_at.*true"),
        ({"updated_at": {"contains": "2026"}}, '"updated_at".*"contains"'),
        ({"expiration_date": {"eq": ["2026-01-01"]}}, "expiration_date"),
        ({"role": True}, '"role".*true'),
        ({"role": {"eq": ["user"]}}, '"role"'),
        ({"role": {"contains": None}}, '"role".*null'),
        ({"user_id": {"gt": False}}, '"user_id".*false'),
        ({".".join("a" * 66): 1}, "64 deep"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(
    conn: Connection, filters: object, named: str
) -> None:
    with pytest.raises(psycopg.Error, match=named) as caught, conn.transaction():
        predicate(conn, filters)
    assert caught.value.sqlstate == "ML003"
    assert caught.value.diag.message_hint
    # What is wrong is never said by a jsonpath, whose makers do not look.
    assert path(conn, filters) is None


def nested(depth: int) -> Row:
    tree: Row = {"a": 1}
    for _ in range(depth):
        tree = {"AND": [tree]}
    return tree


def test_groups_nest_64_deep_and_no_deeper(conn: Connection) -> None:
    check(conn, [{"a": 1}, {"a": 2}], nested(64), [0])
    with pytest.raises(psycopg.Error, match="64 deep") as caught, conn.transaction():
        predicate(conn, nested(65))
    assert caught.value.sqlstate == "ML003"


NASTY = [
    "a' OR '1'='1",
    "a') OR 1=1--",
    "%s",
    "%1$s %L %%",
    'a"b',
    '") || (true',
    "a\\",
    "\\'",
    "",
    "$$ $x$",
    "\n\t\x01",
    "日本 😀 é",
    "OR ",
    "metadata",
    "$",
    ".",
    "..",
    "*.a",
]


@pytest.mark.parametrize("key", NASTY)
@pytest.mark.parametrize("value", NASTY)
def test_keys_and_values_are_data_whatever_they_look_like(
    conn: Connection, key: str, value: str
) -> None:
    """A row with the key and value is found by each operator, one without by none."""
    remember(conn, [{key: value}, {}, {key: "other"}])
    for condition in (
        {"eq": value},
        {"in": [value, 1]},
        {"in": [value, *range(40)]},
        {"in": [value, {value: value}]},
        {"contains": value, "ne": "other"},
        {"icontains": value, "ne": "other"},
        {"gte": value, "lte": value},
    ):
        assert found(conn, {key: condition}) == [0], condition
    assert found(conn, {key: {"eq": {value: [value]}}}) == []
    assert found(conn, {key: {"nin": [value]}}) == [1, 2]
    assert found(conn, {key: "*"}) == [0, 2]


def test_a_column_takes_nasty_values_as_data(conn: Connection) -> None:
    remember_columns(conn, "actor_id", NASTY)
    for position, value in enumerate(NASTY):
        assert found(conn, {"actor_id": {"in": [value]}}) == [position]
        assert found(conn, {"actor_id": {"gte": value, "lte": value}}) == [position]
        assert position in found(conn, {"actor_id": {"contains": value, "icontains": value}})


def test_a_list_of_ten_thousand_is_understood(conn: Connection) -> None:
    remember(conn, [{"n": 9_999}, {"n": "9999"}, {"n": 10_000}, {"n": [7, 70_000]}, {}])
    many = list(range(10_000))
    assert found(conn, {"n": {"in": many}}) == [0, 3]
    assert found(conn, {"n": {"nin": many}}) == [1, 2, 4]
    assert found(conn, {"n": {"in": [*map(str, many), "'"]}}) == [1]
    assert found(conn, {"OR": [{"n": n} for n in many]}) == [0, 3]
    assert found(conn, {"user_id": {"in": [*map(str, many), "u"]}}) == [0, 1, 2, 3, 4]
    epoch = datetime(2020, 1, 1, tzinfo=UTC)
    hours = [(epoch + timedelta(hours=n)).isoformat() for n in many]
    assert found(conn, {"created_at": {"nin": hours}}) == [0, 1, 2, 3, 4]


def test_an_or_of_many_equalities_of_a_key_is_one_list(conn: Connection) -> None:
    """Alone and beside other conditions, it finds what its parts find."""
    rows: list[Row] = [{"n": 7}, {"n": "x"}, {"n": None}, {"n": [3]}, {"m": 5}, {"n": -1}, {}]
    remember(conn, rows)
    many: list[Row] = [{"n": n} for n in range(2_000)]
    length = len(predicate(conn, {"OR": many}).as_string(conn))
    assert length < 2 * len(predicate(conn, {"n": list(range(2_000))}).as_string(conn))
    mixed = [*many, {"n": "x"}, {"m": 5}, {"n": {"lt": 0}}, {"n": None}]
    assert found(conn, {"$or": many}) == [0, 3]
    assert found(conn, {"OR": mixed}) == [0, 1, 2, 3, 4, 5]
    assert found(conn, {"NOT": [{"OR": mixed}]}) == [6]
    assert found(conn, {"OR": [*many, {"m": "*"}]}) == [0, 3, 4]
    assert found(conn, {"OR": [*many, {"n": 7, "m": 1}, {"NOT": {"n": "*"}}]}) == [0, 3, 4, 6]
    assert found(conn, {"OR": [*many, {}]}) == [*range(7)]
    with pytest.raises(psycopg.Error, match="a filter is an object") as caught, conn.transaction():
        predicate(conn, {"OR": [*many, "a"]})
    assert caught.value.sqlstate == "ML003"


@pytest.mark.parametrize(
    "filters",
    [{"a": 1}, {"a": ["x", None, -2]}, {"a.b": "x'y"}, {"OR": [{"a": 1}, {"b": True}]}],
    ids=json.dumps,
)
def test_the_metadata_index_serves_equality(conn: Connection, filters: Row) -> None:
    conn.execute("set local enable_seqscan = off")
    query = SQL("explain select from memlayer.memory m where {}")
    plan = "\n".join(line for (line,) in conn.execute(query.format(predicate(conn, filters))))
    assert "memory_metadata_idx" in plan


@pytest.mark.parametrize("value", [*NASTY, "$1", "%2$s", "{}"])
def test_a_filter_reaches_every_operation_as_data(conn: Connection, value: str) -> None:
    """The condition becomes part of larger statements, which have placeholders of their own."""
    remember(conn, [{value: value}, {}, {"n": 1}])
    filters = Jsonb({value: value})
    scope = "p_user_id => 'u', p_filters => %s"
    for operation in (f"get_all({scope})", f"keyword_search(p_query => '0 1 2', {scope})"):
        rows = conn.execute(SQL("select text from memlayer.{}").format(SQL(operation)), [filters])
        assert rows.fetchall() == [("0",)], operation
    assert conn.execute(
        SQL("select deleted from memlayer.{}").format(SQL(f"delete_all({scope})")), [filters]
    ).fetchall() == [(1,)]
    assert found(conn, {}) == [1, 2]
