"""Behind a real PgBouncer in transaction mode, all clients on one connection to the server."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from memlayer_pg import Config, DatabaseError, Memory, schema
from tests.api.harness import model
from tests.api.operations import OPERATIONS, past
from tests.api.test_reading import ANN, found, say
from tests.cli.running import memlayer
from tests.conftest import temporary_folder
from tests.pgbouncer import Program, bouncing, program

KEEPS_STATEMENTS = (1, 21)
"""The version since which PgBouncer can keep prepared statements apart."""


@pytest.fixture(scope="session")
def pgbouncer() -> Iterator[Program]:
    with temporary_folder() as folder:
        folder.chmod(0o755)
        yield program(folder)


@pytest.fixture(scope="session")
def pooled(pgbouncer: Program, live: str) -> Iterator[str]:
    """The shared database through a PgBouncer that knows nothing of prepared statements."""
    off = {"max_prepared_statements": 0} if pgbouncer.version >= KEEPS_STATEMENTS else {}
    with temporary_folder() as folder, bouncing(pgbouncer, live, folder, **off) as dsn:
        yield dsn


def test_many_clients_of_two_tenants_share_one_connection_and_nothing_else(
    make: Any, pooled: str, endpoint: Any
) -> None:
    memory = make(dsn=pooled, prepare_threshold=None)
    other = make(dsn=pooled, prepare_threshold=None, tenant=f"other-{uuid.uuid4()}")
    for n in range(8):  # more often than the default threshold
        [mine] = say(memory, f"mine {n}")
        [theirs] = say(other, f"theirs {n}")
        assert memory.get(mine)["memory"] == f"mine {n}"
        assert memory.get(theirs) is None
        other.update(theirs, f"changed {n}")
        assert len(other.history(theirs)) == 2
    assert set(found(memory.get_all(filters=ANN))) == {f"mine {n}" for n in range(8)}
    assert set(found(other.search("changed", filters=ANN, top_k=8))) == {
        f"changed {n}" for n in range(8)
    }
    other.delete(theirs)
    assert other.get(theirs) is None


def test_threads_take_turns_on_one_connection(pooled: str, tenant: str, endpoint: Any) -> None:
    settings: dict[str, Any] = {"llm": model(endpoint), "embedder": model(endpoint)}
    config = Config(dsn=pooled, tenant=tenant, prepare_threshold=None, **settings)

    def work(n: int) -> None:
        for round_ in range(4):
            [id_] = say(memories[n % 2], f"marker {n} {round_}")
            memories[1 - n % 2].update(id_, f"changed {n} {round_}")

    with Memory(config) as one, Memory(config) as two, ThreadPoolExecutor(8) as threads:
        memories = (one, two)
        list(threads.map(work, range(8)))
        texts = found(one.get_all(filters=ANN, top_k=100))
        assert sorted(texts) == sorted(f"changed {n} {r}" for n in range(8) for r in range(4))


def test_the_schema_is_laid_through_it(pgbouncer: Program, empty: str) -> None:  # B150
    with (
        temporary_folder() as folder,
        bouncing(pgbouncer, empty, folder, default_pool_size=2) as dsn,
    ):
        schema.migrate(dsn)
        assert schema.check(dsn) == []
        schema.migrate(dsn, "base", down=True)
        schema.migrate(dsn)
        assert schema.current(dsn) == schema.HEAD


def test_prepared_statements_that_are_mixed_up_say_what_to_set(
    pgbouncer: Program, live: str, make: Any
) -> None:
    off = {"max_prepared_statements": 0} if pgbouncer.version >= KEEPS_STATEMENTS else {}
    # Of its own: the statements stay on its connection to the server.
    with temporary_folder() as folder, bouncing(pgbouncer, live, folder, **off) as dsn:
        one, two = make(dsn=dsn, prepare_threshold=0), make(dsn=dsn, prepare_threshold=0)
        one.get_all(filters=ANN)
        with pytest.raises(DatabaseError) as mixed_up:
            two.get_all(filters=ANN)
    assert "MEMLAYER_PREPARE_THRESHOLD=none" in str(mixed_up.value.suggestion)


def test_the_doctor_sees_a_pooler_and_says_what_to_set(
    pooled: str, live: str, endpoint: Any
) -> None:
    def server(dsn: str, **env: str) -> dict[str, str]:
        ran = memlayer("doctor", "--offline", "--json", MEMLAYER_DSN=dsn, **env)
        [found] = [check for check in ran.json if check["name"] == "server"]
        return dict(found)

    assert server(live)["status"] == "ok"
    assert server(pooled, MEMLAYER_PREPARE_THRESHOLD="none")["status"] == "ok"
    warned = server(pooled)
    assert (warned["status"], "behind a pooler" in warned["said"]) == ("warn", True)
    assert "MEMLAYER_PREPARE_THRESHOLD=none" in warned["next_step"]


STATE = """
select (select count(*) from pg_prepared_statements)
     + (select count(*) from pg_listening_channels())
     + (select count(*) from pg_locks where locktype = 'advisory')
     + (select count(*) from pg_class where relpersistence = 't')
     + (select count(*) from pg_cursors where name <> ''),
       (select array_agg(name order by name) from pg_settings where source = 'session'
         and name <> all (array['application_name', 'client_encoding', 'DateStyle', 'TimeZone',
                                'IntervalStyle', 'standard_conforming_strings']))
"""


@pytest.mark.parametrize("operation", OPERATIONS)
def test_no_call_leaves_anything_in_the_session(
    pooled: str, tenant: str, endpoint: Any, operation: str
) -> None:
    endpoint.facts("Ann likes tea")
    settings: dict[str, Any] = {"llm": model(endpoint), "embedder": model(endpoint)}
    config = Config(dsn=pooled, tenant=tenant, prepare_threshold=None, **settings)
    with Memory(config) as memory, psycopg.connect(pooled, autocommit=True) as same:
        known = past(memory)
        backend = same.execute("select pg_backend_pid()", prepare=False).fetchone()
        OPERATIONS[operation](memory, known)
        memory.search("Ann likes tea", filters=ANN)
        assert same.execute("select pg_backend_pid()", prepare=False).fetchone() == backend
        assert same.execute(STATE, prepare=False).fetchone() == (0, None)


def test_prepared_statements_are_kept_apart_by_a_pgbouncer_that_can(
    pgbouncer: Program, live: str, make: Any
) -> None:
    if pgbouncer.version < KEEPS_STATEMENTS:
        pytest.skip(f"PgBouncer {pgbouncer.version} cannot: it takes 1.21")
    with (
        temporary_folder() as folder,
        bouncing(pgbouncer, live, folder, max_prepared_statements=100) as dsn,
    ):
        one, two = make(dsn=dsn, prepare_threshold=0), make(dsn=dsn, prepare_threshold=0)
        for n in range(8):
            [id_] = say(one, f"marker {n}")
            assert two.get(id_)["memory"] == f"marker {n}"
            assert len(one.history(id_)) == 1
        assert len(two.get_all(filters=ANN)["results"]) == 8
