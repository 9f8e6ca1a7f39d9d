"""The filter language over metadata, as rows found."""

from __future__ import annotations

import json

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from tests.conftest import drop, lay
from tests.sql.filter_rows import Connection, Row, check, found, path, remember

NUMBERS: list[Row] = [{"n": n} for n in (2, 9, 10, 100, -5, 1e3, 0.5)]


@pytest.mark.parametrize(
    ("filters", "right"),
    [
        ({"n": {"gte": 10}}, [10, 100, 1000]),
        ({"n": {"lt": 9}}, [2, -5, 0.5]),
        ({"n": {"gt": -10, "lte": 0.5}}, [-5, 0.5]),
        ({"n": {"eq": 9.0}}, [9]),
        ({"n": 1000}, [1000]),
        ({"n": [2, 1e2, -5.0]}, [2, 100, -5]),
        ({"n": "9"}, []),
        ({"n": {"gt": "0"}}, []),
    ],
)
def test_numbers_compare_as_numbers(conn: Connection, filters: Row, right: list[float]) -> None:
    remember(conn, NUMBERS)
    assert [NUMBERS[position]["n"] for position in found(conn, filters)] == right


LEVELS: list[Row] = [{"level": 4}, {"level": 5}, {}, {"level": None}, {"level": "4"}]


@pytest.mark.parametrize(
    "filters",
    [
        {"level": {"ne": 4}},
        {"level": {"nin": [4]}},
        {"NOT": [{"level": 4}]},
        {"NOT": {"level": 4}},
        {"NOT": [{"level": {"in": [4]}}]},
        {"NOT": [{"level": [4]}]},
        {"NOT": [{"NOT": [{"level": {"ne": 4}}]}]},
    ],
    ids=json.dumps,
)
def test_every_way_of_saying_not_finds_rows_that_lack_the_key(
    conn: Connection, filters: Row
) -> None:
    check(conn, LEVELS, filters, [1, 2, 3, 4])


@pytest.mark.parametrize(
    ("filters", "right"),
    [
        ({"NOT": [{"level": {"gt": 4}}]}, [0, 2, 3, 4]),
        ({"level": {"gt": 4}}, [1]),
        ({"level": None}, [3]),
        ({"level": {"ne": None}}, [0, 1, 2, 4]),
        ({"level": "*", "NOT": {"level": None}}, [0, 1, 4]),
        ({"level": {"contains": "4"}}, [4]),
        ({"NOT": {"level": {"contains": "4"}}}, [0, 1, 2, 3]),
    ],
)
def test_unlike_types_do_not_compare_and_a_negation_turns_that_round(
    conn: Connection, filters: Row, right: list[int]
) -> None:
    check(conn, LEVELS, filters, right)


OWNERS: list[Row] = [{"owner": value} for value in ("Ana", "Ben", 1, "1", True, None)]


@pytest.mark.parametrize(
    ("filters", "right"),
    [
        ({"owner": {"in": ["Ana", 1, None, True]}}, [0, 2, 4, 5]),
        ({"owner": ["Ana", 1, None, True]}, [0, 2, 4, 5]),
        ({"owner": {"nin": ["Ana", 1, None, True]}}, [1, 3]),
        ({"owner": {"in": []}}, []),
        ({"owner": []}, []),
        ({"owner": {"nin": []}}, [0, 1, 2, 3, 4, 5]),
        ({"owner": True}, [4]),
        ({"owner": {"ne": True}}, [0, 1, 2, 3, 5]),
        ({"owner": "1"}, [3]),
        ({"owner": 1}, [2]),
    ],
)
def test_membership_keeps_types_apart(conn: Connection, filters: Row, right: list[int]) -> None:
    check(conn, OWNERS, filters, right)


NOTES: list[Row] = [
    {"note": note}
    for note in ("75%", "7500", "unit_price", "unitXprice", "a\\b", "O'Brien", "ÄÖÜ É", "äöü é")
]


@pytest.mark.parametrize(
    ("filters", "right"),
    [
        ({"note": {"contains": "75%"}}, [0]),
        ({"note": {"contains": "unit_price"}}, [2]),
        ({"note": {"contains": "\\"}}, [4]),
        ({"note": {"contains": "%"}}, [0]),
        ({"note": {"contains": "_"}}, [2]),
        ({"note": {"contains": "'"}}, [5]),
        ({"note": {"contains": ""}}, [0, 1, 2, 3, 4, 5, 6, 7]),
        ({"note": {"contains": "UNIT_"}}, []),
        ({"note": {"icontains": "UNIT_"}}, [2]),
        ({"note": {"icontains": "o'BRIEN"}}, [5]),
        ({"note": {"contains": "Ö"}}, [6]),
        ({"note": {"icontains": "öÜ"}}, [6, 7]),
        ({"note": {"icontains": "É"}}, [6, 7]),
        ({"note": {"icontains": "A\\B"}}, [4]),
    ],
)
def test_contains_takes_every_character_literally(
    conn: Connection, filters: Row, right: list[int]
) -> None:
    check(conn, NOTES, filters, right)


PLACES: list[Row] = [
    {"in": place} for place in ("İstanbul", "ISTANBUL", "Diyarbak\u0131r", "ΟΔΟΣ", "οδος", "Straße")
]


LETTERS: list[tuple[Row, list[int]]] = [
    ({"in": {"icontains": "istanbul"}}, [0, 1]),
    ({"in": {"icontains": "İSTANBUL"}}, [0, 1]),
    ({"in": {"icontains": "Diyarbakir"}}, []),
    ({"in": {"icontains": "Οδος"}}, [3, 4]),
    ({"in": {"icontains": "οδοσ"}}, [3, 4]),
    ({"in": {"icontains": "STRASSE"}}, []),
]


def test_icontains_compares_letter_by_letter(conn: Connection) -> None:  # B136
    remember(conn, PLACES)
    assert [(filters, found(conn, filters)) for filters, _ in LETTERS] == LETTERS


def test_icontains_compares_letter_by_letter_where_the_locale_knows_all_of_unicode(
    server: str,
) -> None:  # B136
    with psycopg.connect(server, autocommit=True) as admin:
        if admin.info.server_version < 180000:
            pytest.skip("before 18 only ICU has such a locale")
        admin.execute(
            "create database all_of_unicode template template0"
            " locale_provider builtin builtin_locale 'PG_UNICODE_FAST' locale 'C'"
        )
    dsn = make_conninfo(server, dbname="all_of_unicode")
    try:
        lay(dsn)
        with psycopg.connect(dsn) as conn:
            assert conn.execute("select length(lower('İ'))").fetchone() == (2,)
            remember(conn, PLACES)
            assert [(filters, found(conn, filters)) for filters, _ in LETTERS] == LETTERS
    finally:
        drop(server, dsn)


@pytest.mark.parametrize(
    ("filters", "right"),
    [
        ({"category": "*"}, [0, 1, 3]),
        ({"category": {"eq": "*"}}, [1]),
        ({"category": {"ne": "*"}}, [0, 2, 3]),
        ({"category": ["*"]}, [1]),
        ({"NOT": {"category": "*"}}, [2]),
    ],
)
def test_a_star_means_that_the_key_is_there(
    conn: Connection, filters: Row, right: list[int]
) -> None:
    check(conn, [{"category": "a"}, {"category": "*"}, {}, {"category": None}], filters, right)


LISTS: list[Row] = [
    {"tags": ["red", "Blau", 3, None]},
    {"tags": ["reddish"]},
    {"tags": "red"},
    {"tags": []},
    {"tags": [["red"]]},
    {"tags": {"red": 1}},
]


@pytest.mark.parametrize(
    ("filters", "right"),
    [
        ({"tags": "red"}, [0, 2]),
        ({"tags": {"ne": "red"}}, [1, 3, 4, 5]),
        ({"tags": {"in": ["red", "reddish"]}}, [0, 1, 2]),
        ({"tags": {"contains": "red"}}, [0, 2]),
        ({"tags": {"contains": "re"}}, [2]),
        ({"tags": {"contains": 3.0}}, [0]),
        ({"tags": {"icontains": "BLAU"}}, [0]),
        ({"tags": {"gt": 2}}, [0]),
        ({"tags": {"eq": ["reddish"]}}, [1]),
        ({"tags": {"eq": ["red", "Blau", 3.0, None]}}, [0]),
        ({"tags": {"eq": []}}, [3]),
        ({"tags": {"eq": {"red": 1.0}}}, [5]),
        ({"tags": {"in": [["reddish"], {"red": 1}, "red"]}}, [0, 1, 2, 5]),
        ({"tags": None}, [0]),
    ],
)
def test_a_list_holds_what_an_element_holds(
    conn: Connection, filters: Row, right: list[int]
) -> None:
    check(conn, LISTS, filters, right)


NESTED: list[Row] = [
    {"a": {"b": 1}},
    {"a.b": 1},
    {"a": [{"b": 2}, {"b": 1}]},
    {"a": {"b": {"c": 1}}},
    {"a": 1},
    {"role": "cook", "metadata": {"role": "king"}},
]


@pytest.mark.parametrize(
    ("filters", "right"),
    [
        ({"a.b": 1}, [0, 1, 2]),
        ({"a.b": {"gt": 1}}, [2]),
        ({"a.b": {"ne": 1}}, [3, 4, 5]),
        ({"a.b": "*"}, [0, 1, 2, 3]),
        ({"a.b.c": 1}, [3]),
        ({"a.b": {"eq": {"c": 1}}}, [3]),
        ({"metadata.a.b": 1}, [0, 1, 2]),
        ({"metadata.role": "cook"}, [5]),
        ({"metadata.metadata.role": "king"}, [5]),
        ({"role": "cook"}, []),
    ],
)
def test_dots_go_into_nested_metadata(conn: Connection, filters: Row, right: list[int]) -> None:
    check(conn, NESTED, filters, right)


KINDS: list[Row] = [
    {"kind": "a"},
    {"kind": "b", "n": 2},
    {"kind": "b", "n": 1},
    {"kind": "a", "tag": "x"},
    {"or": 1, "not": "y"},
]


@pytest.mark.parametrize(
    ("filters", "right"),
    [
        ({"OR": [{"kind": "a"}, {"kind": "b", "n": {"gt": 1}}], "NOT": [{"tag": "x"}]}, [0, 1]),
        ({"$or": [{"kind": "a"}, {"n": 1}], "$not": {"tag": "x"}}, [0, 2]),
        ({"$and": [{"kind": "b"}, {"n": 1}]}, [2]),
        ({"AND": [{"kind": "a"}, {"kind": "b"}]}, []),
        ({"AND": [{"kind": "a"}]}, [0, 3]),
        ({"AND": []}, [0, 1, 2, 3, 4]),
        ({"AND": [{"OR": [{"NOT": [{"AND": [{"OR": [{"kind": "a"}]}]}]}]}]}, [1, 2, 4]),
        ({"NOT": [{"kind": "a"}, {"n": 1}]}, [1, 4]),
        ({"NOT": [{"kind": "a", "tag": "x"}]}, [0, 1, 2, 4]),
        ({"OR": [{"kind": "a"}, {}]}, [0, 1, 2, 3, 4]),
        ({"NOT": [{}]}, []),
        ({"or": 1}, [4]),
        ({"or": [1, 2], "not": "y"}, [4]),
        ({"and": {"ne": 1}, "kind": "a"}, [0, 3]),
        ({}, [0, 1, 2, 3, 4]),
        (None, [0, 1, 2, 3, 4]),
    ],
)
def test_groups_nest_as_boolean_algebra(conn: Connection, filters: Row, right: list[int]) -> None:
    check(conn, KINDS, filters, right)


@pytest.mark.parametrize(
    "filters",
    [
        {"category": "work"},
        {"category": ["work", "home"]},
        {"category": {"in": ["work"]}, "year": {"gte": 2024, "lt": 2026}},
        {"done": False, "owner": None},
        {"a.b": {"eq": 1.5}},
    ],
)
def test_a_simple_filter_is_one_jsonpath(conn: Connection, filters: Row) -> None:
    """A search with it is a kept statement, which need not be planned anew."""
    assert path(conn, filters) is not None


@pytest.mark.parametrize(
    "filters",
    [
        None,
        {},
        {"category": "*"},
        {"category": {"ne": "work"}},
        {"category": {"in": []}},
        {"category": {"in": list(range(9))}},
        {"category": {"eq": ["work"]}},
        {"category": {"contains": "work"}},
        {"day": {"gt": "2026-01-01"}},
        {"category": "work", "role": "user"},
        {"category": "work", "OR": [{"a": 1}, {"b": 2}]},
    ],
)
def test_a_filter_that_says_more_is_no_jsonpath(conn: Connection, filters: Row | None) -> None:
    assert path(conn, filters) is None
