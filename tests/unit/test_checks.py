"""What callers pass, looked at before anything else happens."""

from __future__ import annotations

import math
import uuid
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from memlayer_pg import checks, jsonable
from memlayer_pg.errors import InputError, NotStorable, ScopeMissing, ValidationError

EMPTY = "Invalid user_id: cannot be empty or whitespace-only. Provide a valid identifier."
SPACES = "Invalid user_id: cannot contain whitespace. Provide a valid identifier without spaces."


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("ann", "ann"),
        ("  ann ", "ann"),
        (42, "42"),
        (0, "0"),
        (uuid.UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        ("%", "%"),
        ("安", "安"),
        ("x" * 255, "x" * 255),
        (None, None),
    ],
)
def test_an_id_is_trimmed_text(given: Any, kept: Any) -> None:
    assert checks.scope_id("user_id", given) == kept


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("", EMPTY),
        ("\u200b\ufeff \u2060", EMPTY),
        (True, "user_id: must be a string"),
        (False, "user_id: must be a string"),
        (" \t\n", EMPTY),
        ("a b", SPACES),
        ("a\u00a0b", SPACES),
        ("*", "'*' does not name anyone"),
        ("a\x00", "a NUL character"),
        ("a\ud800", "half a surrogate pair"),
        ("x" * 256, "255 bytes"),
        ("é" * 128, "255 bytes"),
        (1.5, "user_id: must be a string"),
        (["ann"], "user_id: must be a string"),
        ({"eq": "ann"}, "user_id: must be a string"),
        (b"ann", "user_id: must be a string"),
    ],
)
def test_what_cannot_be_an_id_is_an_error_that_names_it(given: Any, message: Any) -> None:
    with pytest.raises(InputError) as caught:
        checks.scope_id("user_id", given)
    assert message in str(caught.value)


def test_adding_for_nobody_is_mem0s_validation_error() -> None:
    with pytest.raises(ValidationError) as caught:
        checks.scope_to_add(None, None, None)
    error = caught.value
    assert error.error_code == "VALIDATION_001"
    assert str(error) == "At least one of 'user_id', 'agent_id', or 'run_id' must be provided."
    assert error.details == {"provided_ids": {"user_id": None, "agent_id": None, "run_id": None}}
    assert error.suggestion


def test_reading_or_deleting_for_nobody_is_mem0s_value_error() -> None:
    with pytest.raises(ValueError, match="filters must contain at least one of: user_id,") as read:
        checks.scope_to_read({"user_id": None})
    with pytest.raises(ValueError, match="At least one filter is required to delete all") as all_:
        checks.scope_to_delete({})
    assert isinstance(read.value, ScopeMissing)
    assert isinstance(all_.value, ScopeMissing)


@pytest.mark.parametrize(("given", "kept"), [(None, 20), (0, 0), (7, 7), (10**12, 2**31 - 1)])
def test_top_k_is_a_whole_number_with_a_default(given: Any, kept: Any) -> None:
    assert checks.top_k(given) == kept


@pytest.mark.parametrize("given", [-1, -100, True, "5", 2.5, [1]])
def test_another_top_k_is_an_error_that_names_it(given: Any) -> None:
    with pytest.raises(ValueError, match="top_k"):
        checks.top_k(given)


@pytest.mark.parametrize(("given", "kept"), [(None, 0.1), (0, 0.0), (1, 1.0), (0.25, 0.25)])
def test_threshold_is_from_0_to_1(given: Any, kept: Any) -> None:
    assert checks.threshold(given) == kept


@pytest.mark.parametrize("given", [True, "0.5", -0.1, 1.1, math.nan, math.inf])
def test_another_threshold_is_an_error_that_names_it(given: Any) -> None:
    with pytest.raises(ValueError, match="threshold"):
        checks.threshold(given)


def test_a_query_loses_the_blanks_around_it() -> None:
    assert checks.query(" hello \n") == "hello"


@pytest.mark.parametrize("given", ["", "  \n", None, 5, ["tea"], "a\x00b", "\ud83d"])
def test_what_is_no_query_is_an_error(given: Any) -> None:
    with pytest.raises(ValueError, match="Invalid query"):
        checks.query(given)


def test_text_of_five_megabytes_is_fine_and_more_than_ten_is_not() -> None:
    assert checks.storable("text", "é" * 2_500_000)
    with pytest.raises(NotStorable, match="text is longer than"):
        checks.storable("text", "é" * 5_300_000)


@pytest.mark.parametrize("given", ["a\x00b", "x\ud800y", "\udfff"])
def test_text_postgres_cannot_keep_is_not_storable(given: Any) -> None:
    with pytest.raises(NotStorable):
        checks.storable("text", given)


@pytest.mark.parametrize("given", ["👩‍👩‍👧‍👦 🍜", "İstanbul ß ﷽", "\u200b\ufeff\x07"])
def test_any_other_text_is_storable_as_it_is(given: Any) -> None:
    assert checks.storable("text", given) == given


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (None, None),
        ("2026-03-02", date(2026, 3, 2)),
        (date(2026, 3, 2), date(2026, 3, 2)),
        (datetime(2026, 3, 2, 23, tzinfo=timezone(-timedelta(hours=9))), date(2026, 3, 2)),
    ],
)
def test_expiration_is_a_day(given: Any, kept: Any) -> None:
    assert checks.expiration_date(given) == kept


def test_what_is_no_expiration_day_has_mem0s_message() -> None:
    for given in ("", "tomorrow", "2026-02-30", "2026-03-02T10:00:00"):
        with pytest.raises(ValueError, match="must be a valid date in YYYY-MM-DD format"):
            checks.expiration_date(given)
    for other in (5, 5.0, ["2026-03-02"]):
        with pytest.raises(ValueError, match="must be a date string in YYYY-MM-DD format"):
            checks.expiration_date(other)


@pytest.mark.parametrize(
    "given",
    [
        1637020800,
        1637020800.0,
        "2021-11-16",
        "2021-11-16T00:00:00Z",
        "2021-11-16T02:00:00+02:00",
        date(2021, 11, 16),
        datetime(2021, 11, 16),
        datetime(2021, 11, 16, 1, tzinfo=timezone(timedelta(hours=1))),
    ],
)
def test_a_timestamp_comes_in_many_forms_and_naive_means_utc(given: Any) -> None:
    assert checks.instant("timestamp", given) == datetime(2021, 11, 16, tzinfo=UTC)


@pytest.mark.parametrize("given", ["garbage", "", True, math.nan, 10**30, [], {}])
def test_garbage_is_no_timestamp(given: Any) -> None:
    with pytest.raises(ValueError, match="timestamp must be"):
        checks.instant("timestamp", given)


def test_a_memory_id_is_a_uuid_in_any_spelling() -> None:
    wanted = "12345678-1234-5678-1234-567812345678"
    assert checks.memory_id(wanted.upper()) == wanted
    assert checks.memory_id(uuid.UUID(wanted)) == wanted
    for given in ("ticket-77", "", "1; drop table x", None, 5, "a\x00", "\ud800"):
        assert checks.memory_id(given) is None


def test_metadata_becomes_json_and_the_callers_own_is_left_alone() -> None:
    day, moment, key = date(2026, 1, 2), datetime(2026, 1, 2, tzinfo=UTC), uuid.UUID(int=1)
    given = {"a": [1, (2.5, None)], "day": day, "at": moment, "key": key, "n": {"deep": True}}
    assert jsonable.metadata(given) == {
        "a": [1, [2.5, None]],
        "day": "2026-01-02",
        "at": "2026-01-02T00:00:00+00:00",
        "key": str(key),
        "n": {"deep": True},
    }
    assert given["a"] == [1, (2.5, None)]


def test_ids_inside_metadata_are_left_out_with_a_warning(caplog: Any) -> None:
    given = {"user_id": "eve", "agent_id": 1, "run_id": 2, "actor_id": 3, "topic": "tea"}
    assert jsonable.metadata(given) == {"topic": "tea"}
    assert "user_id, agent_id, run_id, actor_id" in caplog.text
    assert "eve" not in caplog.text


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("text", "metadata must be a dictionary"),
        ({"k": {1, 2}}, "metadata.k"),
        ({"k": Decimal("1.5")}, "metadata.k"),
        ({"k": math.nan}, "metadata.k"),
        ({"k": [1, math.inf]}, "metadata.k[1]"),
        ({"k": {"z": object()}}, "metadata.k.z"),
        ({1: "x"}, "the key 1"),
    ],
)
def test_metadata_that_is_no_json_is_an_error_that_names_the_key(given: Any, named: Any) -> None:
    with pytest.raises(InputError) as caught:
        jsonable.metadata(given)
    assert named in str(caught.value)


@pytest.mark.parametrize(
    "given", [{"k\x00": 1}, {"k": "v\x00"}, {"n": {"z": ["\x00"]}}, {"k": "\udfff"}]
)
def test_metadata_postgres_cannot_keep_is_not_storable(given: Any) -> None:
    with pytest.raises(NotStorable):
        jsonable.metadata(given)


def test_metadata_has_limits_of_size_and_depth() -> None:
    assert jsonable.metadata({"k": "x" * 1_000_000})
    with pytest.raises(NotStorable, match="larger than"):
        jsonable.metadata({"k": "é" * 600_000})
    with pytest.raises(NotStorable, match="JSON"):
        jsonable.metadata({"k": 10**5000})
    endless: dict[str, object] = {}
    endless["self"] = endless
    with pytest.raises(InputError, match="levels deep"):
        jsonable.metadata(endless)


def test_filters_take_sets_tuples_and_dates() -> None:
    found = jsonable.filters({"kind": {"in": {"a"}}, "n": (1, 2), "at": {"gte": date(2026, 1, 2)}})
    assert found == {"kind": {"in": ["a"]}, "n": [1, 2], "at": {"gte": "2026-01-02"}}


@pytest.mark.parametrize("given", ["user_id=1", ["a"], {1: "x"}, {"k": object()}])
def test_other_filters_are_an_error(given: Any) -> None:
    with pytest.raises(InputError):
        jsonable.filters(given)


def nested(levels: int) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": {"eq": "a"}}
    for _ in range(levels):
        found = {"AND": [found]}
    return found


def test_as_many_groups_of_filters_pass_as_the_database_takes() -> None:
    assert jsonable.filters(nested(64)) == nested(64)
    with pytest.raises(InputError, match="levels deep"):
        jsonable.filters(nested(5000))


def test_a_number_of_thousands_of_digits_is_an_error_of_ours() -> None:
    huge = 10**5000
    for check in (checks.top_k, checks.threshold, checks.half_life):
        with pytest.raises(InputError):
            check(-huge)
    with pytest.raises(InputError):
        checks.threshold(huge)
    with pytest.raises(InputError):
        checks.half_life(huge)
    with pytest.raises(InputError, match="255 bytes"):
        checks.scope_id("user_id", huge)
    assert checks.memory_id(huge) is None
    assert checks.shown(huge) == "a number of thousands of digits"
    for given in ({"n": huge}, {"n": [{"m": -huge}]}):
        with pytest.raises(NotStorable, match="thousands of digits"):
            jsonable.filters(given)
    with pytest.raises(InputError, match="must be a string"):
        jsonable.filters({huge: 1})


@pytest.mark.parametrize("unseen", ["", " \n", "\u200b", "\ufeff\u200d \u2060"])
def test_a_text_of_which_nothing_can_be_seen_is_blank(unseen: str) -> None:
    for check in (checks.query, checks.new_text, checks.idempotency_key):
        with pytest.raises(InputError):
            check(unseen)
    assert checks.query(f"a{unseen}b") == f"a{unseen}b"


@pytest.mark.parametrize("given", ["20991201", "2099-W01-1", " 2099-12-01", "2099-12-1"])
def test_an_expiration_is_written_in_one_way(given: str) -> None:
    with pytest.raises(InputError, match="YYYY-MM-DD"):
        checks.expiration_date(given)
