"""A pool or engine of the caller's lends the connections."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import AsyncConnectionPool, ConnectionPool
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from memlayer_pg import AsyncMemory, Config, ConfigError, DatabaseError, FilterError, Memory
from tests.api.harness import model
from tests.api.test_reading import ANN, found

END = (
    "select count(pg_terminate_backend(pid, 5000)) from pg_stat_activity"
    " where application_name = 'lent' and pid <> pg_backend_pid()"
)


def address(live: str) -> sa.URL:
    parts = {key: str(value) for key, value in conninfo_to_dict(live).items()}
    return sa.URL.create("postgresql+psycopg", query=parts | {"application_name": "lent"})


def opened(kind: str, live: str) -> Any:
    if kind == "engine":
        return sa.create_engine(address(live), pool_size=1, max_overflow=0, pool_pre_ping=True)
    options: dict[str, Any] = {"application_name": "lent", "autocommit": kind == "autocommit"}
    check = ConnectionPool.check_connection
    return ConnectionPool(live, min_size=1, max_size=1, open=True, kwargs=options, check=check)


@pytest.mark.parametrize("kind", ["pool", "autocommit", "engine"])
def test_a_memory_works_on_the_callers_pool(
    kind: str, live: str, tenant: str, endpoint: Any, sql: Any
) -> None:
    pool = opened(kind, live)
    config = Config(tenant=tenant, llm=model(endpoint), embedder=model(endpoint))
    with Memory(config, pool=pool) as memory:
        memory.add("tea", user_id="ann", infer=False)
        assert sql("select text from memlayer.memory where tenant = %(tenant)s") == [("tea",)]
        with pytest.raises(FilterError):
            memory.get_all(filters={**ANN, "n": {"regex": "x"}})
        assert found(memory.search("tea", filters=ANN)) == ["tea"]
        assert sql(END) == [(1,)]
        memory.add("coffee", user_id="ann", infer=False)
        assert len(found(memory.get_all(filters=ANN))) == 2
    # It is the caller's, and still open.
    if kind == "engine":
        with pool.connect() as conn:
            assert conn.execute(sa.text("select 1")).scalar() == 1
        pool.dispose()
    else:
        with pool.connection() as conn:
            assert conn.execute("select 1").fetchone() == (1,)
        pool.close()


@pytest.mark.parametrize("kind", ["pool", "engine"])
def test_an_async_memory_works_on_the_callers_pool(
    kind: str, live: str, tenant: str, endpoint: Any, sql: Any
) -> None:
    config = Config(tenant=tenant, llm=model(endpoint), embedder=model(endpoint))

    async def use(pool: Any) -> None:
        async with AsyncMemory(config, pool=pool) as memory:
            await memory.add("tea", user_id="ann", infer=False)
            assert sql("select text from memlayer.memory where tenant = %(tenant)s") == [("tea",)]
            with pytest.raises(FilterError):
                await memory.get_all(filters={**ANN, "n": {"regex": "x"}})
            assert found(await memory.search("tea", filters=ANN)) == ["tea"]

    async def main() -> None:
        if kind == "engine":
            engine: AsyncEngine = create_async_engine(address(live))
            await use(engine)
            await engine.dispose()
        else:
            async with AsyncConnectionPool(live, min_size=1, open=False) as pool:
                await use(pool)

    asyncio.run(main())


def test_a_search_survives_a_backend_that_ends_under_an_engine(
    live: str, tenant: str, endpoint: Any, sql: Any
) -> None:
    engine = sa.create_engine(address(live), pool_size=1)
    config = Config(tenant=tenant, llm=model(endpoint), embedder=model(endpoint))
    with Memory(config, pool=engine) as memory:
        memory.add("tea", user_id="ann", infer=False)
        assert sql(END) == [(1,)]
        assert found(memory.search("tea", filters=ANN)) == ["tea"]
    engine.dispose()


class TracedPool(ConnectionPool[Any]):
    """A class of the caller's, in a module of the caller's."""


class TracedEngine(sa.Engine):
    """The same of SQLAlchemy."""


class AsyncTracedPool(AsyncConnectionPool[Any]):
    """One whose name does not tell what it is made from."""


class Tracer(AsyncEngine):
    """Another one."""


def test_a_class_derived_from_a_pool_or_engine_is_one(
    live: str, tenant: str, endpoint: Any, sql: Any
) -> None:
    config = Config(tenant=tenant, llm=model(endpoint), embedder=model(endpoint))
    engine = sa.create_engine(address(live))
    traced = TracedEngine(engine.pool, engine.dialect, engine.url)
    with TracedPool(live, min_size=1, open=True) as pool:
        for given in (pool, traced):
            with Memory(config, pool=given) as memory:
                memory.add(f"tea of {type(given).__name__}", user_id="ann", infer=False)
            with pytest.raises(ConfigError, match="pool: AsyncMemory takes"):
                AsyncMemory(config, pool=given)
    traced.dispose()
    engine.dispose()

    async def main() -> None:
        below = create_async_engine(address(live))
        async with AsyncTracedPool(live, min_size=1, open=False) as pool:
            for given in (pool, Tracer(below.sync_engine)):
                async with AsyncMemory(config, pool=given) as memory:
                    await memory.add(f"tea of {type(given).__name__}", user_id="ann", infer=False)
                with pytest.raises(ConfigError, match="pool: Memory takes"):
                    Memory(config, pool=given)
        await below.dispose()

    asyncio.run(main())
    assert sql("select text from memlayer.memory where tenant = %(tenant)s order by 1") == [
        ("tea of AsyncTracedPool",),
        ("tea of TracedEngine",),
        ("tea of TracedPool",),
        ("tea of Tracer",),
    ]


def test_what_is_no_pool_is_refused_by_name(live: str, endpoint: Any) -> None:
    config = Config(llm=model(endpoint), embedder=model(endpoint))
    with psycopg.connect(live) as conn, opened("pool", live) as pool:
        for given in (conn, "pool", object()):
            with pytest.raises(ConfigError, match="pool: Memory takes a psycopg_pool"):
                Memory(config, pool=given)
        with pytest.raises(ConfigError, match="pool: AsyncMemory takes a psycopg_pool"):
            AsyncMemory(config, pool=pool)
    closed = opened("pool", live)
    closed.close()
    with Memory(config, pool=closed) as memory, pytest.raises(DatabaseError, match="closed"):
        memory.get_all(filters=ANN)
