"""Times, and the keys of a filter that name columns."""

from __future__ import annotations

import pytest

from tests.sql.filter_rows import (
    Connection,
    Row,
    check,
    evaluate,
    found,
    predicate,
    remember_columns,
)

DATES: list[Row] = [
    {"day": day}
    for day in (
        "2026-03-01",
        "2026-03-02T03:30:00Z",
        "2026-03-01T19:30:00-08:00",
        "2026-03-02 03:30",
        "2026-03-02T09:00:00.250+0530",
        "2026-02-30",
        "next week",
        20260302,
        None,
        ["2026-03-05", "x"],
        "2026-03-02T03:30:00 Europe/Nowhere",
    )
]


@pytest.mark.parametrize("time_zone", ["UTC", "America/Los_Angeles", "Asia/Kolkata"])
@pytest.mark.parametrize(
    ("filters", "right"),
    [
        ({"day": {"gte": "2026-03-02", "lt": "2026-03-03"}}, [1, 2, 3, 4, 10]),
        ({"day": {"lte": "2026-03-02T03:30:00Z"}}, [0, 1, 2, 3, 5, 10]),
        ({"day": {"gt": "2026-03-01T22:30:00-05:00"}}, [4, 6, 9, 10]),
        ({"day": {"gt": "2026-03-02T03:30:00.2499"}}, [4, 6, 9]),
        ({"day": {"gt": "2026-03-04"}}, [6, 9]),
        ({"day": {"gt": "m"}}, [6, 9]),
        ({"day": {"lt": "2026-03"}}, [5]),
        ({"day": "2026-03-02T03:30:00Z"}, [1]),
    ],
)
def test_iso_times_compare_by_instant_and_other_strings_as_strings(
    conn: Connection, time_zone: str, filters: Row, right: list[int]
) -> None:
    conn.execute("select set_config('timezone', %s, true)", [time_zone])
    conn.execute("set local datestyle = 'sql, dmy'")
    check(conn, DATES, filters, right)


@pytest.mark.parametrize("column", ["created_at", "updated_at", "observed_at"])
@pytest.mark.parametrize(
    ("condition", "right"),
    [
        ({"gte": "2026-03-02", "lt": "2026-03-03"}, [0, 1]),
        ({"gte": "2026-03-02T00:00:00", "lt": "2026-03-03T00:00:00"}, [0, 1]),
        ("2026-03-01T19:30:00-08:00", [0, 1]),
        (1772422200, [0, 1]),
        ({"gt": 1772422199.5}, [0, 1]),
        ({"in": ["2026-03-02T03:30Z", 0]}, [0, 1]),
        ({"ne": "2026-03-02T03:30Z"}, [2]),
        ({"nin": [1772422200, None]}, [2]),
        ({"lt": "2026-03-02"}, [2]),
        ([], []),
        ("*", [0, 1, 2]),
    ],
)
def test_a_time_column_compares_by_instant(
    conn: Connection, column: str, condition: object, right: list[int]
) -> None:
    conn.execute("set local timezone = 'Asia/Kolkata'")
    rows: list[Row] = [
        {"created_at": time, "updated_at": time, "observed_at": time, "expires_on": None}
        for time in ("2026-03-02T03:30Z", "2026-03-01T19:30-08:00", "2026-03-01T23:59Z")
    ]
    hits = [hit for (hit,) in evaluate(conn, rows, [predicate(conn, {column: condition})])]
    assert hits == [n in right for n in range(3)]


@pytest.mark.parametrize("key", ["expires_on", "expiration_date"])
@pytest.mark.parametrize(
    ("condition", "right"),
    [
        ("2026-03-02", [0]),
        ({"gt": "2026-03-01T23:00:00-01:00"}, [1]),
        ({"gte": "2026-03-02T00:00:00Z"}, [0, 1]),
        ({"lte": 1772409600}, [0]),
        (None, [2]),
        ("*", [0, 1]),
        ({"ne": "2026-03-02"}, [1, 2]),
        ({"in": [None, "2026-03-03"]}, [1, 2]),
    ],
)
def test_an_expiry_is_midnight_in_utc(
    conn: Connection, key: str, condition: object, right: list[int]
) -> None:
    conn.execute("set local timezone = 'America/Los_Angeles'")
    remember_columns(conn, "expires_on", ["2026-03-02", "2026-03-03", None])
    assert found(conn, {key: condition}) == right


@pytest.mark.parametrize("column", ["role", "actor_id", "attributed_to", "memory_type", "run_id"])
@pytest.mark.parametrize(
    ("condition", "right"),
    [
        ("user", [0]),
        ({"ne": "user"}, [1, 2, 3]),
        (["user", None], [0, 3]),
        ({"nin": ["user", None]}, [1, 2]),
        (None, [3]),
        ("*", [0, 1, 2]),
        ({"contains": "%"}, [1]),
        ({"icontains": "äÖ"}, [1]),
        ({"gt": "user"}, [1]),
        ({"lte": "user"}, [0, 2]),
        (42, [2]),
    ],
)
def test_a_promoted_name_means_the_column(
    conn: Connection, column: str, condition: object, right: list[int]
) -> None:
    remember_columns(conn, column, ["user", "ÄÖ%", "42", None])
    assert found(conn, {column: condition}) == right
