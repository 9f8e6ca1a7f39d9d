"""A store with logins, that the tests of a server share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.roles.store import Store, opened
from tests.sql.calls import Connection


@pytest.fixture(scope="session")
def store(server: str, template: str) -> Iterator[Store]:
    with opened(server, template) as store:
        yield store


@pytest.fixture
def owner(store: Store) -> Iterator[Connection]:
    with store.connected() as conn:
        yield conn


@pytest.fixture
def app(store: Store) -> Iterator[Connection]:
    """A login of tenant acme that calls functions."""
    with store.connected("app") as conn:
        yield conn


@pytest.fixture
def reader(store: Store) -> Iterator[Connection]:
    """A login of tenant acme that reads tables."""
    with store.connected("reader") as conn:
        yield conn
