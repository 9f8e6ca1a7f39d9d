"""Values of settings, of the type they must have; ConfigError names the setting.

Numbers may come as text: that is how they stand in many a configuration file.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from typing import Any

from memlayer_pg.errors import ConfigError


def text(name: str, value: object) -> None:
    """A text that is not blank, or None."""
    if value is not None and not (isinstance(value, str) and value.strip()):
        raise ConfigError(f"{name}: must be a text that is not blank")


def number(name: str, value: object, must: str) -> float:
    """A finite number; `must` says in the message what it must be."""
    found = math.nan
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        with contextlib.suppress(ValueError, OverflowError):
            found = float(value)
    if not math.isfinite(found):
        raise ConfigError(f"{name}: {must}")
    return found


def whole(name: str, value: object, must: str) -> int:
    """A whole number; `must` says in the message what it must be."""
    found = number(name, value, must)
    if not found.is_integer():
        raise ConfigError(f"{name}: {must}")
    return int(found)


def mapping(name: str, value: object) -> Mapping[str, Any]:
    """A dictionary whose keys are texts."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ConfigError(f"{name}: must be a dictionary whose keys are texts")
    return value


def headers(name: str, value: object) -> None:
    """A dictionary of HTTP headers; no message shows one, it may be a key."""
    for key, header in mapping(name, value).items():
        if not sendable(key) or not isinstance(header, str) or not sendable(header):
            raise ConfigError(f"{name}: each must be a text of printable ASCII characters")


def sendable(value: str) -> bool:
    """Whether a text can stand in an HTTP header."""
    return value.isascii() and value.isprintable()
