"""An application's rows and our memories in one transaction, whatever its connection is."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from memlayer_pg import (
    Config,
    DatabaseError,
    FilterError,
    IdempotencyConflict,
    Memory,
    MemoryNotFound,
    VersionConflict,
)
from tests.api.harness import Harness, model
from tests.api.proxy import Proxy
from tests.api.test_reading import ANN, found

WAYS = ("psycopg", "core", "orm", "async psycopg", "async core", "async orm")
NOBODY = "00000000-0000-4000-8000-000000000000"
INSERT = "insert into booking values (:tenant)"


@pytest.fixture(scope="module")
def booking(live: str) -> None:
    with psycopg.connect(live, autocommit=True) as conn:
        conn.execute("create table if not exists booking (tenant text)")


def url(dsn: str) -> sa.URL:
    parts = conninfo_to_dict(dsn)
    return sa.URL.create(
        "postgresql+psycopg",
        username=str(parts["user"]),
        database=str(parts["dbname"]),
        query={"host": str(parts["host"]), "port": str(parts.get("port", 5432))},
    )


class Application:
    """A program with a connection of one of the WAYS, and a memory that fits it."""

    def __init__(self, way: str, dsn: str, tenant: str, config: Config) -> None:
        self._dsn, self._tenant = dsn, tenant
        self._way = way.removeprefix("async ")
        self._runner = asyncio.Runner() if way.startswith("async") else None
        self.memory = Harness("async" if self._runner else "sync", config)
        self._engine: Any = None
        if self._way != "psycopg":
            make: Any = create_async_engine if self._runner else sa.create_engine
            self._engine = make(url(dsn))

    def _done(self, given: Any) -> Any:
        return self.memory.run(given) if self._runner else given

    @contextmanager
    def connection(self) -> Iterator[Any]:
        if self._way == "psycopg":
            kind: Any = psycopg.AsyncConnection if self._runner else psycopg.Connection
            conn = self._done(kind.connect(self._dsn))
        elif self._way == "core":
            conn = self._engine.connect()
            if self._runner:
                self._done(conn.start())
        else:
            conn = (AsyncSession if self._runner else Session)(self._engine)
        try:
            yield conn
        finally:
            self._done(conn.close())

    def book(self, conn: Any) -> None:
        given = {"tenant": self._tenant}
        if self._way == "psycopg":
            self._done(conn.execute(INSERT.replace(":tenant", "%(tenant)s"), given))
        else:
            self._done(conn.execute(sa.text(INSERT), given))

    @contextmanager
    def savepoint(self, conn: Any, how: str) -> Iterator[None]:
        """One of the caller's own: how is rollback or commit."""
        if self._way == "psycopg":
            self._done(conn.execute("savepoint his"))
            yield
            end = "rollback to savepoint his" if how == "rollback" else "release savepoint his"
            self._done(conn.execute(end))
            return

        async def started() -> Any:
            return await conn.begin_nested()

        nested = self._done(started()) if self._runner else conn.begin_nested()
        yield
        self._done(getattr(nested, how)())

    def end(self, conn: Any, how: str) -> None:
        self._done(getattr(conn, how)())

    def close(self) -> None:
        if self._engine is not None:
            self._done(self._engine.dispose())
        self.memory.close()
        if self._runner:
            self._runner.close()


@pytest.fixture(params=WAYS)
def application(
    request: pytest.FixtureRequest, live: str, tenant: str, endpoint: Any
) -> Iterator[Application]:
    endpoint.facts({"text": "Ann ordered tea", "entities": [{"name": "Ann", "type": "person"}]})
    config = Config(dsn=live, tenant=tenant, llm=model(endpoint), embedder=model(endpoint))
    application = Application(request.param, live, tenant, config)
    yield application
    application.close()


STATE = """
select (select count(*) from booking where tenant = %(tenant)s),
       (select array_agg((id, text, version) order by id)
          from memlayer.memory where tenant = %(tenant)s)::text,
       (select count(*) from memlayer.history where tenant = %(tenant)s),
       (select count(*) from memlayer.change where tenant = %(tenant)s)
"""


@pytest.mark.usefixtures("booking", "consistent")
def test_every_write_commits_or_rolls_back_with_the_callers_own(
    application: Application, sql: Any
) -> None:
    memory = application.memory
    [stored] = memory.add("Ann lives in Rome", user_id="ann", infer=False)["results"]
    [gone] = memory.add("Ann owned a cat", user_id="ann", infer=False)["results"]
    memory.delete(gone["id"])
    change = memory.changes(top_k=1)["results"][0]["id"]
    prepared = memory.prepare_add("Ann is tall", user_id="ann", infer=False)
    text = {"id": gone["id"], "text": "Bob is in Oslo", "user_id": "bob"}
    writes: list[Any] = [
        lambda conn: memory.add("I ordered tea", user_id="ann", connection=conn),
        lambda conn: memory.update(stored["id"], "Ann lives in Oslo", connection=conn),
        lambda conn: memory.restore(stored["id"], version=1, connection=conn),
        lambda conn: memory.undo(change, connection=conn),
        lambda conn: memory.delete(gone["id"], connection=conn),
        lambda conn: memory.apply(prepared, connection=conn),
        lambda conn: memory.import_memories([text], embed=True, connection=conn),
        lambda conn: memory.delete_all("ann", connection=conn),
    ]
    for write in writes:
        before = sql(STATE)[0]
        with application.connection() as conn:
            application.book(conn)
            write(conn)
            assert sql(STATE)[0] == before
            application.end(conn, "rollback")
            assert sql(STATE)[0] == before
            application.book(conn)
            write(conn)
            application.end(conn, "commit")
        after = sql(STATE)[0]
        assert (after[0], after[3]) == (before[0] + 1, before[3] + 1)
        assert after[2] > before[2]
        assert after[1] != before[1]


@pytest.mark.usefixtures("booking", "consistent")
def test_an_error_of_ours_leaves_the_callers_work_to_be_committed(
    application: Application, sql: Any
) -> None:
    memory = application.memory
    [stored] = memory.add("Ann lives in Rome", user_id="ann", infer=False)["results"]
    memory.add("x", user_id="ann", infer=False, idempotency_key="k")
    failures: list[tuple[type[Exception], Any]] = [
        (
            IdempotencyConflict,
            lambda conn: memory.add(
                "another", user_id="ann", infer=False, idempotency_key="k", connection=conn
            ),
        ),
        (MemoryNotFound, lambda conn: memory.delete(NOBODY, connection=conn)),
        (MemoryNotFound, lambda conn: memory.restore(NOBODY, version=1, connection=conn)),
        (MemoryNotFound, lambda conn: memory.undo(NOBODY, connection=conn)),
        (
            VersionConflict,
            lambda conn: memory.update(
                stored["id"], metadata={"a": 1}, expected_version=7, connection=conn
            ),
        ),
        (
            FilterError,
            lambda conn: memory.get_all(filters={**ANN, "a": {"near": 1}}, connection=conn),
        ),
    ]
    with application.connection() as conn:
        for kind, fail in failures:
            application.book(conn)
            with pytest.raises(kind):
                fail(conn)
        memory.add("I ordered tea", user_id="ann", connection=conn)
        application.end(conn, "commit")
    assert sql(STATE)[0][0] == len(failures)
    assert sorted(found(memory.get_all(filters=ANN))) == [
        "Ann lives in Rome",
        "Ann ordered tea",
        "x",
    ]


@pytest.mark.usefixtures("booking", "consistent")
def test_what_is_done_within_the_callers_savepoint_ends_with_it(
    application: Application, sql: Any
) -> None:
    memory = application.memory
    with application.connection() as conn:
        application.book(conn)
        with application.savepoint(conn, "rollback"):
            application.book(conn)
            memory.add("Ann lives in Rome", user_id="ann", infer=False, connection=conn)
            with pytest.raises(MemoryNotFound):
                memory.delete(NOBODY, connection=conn)
            assert found(memory.get_all(filters=ANN, connection=conn)) == ["Ann lives in Rome"]
        assert found(memory.get_all(filters=ANN, connection=conn)) == []
        with application.savepoint(conn, "commit"):
            with pytest.raises(MemoryNotFound):
                memory.delete(NOBODY, connection=conn)
            application.book(conn)
            memory.add("Ann lives in Oslo", user_id="ann", infer=False, connection=conn)
            with application.savepoint(conn, "rollback"):
                memory.delete_all("ann", connection=conn)
        application.end(conn, "commit")
    assert found(memory.get_all(filters=ANN)) == ["Ann lives in Oslo"]
    assert sql(STATE)[0][0] == 2
    assert sql(STATE)[0][2:] == (1, 1)


@pytest.mark.usefixtures("booking")
def test_what_was_prepared_is_applied_without_asking_a_model(
    application: Application, endpoint: Any, sql: Any
) -> None:
    memory = application.memory
    [stored] = memory.add("Ann lives in Rome", user_id="ann", infer=False)["results"]
    prepared = [
        memory.prepare_add("I ordered tea", user_id="ann"),
        memory.prepare_update(stored["id"], "Ann lives in Oslo"),
    ]
    asked = len(endpoint.requests)
    assert asked > 1
    with application.connection() as conn:
        application.book(conn)
        for part in prepared:
            memory.apply(part, connection=conn)
        application.end(conn, "commit")
    assert len(endpoint.requests) == asked
    assert sql(STATE)[0][0] == 1
    assert found(memory.get_all(filters=ANN)) != []
    assert {"Ann ordered tea", "Ann lives in Oslo"} == set(found(memory.get_all(filters=ANN)))


def test_the_savepoint_costs_no_round_trip(make: Any, live: str, kind: str, tenant: str) -> None:
    memory = make(llm=None)
    memory.add("tea", user_id="ann")
    with Proxy(live) as proxy:

        async def awaited() -> None:
            async with await psycopg.AsyncConnection.connect(proxy.dsn) as conn:
                await memory.memory.get_all(filters=ANN, connection=conn)
                proxy.forget()
                await memory.memory.get_all(filters=ANN, connection=conn)
                assert proxy.round_trips == 1

        if kind == "async":
            memory.run(awaited())
        else:
            with psycopg.connect(proxy.dsn) as conn:
                memory.get_all(filters=ANN, connection=conn)
                proxy.forget()
                memory.get_all(filters=ANN, connection=conn)
                assert proxy.round_trips == 1
    assert proxy.functions == ["get_all"]


def test_a_transaction_that_had_failed_before_is_left_as_it_was(make: Any, live: str) -> None:
    config = make(llm=None).memory.config
    with Memory(config) as memory, psycopg.connect(live) as conn:
        with pytest.raises(psycopg.errors.DivisionByZero):
            conn.execute("select 1/0")
        with pytest.raises(DatabaseError) as caught:
            memory.get_all(filters=ANN, connection=conn)
        assert caught.value.sqlstate == "25P02"
        conn.rollback()
        assert memory.get_all(filters=ANN, connection=conn) == {"results": []}


def test_a_pipeline_of_the_caller_and_savepoints_of_his_go_on(make: Any, live: str) -> None:
    config = make(llm=None).memory.config
    with Memory(config) as memory, psycopg.connect(live, autocommit=True) as conn:
        with conn.transaction(), conn.pipeline():
            with conn.transaction(force_rollback=True):
                memory.add("undone with his savepoint", user_id="ann", connection=conn)
            with pytest.raises(MemoryNotFound):
                memory.delete(NOBODY, connection=conn)
            memory.add("kept", user_id="ann", connection=conn)
        assert found(memory.get_all(filters=ANN)) == ["kept"]
