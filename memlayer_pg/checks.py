"""Looks at what a caller passes, before any model is asked and any row is touched.

Every function returns the cleaned value, or raises an error that names the argument. Where mem0
has a text for the mistake it is used word for word.
"""

from __future__ import annotations

import math
import re
import unicodedata
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime

from memlayer_pg.errors import InputError, NotStorable, ScopeMissing, ValidationError

SCOPE_IDS = ("user_id", "agent_id", "run_id")
LONGEST_ID = 255
"""Bytes a scope id may have."""
LONGEST_TEXT = 10 * 1024 * 1024
"""Bytes one text may have."""
TOP_K = 20
THRESHOLD = 0.1
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
MOST = 2**31 - 1
"""The largest number of rows that can be asked for."""


class Unset:
    """The type of `UNSET`."""

    def __repr__(self) -> str:
        return "<unset>"


UNSET = Unset()
"""Not given, where None means something."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memories: at least one of the three ids is there."""

    user_id: str | None = None
    agent_id: str | None = None
    run_id: str | None = None

    def args(self) -> dict[str, str | None]:
        """The ids as arguments of a SQL function."""
        return {f"p_{name}": value for name, value in asdict(self).items()}


def bad_characters(text: str) -> str | None:
    """What Postgres could not keep of this text, in words; None when it is fine."""
    if "\x00" in text:
        return "a NUL character"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "half a surrogate pair"
    return None


def blank(text: str) -> bool:
    """Whether nothing of a text can be seen: white space, zero-width characters, or nothing."""
    return all(letter.isspace() or unicodedata.category(letter) == "Cf" for letter in text)


def shown(value: object) -> str:
    """A value in a message: Python writes no whole number of thousands of digits."""
    try:
        return str(value)
    except ValueError:
        return "a number of thousands of digits"


def scope_id(name: str, value: object) -> str | None:
    """An id without blanks around it; numbers and UUIDs become text, None stays None."""
    if value is None:
        return None
    if not isinstance(value, str | int | uuid.UUID) or isinstance(value, bool):
        raise InputError(
            f"Invalid {name}: must be a string, a whole number or a UUID, "
            f"not {type(value).__name__}."
        )
    if isinstance(value, int) and value.bit_length() > 4 * LONGEST_ID:
        raise InputError(f"Invalid {name}: cannot be longer than {LONGEST_ID} bytes.")
    text = str(value).strip()
    if blank(text):
        raise InputError(
            f"Invalid {name}: cannot be empty or whitespace-only. Provide a valid identifier."
        )
    if any(letter.isspace() for letter in text):
        raise InputError(
            f"Invalid {name}: cannot contain whitespace. Provide a valid identifier without spaces."
        )
    if text == "*":
        raise InputError(f"Invalid {name}: '*' does not name anyone. Provide a valid identifier.")
    if problem := bad_characters(text):
        raise InputError(f"Invalid {name}: holds {problem}.")
    if len(text.encode()) > LONGEST_ID:
        raise InputError(f"Invalid {name}: cannot be longer than {LONGEST_ID} bytes.")
    return text


def _scope(ids: Mapping[str, object]) -> Scope | None:
    """The scope of these ids, None when it names nobody."""
    scope = Scope(**{name: scope_id(name, ids.get(name)) for name in SCOPE_IDS})
    return scope if any(asdict(scope).values()) else None


def scope_to_add(user_id: object, agent_id: object, run_id: object) -> Scope:
    """The scope of an add; ValidationError VALIDATION_001 when it names nobody."""
    ids = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
    if scope := _scope(ids):
        return scope
    raise ValidationError(
        "At least one of 'user_id', 'agent_id', or 'run_id' must be provided.",
        "VALIDATION_001",
        {"provided_ids": ids},
        "Please provide at least one identifier to scope the memory operation.",
    )


def scope_to_delete(ids: Mapping[str, object]) -> Scope:
    """The scope of a delete_all; ScopeMissing when it names nobody."""
    if scope := _scope(ids):
        return scope
    raise ScopeMissing(
        "At least one filter is required to delete all memories. If you want to delete all "
        "memories, use the `reset()` method."
    )


def scope_to_erase(ids: Mapping[str, object]) -> Scope:
    """The scope of an erasure; ScopeMissing when it names nobody."""
    if scope := _scope(ids):
        return scope
    raise ScopeMissing("An erasure names at least one of: user_id, agent_id, run_id.")


def scope_to_read(ids: Mapping[str, object]) -> Scope:
    """The scope of a reader; ScopeMissing when it names nobody."""
    if scope := _scope(ids):
        return scope
    raise ScopeMissing(
        "filters must contain at least one of: user_id, agent_id, run_id. "
        "Example: filters={'user_id': 'u1'}"
    )


def no_ids_beside_filters(extra: Mapping[str, object], method: str) -> None:
    """A reader takes the scope ids inside `filters` only; other unknown keywords are let pass."""
    if wrong := frozenset(SCOPE_IDS) & frozenset(extra):
        raise InputError(
            f"Top-level entity parameters {wrong} are not supported in {method}(). "
            "Use filters={'user_id': '...'} instead."
        )


def top_k(value: object) -> int:
    """How many rows: None is the default, anything but a whole number from 0 up is an error."""
    if value is None:
        return TOP_K
    if not isinstance(value, int) or isinstance(value, bool):
        raise InputError("top_k must be a valid integer")
    if value < 0:
        raise InputError(f"Invalid top_k: {shown(value)}. Must be a non-negative integer.")
    return min(value, MOST)


def at_least_one(name: str, value: object) -> int:
    """A whole number from 1 up."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InputError(f"{name} must be a whole number from 1 up")
    return value


def rate(value: object) -> float | None:
    """Requests a minute; None is no limit."""
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < math.inf:
        raise InputError("rate must be a number of requests a minute, more than 0")
    return float(value)


def version(name: str, value: object) -> int | None:
    """The version of a memory, counted from 1; None is none."""
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST:
        raise InputError(f"{name} must be a whole number from 1 up")
    return value


def threshold(value: object) -> float:
    """The least cosine similarity, 0 to 1; None is the default."""
    if value is None:
        return THRESHOLD
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise InputError("threshold must be a valid number")
    if not 0 <= value <= 1:
        raise InputError(f"Invalid threshold: {shown(value)}. Must be between 0 and 1 (inclusive).")
    return float(value)


def half_life(value: object) -> float | None:
    """Days, more than 0; None is none."""
    if value is None:
        return None
    try:
        if value is True or not isinstance(value, int | float) or not 0 < float(value) < math.inf:
            raise ValueError
        return float(value)
    except (ValueError, OverflowError):
        raise InputError("recency_half_life must be a number of days above 0") from None


def query(value: object) -> str:
    """The query without blanks around it."""
    if not isinstance(value, str):
        raise InputError("Invalid query: must be a non-empty string.")
    if blank(text := value.strip()):
        raise InputError("Invalid query: cannot be empty or whitespace-only.")
    if problem := bad_characters(text):
        raise InputError(f"Invalid query: holds {problem}.")
    return text


def storable(name: str, value: str) -> str:
    """A text that can be stored as it is; NotStorable when it is too long or cannot be kept."""
    if problem := bad_characters(value):
        raise NotStorable(f"{name} holds {problem}, which Postgres cannot store")
    # Four bytes is the most one character takes: short texts need no encoding to be measured.
    if len(value) * 4 > LONGEST_TEXT and len(value.encode()) > LONGEST_TEXT:
        raise NotStorable(f"{name} is longer than {LONGEST_TEXT:,} bytes")
    return value


def optional_text(name: str, value: object) -> str | None:
    """A text or nothing."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise InputError(f"{name} must be a string, not {type(value).__name__}")
    return storable(name, value)


def new_text(value: object) -> str | None:
    """The text of an update: None leaves it as it is, a blank one is an error."""
    text = optional_text("text", value)
    if text is not None and blank(text):
        raise InputError("text must not be empty or whitespace-only")
    return text


def memory_id(value: object) -> str | None:
    """An id as Postgres writes it; None when this cannot be the id of a memory."""
    try:
        return str(value if isinstance(value, uuid.UUID) else uuid.UUID(str(value)))
    except ValueError:
        return None


def expiration_date(value: object) -> date | None:
    """The last day a memory is shown, in UTC. A datetime counts by its own date."""
    if value is None:
        return None
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    if not isinstance(value, str):
        raise InputError("expiration_date must be a date string in YYYY-MM-DD format.")
    try:
        if not DAY.fullmatch(value):
            raise ValueError
        return date.fromisoformat(value)
    except ValueError:
        raise InputError("expiration_date must be a valid date in YYYY-MM-DD format.") from None


def day(name: str, value: object) -> date | None:
    """A day, from a date, a datetime (its day in UTC) or ISO text."""
    moment = instant(name, value)
    return None if moment is None else moment.date()


def looking_back(as_of: object, reference_date: object) -> tuple[datetime | None, date | None]:
    """The moment, or the day, by which a reader looks back."""
    if as_of is not None and reference_date is not None:
        raise InputError("as_of and reference_date exclude each other")
    return instant("as_of", as_of), day("reference_date", reference_date)


def instant(name: str, value: object) -> datetime | None:
    """A moment in UTC, from a datetime, a date, ISO text or seconds since 1970; naive means UTC."""
    if value is None:
        return None
    wrong = InputError(
        f"{name} must be a datetime, a date, an ISO 8601 string or seconds since 1970"
    )
    try:
        if isinstance(value, bool):
            raise wrong
        if isinstance(value, int | float):
            if not math.isfinite(value):
                raise wrong
            return datetime.fromtimestamp(value, UTC)
        if isinstance(value, str):
            value = datetime.fromisoformat(value.strip())
        elif isinstance(value, date) and not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day)
        if not isinstance(value, datetime):
            raise wrong
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        raise wrong from None


def idempotency_key(value: object) -> str | None:
    """A key that marks a request as the same one when it is sent again."""
    text = optional_text("idempotency_key", value)
    if text is not None and (blank(text) or len(text.encode()) > LONGEST_ID):
        raise InputError(f"idempotency_key must not be blank or longer than {LONGEST_ID} bytes")
    return text


def actor(value: object) -> str | None:
    """The label of whoever acted, beside the login that the database notes by itself."""
    text = optional_text("actor", value)
    if text is not None and (blank(text) or len(text.encode()) > LONGEST_ID):
        raise InputError(f"actor must not be blank or longer than {LONGEST_ID} bytes")
    return text
