"""What a filter means, said again in plain Python: the judge of `memlayer.filter_predicate`.

Written for plainness, not for speed, and from the documented rules, not from the SQL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

TIMES = {"created_at", "updated_at", "observed_at", "expires_on", "expiration_date"}
TEXTS = {"user_id", "agent_id", "run_id", "actor_id", "role", "attributed_to", "memory_type"}

ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "gt": lambda a, b: a > b,
    "gte": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "lte": lambda a, b: a <= b,
}

ISO = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(?P<zone>Z|[+-]\d\d(:?\d\d)?)?)?", re.ASCII
)


def holds(tree: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    """Whether a row (its columns, and `metadata`) is among those the filter asks for."""
    return all(entry(key, value, row) for key, value in tree.items())


def entry(key: str, value: Any, row: Mapping[str, Any]) -> bool:
    """One key of a filter: a group, or what is asked of one key of the row."""
    match key:
        case "AND" | "$and":
            return all(holds(item, row) for item in value)
        case "OR" | "$or":
            return any(holds(item, row) for item in value)
        case "NOT" | "$not":
            return not any(
                holds(item, row) for item in ([value] if isinstance(value, dict) else value)
            )
    if value == "*":
        return any(item is not None for item in found(key, row)) or (
            key not in TIMES | TEXTS and any(True for _ in found(key, row))
        )
    if isinstance(value, dict):
        return all(compares(key, operator, operand, row) for operator, operand in value.items())
    return compares(key, "in" if isinstance(value, list) else "eq", value, row)


def compares(key: str, operator: str, operand: Any, row: Mapping[str, Any]) -> bool:
    """One operator on one key."""
    match operator:
        case "ne":
            return not compares(key, "eq", operand, row)
        case "nin":
            return not compares(key, "in", operand, row)
        case "in":
            return any(compares(key, "eq", item, row) for item in operand)
    values = list(found(key, row))
    if key in TIMES:
        operand = instant(operand)
    elif key in TEXTS and operand is not None:
        operand = str(operand)
    match operator:
        case "eq":
            return any(equals(value, operand) for value in values)
        case "contains":
            return any(contains(value, operand) for value in values)
        case "icontains":
            return any(contains(lower(value), lower(operand)) for value in values)
    ordered = ORDERS[operator]
    return any(
        before(item, operand, ordered, iso=key not in TEXTS)
        for value in values
        for item in elements(value)
    )


def found(key: str, row: Mapping[str, Any]) -> Iterator[Any]:
    """The values that a key means: of a column, or of metadata by that name or path."""
    if key in TIMES:
        yield instant(row.get("expires_on" if key == "expiration_date" else key))
        return
    if key in TEXTS:
        yield row.get(key)
        return
    key = key.removeprefix("metadata.")
    metadata = row["metadata"]
    if key in metadata:
        yield metadata[key]
    if "." in key:
        yield from inside(metadata, key.split("."))


def inside(value: Any, path: list[str]) -> Iterator[Any]:
    """The values at a path, through objects and lists of objects."""
    if not path:
        yield value
        return
    for item in elements(value):
        if isinstance(item, dict) and path[0] in item:
            yield from inside(item[path[0]], path[1:])


def elements(value: Any) -> list[Any]:
    """A list's elements; anything else is its own only one."""
    return value if isinstance(value, list) else [value]


def kind(value: Any) -> str:
    """The type as JSON knows it: bool is no number, int and float are one."""
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float | Decimal) else type(value).__name__


def same(a: Any, b: Any) -> bool:
    """Equal as JSON: 1 is 1.0, but is neither true nor "1"."""
    if kind(a) != kind(b):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return bool(number(a) == number(b))


def equals(value: Any, operand: Any) -> bool:
    """A list or object is compared whole; else the value or one of its elements."""
    if isinstance(operand, list | dict):
        return same(value, operand)
    return any(same(item, operand) for item in elements(value))


def contains(value: Any, operand: Any) -> bool:
    """Part of a string, or an element of a list."""
    if isinstance(value, str) and isinstance(operand, str):
        return operand in value
    return equals(value, operand)


def lower(value: Any) -> Any:
    """The value, with its strings in lower case."""
    if isinstance(value, list):
        return [lower(item) for item in value]
    return value.lower() if isinstance(value, str) else value


def before(value: Any, operand: Any, ordered: Callable[[Any, Any], bool], *, iso: bool) -> bool:
    """In order, where both are of one type that has an order."""
    if value is None or kind(value) != kind(operand) or isinstance(value, list | dict):
        return False
    if isinstance(value, str) and iso:
        times = instant_or_none(value), instant_or_none(operand)
        if None not in times:
            return ordered(*times)
    return ordered(number(value), number(operand))


def number(value: Any) -> Any:
    """A float as the decimal that JSON writes for it."""
    return Decimal(repr(value)) if isinstance(value, float) else value


def instant(value: Any) -> datetime | None:
    """The instant of a column's value or of an operand beside one."""
    match value:
        case datetime() | None:
            return value
        case date():
            return datetime(value.year, value.month, value.day, tzinfo=UTC)
        case str():
            time = instant_or_none(value)
            assert time is not None, value
            return time
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=value)


def instant_or_none(text: str) -> datetime | None:
    """The instant an ISO string names; None for other strings and for days that never were."""
    shape = ISO.fullmatch(text)
    if shape is None:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if shape["zone"] else time.replace(tzinfo=UTC)
