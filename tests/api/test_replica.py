"""A streaming replica answers what only reads; the primary does wherever it cannot."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg_pool import AsyncConnectionPool

from memlayer_pg import AsyncMemory, ConfigError, Memory, MemoryNotFound
from memlayer_pg.accounts import account_for, identity
from memlayer_pg.cluster import Cluster, programs
from memlayer_pg.config import Config
from tests.api.harness import model
from tests.api.test_lent import opened
from tests.api.test_reading import ANN, found, say
from tests.conftest import named, temporary_folder

NOWHERE = "host=/nowhere dbname=x"


@pytest.fixture(scope="session")
def standby(server: str) -> Iterator[Cluster]:
    """A hot standby of the server, made by pg_basebackup and following it."""
    with psycopg.connect(server) as conn:
        [data] = conn.execute("show data_directory").fetchone() or ("",)
        version = conn.info.server_version // 10_000
    account = account_for(Path(data))
    with temporary_folder() as folder:
        if account is not None:
            os.chown(folder, account.uid, account.gid)
        running = Cluster(folder / "standby", programs()[version], account)
        subprocess.run(
            [
                *(running.programs / "pg_basebackup", "-R", "-c", "fast", "--no-sync"),
                *("-D", str(running.data), "-d", make_conninfo(server, dbname="")),
            ],
            check=True,
            capture_output=True,
            cwd=folder,
            **identity(account),
        )
        running.ensure_running()
        try:
            yield running
        finally:
            running.stop()


@pytest.fixture
def replica(standby: Cluster, live: str) -> Iterator[str]:
    """The dsn of the shared database on the standby, which replays."""
    standby.ensure_running()
    dsn = standby.dsn(named(live))
    replay(dsn, "resume")
    yield dsn
    standby.ensure_running()
    replay(dsn, "resume")


def replay(dsn: str, what: str) -> None:
    """Let a standby stop replaying, or go on."""
    with psycopg.connect(make_conninfo(dsn, dbname="postgres"), autocommit=True) as conn:
        conn.execute(f"select pg_wal_replay_{what}()".encode())


def asked(dsn: str) -> int:
    """How many connections of ours a server has."""
    with psycopg.connect(dsn) as conn:
        query = "select count(*) from pg_stat_activity where application_name = 'memlayer'"
        [number] = conn.execute(query).fetchone() or (0,)
        return int(number)


def test_every_read_is_answered_by_the_replica_and_sees_what_was_just_written(
    make: Any, replica: str
) -> None:
    memory = make(read_dsn=replica, read_your_writes=60)
    for text in ("tea", "coffee", "water"):
        [id_] = say(memory, text)
        assert memory.get(id_)["memory"] == text
    memory.update(id_, "wine")
    assert len(memory.history(id_)) == 2
    assert found(memory.search("wine", filters=ANN, top_k=1)) == ["wine"]
    assert found(memory.keyword_search("coffee", filters=ANN)) == ["coffee"]
    assert len(memory.similar_to(id_)["results"]) == 2
    assert len(memory.get_all(filters=ANN)["results"]) == 3
    assert len(memory.scopes()) == 1
    assert asked(replica) == 1


def test_reads_need_no_primary_once_the_replica_has_what_was_written(
    make: Any, replica: str, sql: Any
) -> None:
    memory = make(read_dsn=replica, read_your_writes=60, max_size=1)
    say(memory, "tea")
    assert found(memory.search("tea", filters=ANN)) == ["tea"]
    memory._pool.close()
    assert found(memory.search("tea", filters=ANN)) == ["tea"]
    assert len(memory.get_all(filters=ANN)["results"]) == 1


def test_a_replica_that_lags_is_waited_for_and_then_the_primary_answers(
    make: Any, replica: str
) -> None:
    memory = make(read_dsn=replica, read_your_writes=0.2)
    careless = make(read_dsn=replica, read_your_writes=0)
    assert memory.get_all(filters=ANN)["results"] == []
    replay(replica, "pause")
    [id_] = say(memory, "tea")
    assert memory.get(id_)["memory"] == "tea"
    assert careless.get_all(filters=ANN)["results"] == []
    assert careless.get(id_) is None
    replay(replica, "resume")
    assert memory.get(id_)["memory"] == "tea"


def test_without_a_replica_the_primary_answers_and_the_replica_rests(
    make: Any, replica: str, standby: Cluster
) -> None:
    memory = make(read_dsn=replica)
    lost = make(read_dsn=NOWHERE)
    say(memory, "tea")
    assert found(memory.search("tea", filters=ANN)) == ["tea"]
    standby.stop()
    for _ in range(2):
        assert found(memory.search("tea", filters=ANN)) == ["tea"]
        assert found(lost.get_all(filters=ANN)) == ["tea"]
    assert lost.memory._replica.rests


def test_what_the_primary_would_refuse_too_is_refused_by_the_replica(
    make: Any, replica: str
) -> None:
    memory = make(read_dsn=replica)
    with pytest.raises(ValueError, match="operator"):
        memory.get_all(filters={**ANN, "n": {"regex": "x"}})
    with pytest.raises(MemoryNotFound):
        memory.similar_to("00000000-0000-4000-8000-000000000000")
    assert not memory.memory._replica.rests


def test_the_settings_of_a_replica_come_from_the_environment_and_are_checked() -> None:
    env = {"MEMLAYER_READ_DSN": "postgresql+psycopg://r/app", "MEMLAYER_READ_YOUR_WRITES": "2.5"}
    config = Config.from_env(env)
    assert (config.read_dsn, config.read_your_writes) == ("postgresql://r/app", 2.5)
    assert "r/app" not in repr(config)
    with pytest.raises(ConfigError, match="read_your_writes"):
        Config(read_your_writes=-1)
    with pytest.raises(ConfigError, match="read_dsn"):
        Config(read_dsn=" ")


@pytest.mark.parametrize("lender", ["pool", "engine"])
def test_reads_go_to_the_replica_and_writes_through_the_callers_pool(
    replica: str, live: str, tenant: str, endpoint: Any, lender: str
) -> None:
    settings: dict[str, Any] = {"llm": model(endpoint), "embedder": model(endpoint)}
    config = Config(read_dsn=replica, read_your_writes=60, tenant=tenant, **settings)

    pool = opened(lender, live)
    with Memory(config, pool=pool) as memory:
        [stored] = memory.add("tea", user_id="ann", infer=False)["results"]
        assert found(memory.search("tea", filters=ANN)) == ["tea"]
        assert asked(replica) == 1
        # What can be read when it is used up is not read through it.
        with pool.connect() if lender == "engine" else pool.connection():
            assert found(memory.get_all(filters=ANN)) == ["tea"]
            assert len(memory.history(stored["id"])) == 1
    pool.dispose() if lender == "engine" else pool.close()


def test_the_async_memory_reads_from_the_replica_beside_the_callers_pool(
    replica: str, live: str, tenant: str, endpoint: Any
) -> None:
    settings: dict[str, Any] = {"llm": model(endpoint), "embedder": model(endpoint)}
    config = Config(read_dsn=replica, read_your_writes=60, tenant=tenant, **settings)

    async def main() -> None:
        pool: AsyncConnectionPool[Any] = AsyncConnectionPool(live, min_size=1, open=False)
        await pool.open()
        async with AsyncMemory(config, pool=pool) as memory:
            await memory.add("tea", user_id="ann", infer=False)
            assert found(await memory.search("tea", filters=ANN)) == ["tea"]
            await pool.close()
            assert found(await memory.get_all(filters=ANN)) == ["tea"]

    asyncio.run(main())
