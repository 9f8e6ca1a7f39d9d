"""One line of the log for each operation, with fields for programs and nothing of what was said."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from memlayer_pg import observing
from memlayer_pg.effects import Call, Embed, Embedded, Generate, Generated
from memlayer_pg.errors import MemlayerError

log = logging.getLogger("memlayer_pg.operations")

Fields = dict[str, Any]


class OperationLog:
    """Writes a record for each operation to the logger "memlayer_pg.operations".

    Its fields, attributes of the record and thus of every JSON formatter's output: `operation`,
    `duration_ms`, `sql_ms`, `model_ms`, `rows`, `prompt_tokens`, `completion_tokens`,
    `embedding_tokens`; of one that failed also `error` (the class) and `error_code`.
    """

    def __init__(self, level: int) -> None:
        self._level = level
        self._fields: ContextVar[Fields | None] = ContextVar("fields", default=None)

    @contextmanager
    def operation(self, name: str) -> Iterator[None]:
        fields: Fields = {"operation": name, "sql_ms": 0.0, "model_ms": 0.0, "rows": 0}
        before = self._fields.set(fields)
        begun = time.perf_counter()
        level = self._level
        try:
            yield
        except BaseException as error:
            level = max(level, logging.WARNING)
            fields["error"] = type(error).__name__
            fields["error_code"] = error.error_code if isinstance(error, MemlayerError) else None
            raise
        finally:
            self._fields.reset(before)
            fields["duration_ms"] = _ms(begun)
            told = " ".join(f"{key}={value}" for key, value in fields.items())
            log.log(level, told, extra=fields)

    @contextmanager
    def step(self, effect: Any) -> Iterator[Callable[[Any], None]]:
        fields = self._fields.get()
        if fields is None:  # the log was switched on in the middle of an operation
            yield lambda answer: None
            return
        begun = time.perf_counter()
        try:
            yield lambda answer: _count(fields, effect, answer)
        finally:
            spent = "sql_ms" if isinstance(effect, Call) else "model_ms"
            fields[spent] = round(fields[spent] + _ms(begun), 3)


def _count(fields: Fields, effect: Any, answer: Any) -> None:
    match effect, answer:
        case Call(), list():
            fields["rows"] += len(answer)
        case Embed(), Embedded():
            fields["embedding_tokens"] = fields.get("embedding_tokens", 0) + answer.tokens
        case Generate(), Generated():
            for kind in ("prompt_tokens", "completion_tokens"):
                fields[kind] = fields.get(kind, 0) + getattr(answer, kind)


def _ms(begun: float) -> float:
    return round((time.perf_counter() - begun) * 1000, 3)


def log_operations(level: int = logging.INFO) -> Callable[[], None]:
    """Log every operation of this process, failed ones at WARNING at least.

    The result stops it, and is harmless when repeated. One line each:
    `operation=search sql_ms=3.1 model_ms=12.9 rows=5 … duration_ms=17.2`, and the same as
    attributes of the record. No text, id, vector or argument of a user is in it.
    """
    observer = OperationLog(level)
    observing.observe(observer)

    def stop() -> None:
        if observer in observing.observers:
            observing.unobserve(observer)

    return stop
