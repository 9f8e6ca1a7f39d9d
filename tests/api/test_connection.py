"""connection=: our work is part of the caller's transaction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from memlayer_pg import AsyncMemory, Config, ConfigError, Memory
from tests.api.harness import Harness, model
from tests.api.test_reading import ANN, found


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    tenant: Mapped[str]


@pytest.fixture(scope="module")
def orders(live: str) -> None:
    with psycopg.connect(live, autocommit=True) as conn:
        conn.execute(
            "create table if not exists orders"
            " (id int generated always as identity primary key, tenant text)"
        )


@pytest.fixture
def url(live: str) -> sa.URL:
    parts = conninfo_to_dict(live)
    return sa.URL.create(
        "postgresql+psycopg",
        username=str(parts["user"]),
        database=str(parts["dbname"]),
        query={"host": str(parts["host"]), "port": str(parts.get("port", 5432))},
    )


@pytest.fixture
def engine(url: sa.URL) -> Iterator[sa.Engine]:
    engine = sa.create_engine(url)
    yield engine
    engine.dispose()


@pytest.fixture
def blocking(live: str, tenant: str, endpoint: Any) -> Iterator[Memory]:
    endpoint.facts({"text": "Ann ordered tea", "entities": [{"name": "Ann", "type": "person"}]})
    with Memory(
        Config(dsn=live, tenant=tenant, llm=model(endpoint), embedder=model(endpoint))
    ) as m:
        yield m


@pytest.fixture
def awaited(live: str, tenant: str, endpoint: Any) -> Iterator[Harness]:
    endpoint.facts("Ann ordered tea")
    config = Config(dsn=live, tenant=tenant, llm=model(endpoint), embedder=model(endpoint))
    memory = Harness("async", config)
    yield memory
    memory.close()


def test_a_psycopg_transaction_takes_our_work_with_it(
    blocking: Memory, live: str, counts: Any
) -> None:
    with psycopg.connect(live) as conn:
        blocking.add("I ordered tea", user_id="ann", connection=conn)
        assert found(blocking.get_all(filters=ANN, connection=conn)) == ["Ann ordered tea"]
        assert counts() == (0, 0, 0, 0, 0)
        conn.rollback()
        assert counts() == (0, 0, 0, 0, 0)
        blocking.add("I ordered tea", user_id="ann", connection=conn)
    assert counts() == (1, 1, 1, 1, 1)


def test_every_method_takes_a_connection(blocking: Memory, live: str) -> None:
    with psycopg.connect(live) as conn:
        [stored] = blocking.add("x", user_id="ann", infer=False, connection=conn)["results"]
        id_ = stored["id"]
        blocking.update(id_, "tea", connection=conn)
        assert blocking.get(id_, connection=conn) is not None
        assert len(blocking.search("tea", filters=ANN, connection=conn)["results"]) == 1
        assert len(blocking.keyword_search("tea", filters=ANN, connection=conn)["results"]) == 1
        assert blocking.similar_to(id_, connection=conn) == {"results": []}
        assert len(blocking.history(id_, connection=conn)) == 2
        assert len(blocking.messages("ann", connection=conn)) == 1
        assert len(blocking.scopes(connection=conn)) == 1
        prepared = blocking.prepare_add("y", user_id="ann", infer=False, connection=conn)
        blocking.apply(prepared, connection=conn)
        blocking.delete(id_, connection=conn)
        blocking.delete_all("ann", connection=conn)
        blocking.reset(connection=conn)
        conn.rollback()
    assert blocking.scopes() == []


def test_an_autocommit_connection_counts_only_inside_a_transaction(
    blocking: Memory, live: str
) -> None:
    with psycopg.connect(live, autocommit=True) as conn:
        with pytest.raises(ConfigError, match="autocommit"):
            blocking.add("x", user_id="ann", connection=conn)
        with conn.transaction():
            blocking.add("x", user_id="ann", connection=conn)
    assert len(blocking.get_all(filters=ANN)["results"]) == 1


@pytest.mark.usefixtures("orders")
def test_a_session_of_sqlalchemy_commits_its_order_and_our_memory_together(
    blocking: Memory, engine: sa.Engine, tenant: str, counts: Any, sql: Any
) -> None:
    for end, wanted in (("rollback", 0), ("commit", 1)):
        with Session(engine) as session:
            session.add(Order(tenant=tenant))
            blocking.add("I ordered tea", user_id="ann", connection=session)
            assert session.in_transaction()
            getattr(session, end)()
        assert counts()[0] == wanted
        assert sql("select count(*) from orders where tenant = %(tenant)s") == [(wanted,)]


def test_a_connection_of_sqlalchemy_commits_our_memory(
    blocking: Memory, engine: sa.Engine, counts: Any
) -> None:
    with engine.connect() as conn:
        blocking.add("I ordered tea", user_id="ann", connection=conn)
        conn.rollback()
        assert counts()[0] == 0
        blocking.add("I ordered tea", user_id="ann", connection=conn)
        conn.commit()
    assert counts()[0] == 1
    with engine.begin() as conn:
        blocking.delete_all("ann", connection=conn)
    assert counts()[0] == 0
    autocommit = engine.execution_options(isolation_level="AUTOCOMMIT")
    with autocommit.connect() as conn, pytest.raises(ConfigError, match="autocommit"):
        blocking.add("x", user_id="ann", connection=conn)


def test_what_is_no_usable_connection_is_refused_by_name(
    blocking: Memory, awaited: Harness, engine: sa.Engine, live: str, endpoint: Any
) -> None:
    sqlite = sa.create_engine("sqlite://")
    with sqlite.connect() as conn, pytest.raises(ConfigError, match="sqlite3"):
        blocking.add("x", user_id="ann", connection=conn)
    sqlite.dispose()
    for wrong in (engine, "dsn", object()):
        with pytest.raises(ConfigError, match="connection: takes a psycopg Connection"):
            blocking.add("x", user_id="ann", connection=wrong)
        with pytest.raises(ConfigError, match="connection"):
            awaited.add("x", user_id="ann", connection=wrong)
    closed = psycopg.connect(live)
    closed.close()
    with pytest.raises(ConfigError, match="closed"):
        blocking.add("x", user_id="ann", connection=closed)
    with psycopg.connect(live) as conn, pytest.raises(ConfigError, match="AsyncMemory needs"):
        awaited.add("x", user_id="ann", connection=conn)
    with Session(engine) as session, pytest.raises(ConfigError, match="AsyncMemory needs"):
        awaited.add("x", user_id="ann", connection=session)
    assert endpoint.requests == []


def test_async_connections_take_our_work_with_them(
    awaited: Harness, blocking: Memory, url: sa.URL, live: str, counts: Any
) -> None:
    memory: AsyncMemory = awaited.memory

    async def with_psycopg(end: str) -> None:
        async with await psycopg.AsyncConnection.connect(live) as conn:
            with pytest.raises(ConfigError, match="Memory needs a blocking one"):
                blocking.add("x", user_id="ann", connection=conn)
            await memory.add("I ordered tea", user_id="ann", connection=conn)
            await getattr(conn, end)()

    async def with_sqlalchemy(end: str, of: Any) -> None:
        engine = create_async_engine(url)
        async with of(engine) as conn:
            with pytest.raises(ConfigError, match="Memory needs a blocking one"):
                blocking.add("x", user_id="ann", connection=conn)
            await memory.add("I ordered tea", user_id="ann", connection=conn)
            assert conn.in_transaction()
            await getattr(conn, end)()
        await engine.dispose()

    for end, wanted in (("rollback", 0), ("commit", 1)):
        for job in (
            with_psycopg(end),
            with_sqlalchemy(end, AsyncSession),
            with_sqlalchemy(end, lambda engine: engine.connect()),
        ):
            awaited.run(job)
            assert counts()[0] == wanted
            awaited.reset()
