"""The memories of a file, each with its place: a line of JSON each, or one JSON value."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import IO, Any

from memlayer_pg.cli.failures import WrongUse
from memlayer_pg.importing_rows import Placed

LONGEST = 64 * 1024 * 1024
"""Bytes of one line; what a memory may have is far less."""
SHAPES = 'one memory a line, such as {"memory": "…", "user_id": "…"}, or {"results": […]}'
WHOLE = re.compile(rb'\s*(\[|\{\s*("results"|$))')
"""How a file begins that is one JSON value: a list, a result of get_all, or an indented one."""


class Lines:
    """The memories of a file that is open for reading bytes; WrongUse names a line that is none."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._name = getattr(file, "name", "-")
        self._read = 0
        self._lines = 0

    def estimate(self) -> int | None:
        """How many lines there are, going by those that were read; None for what is no file."""
        try:
            size = os.fstat(self._file.fileno()).st_size
        except OSError:
            return None
        return round(self._lines * size / self._read) if size and self._read else None

    def __iter__(self) -> Iterator[Placed]:
        while text := self._file.readline(LONGEST + 1):
            self._read += len(text)
            self._lines += 1
            where = f"line {self._lines}"
            if self._lines == 1 and WHOLE.match(text):
                yield from self._whole(text + self._file.read())
                return
            if len(text) > LONGEST:
                raise WrongUse(
                    f"{where} is longer than {LONGEST:,} bytes", f"a file holds {SHAPES}"
                )
            if text.strip():
                yield Placed(where, _parsed(text, where))

    def _whole(self, text: bytes) -> Iterator[Placed]:
        found = _parsed(text, "the file")
        if isinstance(found, dict):
            found = found.get("results")
        if not isinstance(found, list):
            raise WrongUse("the file holds no memories", f"a file holds {SHAPES}")
        for number, item in enumerate(found, 1):
            yield Placed(f"memory {number}", item)


def _parsed(text: bytes, where: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise WrongUse(f"{where} is not JSON: {error}", f"a file holds {SHAPES}") from None


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number of JSON")
