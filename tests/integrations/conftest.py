"""Memories on a real database with scripted models; each test is a tenant of its own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from memlayer_pg import Config, Memory
from tests.api.harness import model
from tests.conftest import create, named
from tests.endpoint import Endpoint

TENANTS = itertools.count()


@pytest.fixture(scope="session")
def live(server: str, template: str) -> str:
    """The dsn of a database that tests share: what they write is told apart by tenant."""
    return create(server, named(template))


@pytest.fixture
def config(live: str, endpoint: Endpoint) -> Config:
    """The settings of a tenant nobody else uses, whose models are scripted."""
    return Config(
        dsn=live, tenant=f"tenant-{next(TENANTS)}", llm=model(endpoint), embedder=model(endpoint)
    )


@pytest.fixture
def memory(config: Config) -> Iterator[Memory]:
    """A memory with a language model and an embedder."""
    with Memory(config) as memory:
        yield memory


@pytest.fixture
def sql(config: Config) -> Iterator[Any]:
    """Runs a query on the shared database, %(tenant)s being this test's; gives all rows."""
    with psycopg.connect(str(config.dsn), autocommit=True) as conn:

        def run(query: str, **given: Any) -> list[Any]:
            return conn.execute(query, {"tenant": config.tenant, **given}).fetchall()

        yield run
