"""OpenTelemetry and the log of operations: what they tell, and that they tell no user's text."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from psycopg.conninfo import make_conninfo

from memlayer_pg import MemoryNotFound, db, logs, observing, otel
from memlayer_pg.errors import EmbeddingError
from tests.endpoint import Endpoint, refusal

SECRET = "zanzibar"
NOWHERE = "00000000-0000-4000-8000-000000000000"


class Telemetry:
    """What OpenTelemetry was told, read back."""

    def __init__(self) -> None:
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.traces = TracerProvider()
        self.traces.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.meters = MeterProvider([self.reader])

    @property
    def spans(self) -> dict[str, Any]:
        return {span.name: span for span in self.exporter.get_finished_spans()}

    @property
    def points(self) -> dict[str, list[Any]]:
        """The points of each metric, all of one reading."""
        data = self.reader.get_metrics_data()
        assert data is not None
        [resource] = data.resource_metrics
        [scope] = resource.scope_metrics
        return {metric.name: list(metric.data.data_points) for metric in scope.metrics}


@pytest.fixture
def telemetry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Telemetry]:
    monkeypatch.delenv("OTEL_SDK_DISABLED", raising=False)  # some packages want it set
    told = Telemetry()
    stop = otel.instrument(told.traces, told.meters, sql_comments=True)
    yield told
    stop()


def test_an_operation_is_a_span_with_its_models_and_statements_below_it(
    memory: Any, endpoint: Endpoint, telemetry: Telemetry
) -> None:
    endpoint.facts(f"Ann lives in {SECRET}")
    memory.add(f"I moved to {SECRET}", user_id=f"{SECRET}-user")
    spans = telemetry.spans
    whole = spans["memlayer add"]
    assert whole.attributes["memlayer.operation"] == "add"
    assert {"chat", "embeddings", "memlayer.recall_context", "memlayer.add"} <= spans.keys()
    for name in ("chat", "embeddings", "memlayer.add"):
        assert spans[name].parent.span_id == whole.context.span_id
    assert spans["chat"].attributes["gen_ai.response.model"] == "scripted"
    assert spans["chat"].attributes["gen_ai.usage.output_tokens"] > 0
    assert spans["memlayer.add"].attributes["db.response.returned_rows"] == 1


def test_tokens_rows_and_times_are_metrics(
    memory: Any, endpoint: Endpoint, telemetry: Telemetry
) -> None:
    endpoint.facts("Ann likes tea", "Ann likes rum")
    memory.add("x", user_id="ann")
    memory.search("tea", filters={"user_id": "ann"}, threshold=0.0)
    points = telemetry.points
    done = {p.attributes["memlayer.operation"]: p.count for p in
            points["memlayer.operation.duration"]}  # fmt: skip
    assert done == {"add": 1, "search": 1}
    kinds = {point.attributes["gen_ai.token.type"]: point.value for point in
             points["memlayer.tokens"]}  # fmt: skip
    assert kinds["input"] > kinds["output"] > 0
    rows = {p.attributes["db.stored_procedure.name"]: p.value for p in points["memlayer.rows"]}
    assert rows["memlayer.add"] == rows["memlayer.search"] == 2


def test_a_failure_is_told_by_its_class_and_sqlstate(
    memory: Any, endpoint: Endpoint, telemetry: Telemetry
) -> None:
    with pytest.raises(MemoryNotFound):
        memory.delete(NOWHERE)
    span = telemetry.spans["memlayer.delete"]
    assert span.attributes["db.response.status_code"] == "ML002"
    assert telemetry.spans["memlayer delete"].attributes["error.type"] == "MemoryNotFound"
    [point] = telemetry.points["memlayer.operation.duration"]
    assert point.attributes["error.type"] == "MemoryNotFound"
    endpoint.embeddings = lambda request: refusal(400, SECRET)
    with pytest.raises(EmbeddingError):
        memory.search(SECRET, filters={"user_id": "ann"})
    assert telemetry.spans["embeddings"].status.description == "EmbeddingError"


def test_no_text_or_id_of_a_user_is_told(
    memory: Any, endpoint: Endpoint, telemetry: Telemetry, caplog: Any
) -> None:
    caplog.set_level(logging.DEBUG)
    stop = logs.log_operations()
    endpoint.facts(f"Ann lives in {SECRET}")
    [added] = memory.add(f"I moved to {SECRET}", user_id=SECRET, metadata={SECRET: SECRET})[
        "results"
    ]
    memory.search(SECRET, filters={"user_id": SECRET, SECRET: SECRET})
    memory.update(added["id"], f"{SECRET} it is")
    endpoint.embeddings = lambda request: refusal(400, SECRET)
    with pytest.raises(EmbeddingError):
        memory.search(SECRET, filters={"user_id": SECRET})
    stop()
    told = "".join(span.to_json() for span in telemetry.exporter.get_finished_spans())
    told += repr(telemetry.reader.get_metrics_data())
    told += "".join(repr(vars(r)) for r in caplog.records if r.name == "memlayer_pg.operations")
    assert "memlayer_pg.operations" in told
    assert SECRET not in told
    assert added["id"] not in told


def test_statements_carry_the_trace_when_it_is_asked_for(
    make: Any, live: str, sql: Any, tenant: str, telemetry: Telemetry
) -> None:
    memory = make(dsn=make_conninfo(live, application_name=tenant))
    for _ in range(8):  # as many as would be prepared
        memory.get_all(filters={"user_id": "ann"})
    [(query,)] = sql("select query from pg_stat_activity where application_name = %(tenant)s")
    trace = telemetry.spans["memlayer.get_all"].context.trace_id
    assert f"/*traceparent='00-{trace:032x}-" in query


def test_each_of_two_that_instrument_is_told_until_it_stops_itself(
    memory: Any, telemetry: Telemetry
) -> None:
    other = Telemetry()
    stop = otel.instrument(other.traces, other.meters, sql_comments=True)
    stop()
    stop()
    memory.get_all(filters={"user_id": "ann"})
    assert "memlayer get_all" in telemetry.spans
    assert other.spans == {}
    assert db.comment is not None  # the first one asked for it, too


def test_a_log_that_was_stopped_can_be_stopped_again(memory: Any, caplog: Any) -> None:
    caplog.set_level(logging.INFO, "memlayer_pg.operations")
    stop, stop_other = logs.log_operations(), logs.log_operations()
    stop()
    stop()
    memory.get_all(filters={"user_id": "ann"})
    stop_other()
    assert [record.name for record in caplog.records].count("memlayer_pg.operations") == 1


def test_the_log_has_one_line_an_operation_with_fields(
    memory: Any, endpoint: Endpoint, caplog: Any
) -> None:
    caplog.set_level(logging.INFO, "memlayer_pg.operations")
    stop = logs.log_operations()
    endpoint.facts("Ann likes tea")
    memory.add("x", user_id="ann")
    with pytest.raises(MemoryNotFound):
        memory.delete(NOWHERE)
    stop()
    memory.add("y", user_id="ann")
    added, deleted = (r for r in caplog.records if r.name == "memlayer_pg.operations")
    assert (added.operation, added.rows, added.levelno) == ("add", 2, logging.INFO)
    assert added.duration_ms >= added.sql_ms > 0
    assert added.completion_tokens > 0
    assert (deleted.error, deleted.error_code) == ("MemoryNotFound", "ML002")
    assert deleted.levelno == logging.WARNING
    assert added.getMessage().startswith("operation=add ")
    json.dumps({key: vars(added)[key] for key in ("operation", "rows", "sql_ms", "model_ms")})


def test_whoever_is_not_told_any_more_costs_nothing() -> None:
    stop = otel.instrument()
    assert len(observing.observers) == 1
    stop()
    assert observing.observers == []
