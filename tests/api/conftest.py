"""Memories on a real database with scripted models; each test is a tenant of its own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from memlayer_pg import Config
from tests.api.harness import KINDS, Harness, Make, model
from tests.conftest import create, named
from tests.endpoint import Endpoint

TENANTS = itertools.count()


@pytest.fixture(scope="session")
def live(server: str, template: str) -> str:
    """The dsn of a database that tests share: what they write is told apart by tenant."""
    return create(server, named(template))


@pytest.fixture
def tenant() -> str:
    """A tenant nobody else uses."""
    return f"tenant-{next(TENANTS)}"


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """sync or async."""
    return str(request.param)


@pytest.fixture
def make(live: str, tenant: str, kind: str, endpoint: Endpoint) -> Iterator[Make]:
    """Makes memories of either kind, all of this test's tenant; closed at its end."""
    made: list[Harness] = []

    def make(**settings: Any) -> Harness:
        parts = {key: settings.pop(key) for key in ("llm", "embedder") if key in settings}
        defaults: dict[str, Any] = {"dsn": live, "tenant": tenant}
        for name in ("llm", "embedder"):
            if name not in parts:
                defaults[name] = model(endpoint)
        memory = Harness(kind, Config(**(defaults | settings)), **parts)
        made.append(memory)
        return memory

    yield make
    for memory in made:
        memory.close()


@pytest.fixture
def memory(make: Make) -> Harness:
    """A memory with a language model and an embedder."""
    return make()


@pytest.fixture
def sql(live: str, tenant: str) -> Iterator[Any]:
    """Runs a query on the shared database, %(tenant)s being this test's; gives all rows."""
    with psycopg.connect(live, autocommit=True) as conn:

        def run(query: str, **given: Any) -> list[Any]:
            cursor = conn.execute(query, {"tenant": tenant, **given})
            return cursor.fetchall() if cursor.description else []

        yield run


COUNTS = """
select (select count(*) from memlayer.memory where tenant = %(tenant)s),
       (select count(*) from memlayer.history where tenant = %(tenant)s),
       (select count(*) from memlayer.entity where tenant = %(tenant)s),
       (select count(*) from memlayer.message where tenant = %(tenant)s),
       (select count(*) from memlayer.change where tenant = %(tenant)s)
"""


@pytest.fixture
def counts(sql: Any) -> Any:
    """Gives the numbers of memories, history rows, entities, messages and changes there are."""
    return lambda: sql(COUNTS)[0]


@pytest.fixture
def consistent(sql: Any, tenant: str) -> Iterator[None]:
    """At the end of the test replaying the history must give what is there."""
    yield
    assert sql("select * from memlayer.verify(%(tenant)s)") == []
