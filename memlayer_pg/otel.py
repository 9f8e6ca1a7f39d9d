"""OpenTelemetry: spans and metrics of every operation, by its API alone (extra `otel`).

Spans: `memlayer search` for the operation, and below it `embeddings MODEL`, `chat MODEL`, `rerank`
and `memlayer.search` for each statement. Names and attributes follow OpenTelemetry's conventions
for databases and generative AI, where there are such. No text, id or vector of a user is in them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import SpanKind, Status, StatusCode, TracerProvider

from memlayer_pg import db, observing
from memlayer_pg.effects import Call, Embed, Embedded, Generate, Generated
from memlayer_pg.errors import DatabaseError

NAME = "memlayer_pg"


class Telemetry:
    """The observer that makes spans and metrics.

    Metrics: `memlayer.operation.duration` and `memlayer.step.duration` (histograms, seconds),
    `memlayer.tokens` (by `gen_ai.token.type`: input, output) and `memlayer.rows` (counters).
    """

    def __init__(
        self,
        tracer_provider: TracerProvider | None,
        meter_provider: MeterProvider | None,
        sql_comments: bool,
    ) -> None:
        self.sql_comments = sql_comments
        self._tracer = trace.get_tracer(NAME, tracer_provider=tracer_provider)
        meter = metrics.get_meter(NAME, meter_provider=meter_provider)
        self._operations = meter.create_histogram(
            "memlayer.operation.duration", "s", "How long operations took, models included."
        )
        self._steps = meter.create_histogram(
            "memlayer.step.duration", "s", "How long operations waited for Postgres and for models."
        )
        self._tokens = meter.create_counter("memlayer.tokens", "{token}", "Tokens models counted.")
        self._rows = meter.create_counter("memlayer.rows", "{row}", "Rows Postgres returned.")

    @contextmanager
    def operation(self, name: str) -> Iterator[None]:
        labels = {"memlayer.operation": name}
        with self._timed(f"memlayer {name}", SpanKind.INTERNAL, labels, self._operations):
            yield

    @contextmanager
    def step(self, effect: Any) -> Iterator[Callable[[Any], None]]:
        name, kind, labels = _described(effect)
        with self._timed(name, kind, labels, self._steps) as span:
            yield lambda answer: self._answered(span, labels, answer)

    @contextmanager
    def _timed(
        self, name: str, kind: SpanKind, labels: dict[str, Any], histogram: metrics.Histogram
    ) -> Iterator[trace.Span]:
        begun = time.perf_counter()
        failure: dict[str, str] = {}
        # Not record_exception: what an error says may hold what a user said.
        with self._tracer.start_as_current_span(
            name,
            kind=kind,
            attributes=labels,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield span
            except BaseException as error:
                failure = {"error.type": type(error).__name__}
                span.set_attributes(failure)
                if isinstance(error, DatabaseError) and error.sqlstate:
                    span.set_attribute("db.response.status_code", error.sqlstate)
                span.set_status(Status(StatusCode.ERROR, type(error).__name__))
                raise
            finally:
                histogram.record(time.perf_counter() - begun, labels | failure)

    def _answered(self, span: trace.Span, labels: dict[str, Any], answer: Any) -> None:
        match answer:
            case Embedded():
                self._spent(span, answer.model, "input", answer.tokens)
            case Generated():
                self._spent(span, answer.model, "input", answer.prompt_tokens)
                self._spent(span, answer.model, "output", answer.completion_tokens)
                if answer.finish_reason is not None:
                    span.set_attribute("gen_ai.response.finish_reasons", [answer.finish_reason])
            case list() if "db.system.name" in labels:
                span.set_attribute("db.response.returned_rows", len(answer))
                self._rows.add(len(answer), labels)

    def _spent(self, span: trace.Span, model: str, kind: str, tokens: int) -> None:
        span.set_attribute("gen_ai.response.model", model)
        span.set_attribute(f"gen_ai.usage.{kind}_tokens", tokens)
        labels = {"gen_ai.token.type": kind, "gen_ai.response.model": model}
        self._tokens.add(tokens, labels)


def _described(effect: Any) -> tuple[str, SpanKind, dict[str, Any]]:
    """The name, kind and attributes of the span of one effect."""
    match effect:
        case Call():
            name = f"memlayer.{effect.function}"
            return name, SpanKind.CLIENT, {
                "db.system.name": "postgresql",
                "db.stored_procedure.name": name,
            }  # fmt: skip
        case Embed():
            labels = {"gen_ai.operation.name": "embeddings", "memlayer.texts": len(effect.texts)}
            return "embeddings", SpanKind.CLIENT, labels
        case Generate():
            return "chat", SpanKind.CLIENT, {"gen_ai.operation.name": "chat"}
    return "rerank", SpanKind.CLIENT, {"gen_ai.operation.name": "rerank"}


def traceparent() -> bytes | None:
    """A comment with the current trace, in the form of sqlcommenter; None when none is recorded."""
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return None
    flags = "01" if context.trace_flags.sampled else "00"
    return f"/*traceparent='00-{context.trace_id:032x}-{context.span_id:016x}-{flags}'*/".encode()


def instrument(
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
    *,
    sql_comments: bool = False,
) -> Callable[[], None]:
    """Make spans and metrics of every operation of this process from now on.

    The result stops it, and is harmless when repeated. Instrumented twice, all is told twice.
    `tracer_provider`, `meter_provider`: None is the global one. `sql_comments`: statements carry
    the trace as a comment, seen in pg_stat_activity and Postgres's log; they are then not prepared
    on the server, which costs each of them its planning. The operation needs no comment: a
    statement is the call of a function of its name. ImportError without the extra `otel`.
    """
    observer = Telemetry(tracer_provider, meter_provider, sql_comments)
    observing.observe(observer)
    _comment()

    def stop() -> None:
        if observer in observing.observers:
            observing.unobserve(observer)
            _comment()

    return stop


def _comment() -> None:
    """Have statements commented for as long as one of those who are told asked for it."""
    told = [seen for seen in observing.observers if isinstance(seen, Telemetry)]
    db.comment = traceparent if any(seen.sql_comments for seen in told) else None
