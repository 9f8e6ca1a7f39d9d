"""Memories of mem0's names on a real database, with scripted models."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from memlayer_pg.compat import mem0
from tests.conftest import create, named
from tests.endpoint import Endpoint

TENANTS = itertools.count()


@pytest.fixture(scope="session")
def live(server: str, template: str) -> str:
    """The dsn of a database that tests share."""
    return create(server, named(template))


@pytest.fixture
def given(live: str, endpoint: Endpoint) -> dict[str, Any]:
    """mem0's configuration for a tenant of this test's own."""
    shared = {"model": "scripted", "api_key": "none", "openai_base_url": endpoint.base_url}
    return {
        "vector_store": {
            "provider": "pgvector",
            "config": {
                "connection_string": live,
                "collection_name": f"moved-{next(TENANTS)}",
                "embedding_model_dims": 64,
            },
        },
        "llm": {"provider": "openai", "config": dict(shared)},
        "embedder": {"provider": "openai", "config": dict(shared)},
    }


@pytest.fixture
def memory(given: dict[str, Any]) -> Iterator[mem0.Memory]:
    with mem0.Memory.from_config(given) as memory:
        yield memory


@pytest.fixture
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner
