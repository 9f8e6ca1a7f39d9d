"""Random filters, and rows for them: from one small stock of keys and values, so that they meet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from random import Random
from typing import Any

from tests.sql import filter_oracle
from tests.sql.filter_rows import Row

# With what breaks out of SQL, JSON, jsonpath and LIKE.
NAMES = ["a", "b", "c", "", "or", 'q"q', "x'y", "%s", "\\", "$", "ключ"]
PATHS = ["a.b", "a.b.c", "b.a", ".", "a.", "metadata.a", "metadata.role", "metadata.a.b"]

# Without letters whose lower case Python and C disagree about.
WORDS = ["", "a", "A", "ab", "äB", "Äb", "ЖЖ", "жж", "日", "😀", "1", "true", "null", "*", "2024"]
WORDS += ["%", "_", "a%b", "a_b", "\\", "a\\b", "'", '"', "\n", "O'Brien", "$$", "é\té"]
PARTS = ["a", "A", "ä", "Ä", "b", "Ж", "ж", "%", "_", "\\", "'", ""]
# Things that only look like times.
ALMOST = ["2024-02-30", "2023-02-29", "2024-2-1", "2024-02-28T25:00", "2024-02-28 CET"]
ALMOST += ["0000-01-01", "2024-02-28T00:00+99:00", "2024-02-28\n"]
NUMBERS = [-3, -1, 0, 1, 2, 3, 101, 1.0, 0.5, -0.0, 1e3, 1000, 10**30, 1e-30, 2.5e300]
COMPOSITES: list[Any] = [
    *([], ["a"], ["a", 1], [1.0], ["Ä", "ä", "Äb"], [None, True], [["a"]], [[1], 2], [1e3, "a_b"]),
    *({"a": 1}, {"b": "a"}, {"b": 2}, {"b": {"c": 1}}, [{"b": 1}, {"b": "a"}], {"b": [1, 2]}),
]
SHAPES: list[Callable[[datetime, datetime], str]] = [
    lambda naive, zoned: naive.strftime("%Y-%m-%d"),
    lambda naive, zoned: naive.isoformat(),
    lambda naive, zoned: naive.isoformat(" ", "minutes"),
    lambda naive, zoned: naive.isoformat(timespec="milliseconds") + "Z",
    lambda naive, zoned: zoned.isoformat(),
    lambda naive, zoned: zoned.strftime("%Y-%m-%dT%H:%M%z"),
]
ORDERS = ["gt", "gte", "lt", "lte"]


def a_moment(random: Random) -> datetime:
    """Round the leap day of 2024, so that two are often near and sometimes the same."""
    return datetime(2024, 2, 28) + timedelta(minutes=30 * random.randrange(97))


def a_time(random: Random) -> str:
    """A moment in one of the ISO spellings."""
    moment = a_moment(random)
    zone = timezone(timedelta(minutes=random.choice([0, 60, 330, -480, 765])))
    return random.choice(SHAPES)(moment, moment.replace(tzinfo=zone))


def a_string(random: Random) -> str:
    """A time, a word, or a few characters."""
    kind = random.random()
    if kind < 0.4:
        return a_time(random)
    return random.choice([*WORDS, *ALMOST]) if kind < 0.8 else "".join(random.choices(PARTS, k=3))


def a_scalar(random: Random) -> Any:
    """Null, a truth value, a number or a string."""
    kind = random.random()
    if kind < 0.15:
        return random.choice([None, True, False])
    return random.choice(NUMBERS) if kind < 0.5 else a_string(random)


def a_value(random: Random) -> Any:
    """Of any JSON type."""
    kind = random.random()
    if kind < 0.65:
        return a_scalar(random)
    if kind < 0.75:
        return [a_value(random) for _ in range(random.randrange(3))]
    return {"b": a_value(random)} if kind < 0.85 else random.choice(COMPOSITES)


def a_row(random: Random) -> Row:
    """Metadata, and every column that a filter can name."""

    def instant() -> str | None:
        return random.choice([None, *[a_moment(random).replace(tzinfo=UTC).isoformat()] * 3])

    keys = [*random.sample("ab", random.randrange(3)), *random.sample(NAMES, random.randrange(6))]
    keys += random.sample(["a.b", "a.b.c", "role"], random.randrange(3))
    return {
        "metadata": {key: a_value(random) for key in keys},
        **{name: random.choice([None, a_string(random)]) for name in filter_oracle.TEXTS},
        **{name: instant() for name in ("created_at", "updated_at", "observed_at")},
        "expires_on": random.choice([None, "2024-02-28", "2024-02-29", "2024-03-01"]),
    }


def a_list(random: Random, one: Callable[[Random], Any]) -> list[Any]:
    """Up to four, or more than the length from which a list is hashed."""
    some = [one(random) for _ in range(random.randrange(5))]
    return some if random.random() < 0.8 else [*some, *range(100, 140)]


def an_operator(
    random: Random,
    one: Callable[[Random], Any],
    ordered: Callable[[Random], Any],
    part: Callable[[Random], Any] | None,
) -> Row:
    """One operator with an operand: `one` to equal, `ordered` to stand before, `part` to hold."""
    name = random.choice(
        ["eq", "ne", "in", "nin", *ORDERS, *["contains", "icontains"] * bool(part)]
    )
    if name in ("in", "nin"):
        return {name: a_list(random, one)}
    if name in ("eq", "ne"):
        return {name: one(random)}
    return {name: ordered(random) if name in ORDERS or part is None else part(random)}


def a_condition(random: Random) -> Row:
    """One key and what is asked of it, in any form the language has."""

    def asked(
        one: Callable[[Random], Any],
        ordered: Callable[[Random], Any],
        part: Callable[[Random], Any] | None,
        whole: Callable[[Random], Any] | None = None,
    ) -> Any:
        match random.randrange(8):
            case 0:
                return "*"
            case 1:
                return one(random)
            case 2:
                return a_list(random, one)
            case 3:
                return {
                    **an_operator(random, whole or one, ordered, part),
                    **an_operator(random, whole or one, ordered, part),
                }
        return an_operator(random, whole or one, ordered, part)

    def text(random: Random) -> Any:
        return random.choice([a_string(random), a_string(random), random.randrange(3)])

    def time(random: Random) -> Any:
        return random.choice([a_time(random), a_time(random), 1709136000, 1709137800.5])

    def or_null(one: Callable[[Random], Any]) -> Callable[[Random], Any]:
        return lambda random: None if random.random() < 0.2 else one(random)

    def part(random: Random) -> Any:
        return random.choice([*PARTS, a_scalar(random), a_scalar(random)])

    def ordered(random: Random) -> Any:
        return random.choice([a_time(random), a_string(random), random.choice(NUMBERS), True])

    match random.randrange(6):
        case 0:
            key = random.choice(sorted(filter_oracle.TEXTS))
            return {key: asked(or_null(text), text, lambda random: random.choice([*PARTS, 1]))}
        case 1:
            return {random.choice(sorted(filter_oracle.TIMES)): asked(or_null(time), time, None)}
    key = random.choice([*NAMES, *PATHS, "a", "a", "a", "b", "a.b", "a.b"])
    return {key: asked(a_scalar, ordered, part, a_value)}


def a_filter(random: Random, depth: int = 3) -> Row:
    """Conditions and groups of filters, nested up to a depth."""
    tree: Row = {}
    for _ in range(random.choice([1, 1, 1, 2])):
        tree |= a_condition(random)
    while depth and random.random() < 0.45:
        name = random.choice(["AND", "OR", "NOT", "$and", "$or", "$not"])
        items = [a_filter(random, depth - 1) for _ in range(random.choice([1, 2, 2, 3]))]
        tree[name] = items[0] if len(items) == 1 and name in ("NOT", "$not") else items
        if random.random() < 0.7:  # A condition beside a group hides much of what the group does.
            tree = {name: tree[name]}
    return tree


def parts(filters: Row) -> Iterator[Row]:
    """A filter and every one inside it, down to single operators, innermost first.

    Each can be asked for itself: a wrong condition shows even if the groups around it hide it, and
    the first to be wrong is a small one.
    """
    for key, value in filters.items():
        if key in ("AND", "OR", "NOT", "$and", "$or", "$not"):
            for item in [value] if isinstance(value, dict) else value:
                yield from parts(item)
        elif isinstance(value, dict):
            yield from ({key: {name: operand}} for name, operand in value.items())
        yield {key: value}
    yield filters
