"""A shell on a tenant of its own, in a database that the tests of a server share."""

from __future__ import annotations

import itertools

import pytest

from tests.cli.running import Shell
from tests.conftest import create, named

TENANTS = itertools.count(1)


@pytest.fixture(scope="session")
def common(server: str, template: str) -> str:
    """The dsn of the database that they share."""
    return create(server, named(template))


@pytest.fixture
def shell(common: str) -> Shell:
    """Runs commands for a tenant that nobody else has."""
    return Shell(common, f"tenant-{next(TENANTS)}")


@pytest.fixture
def alone(database: str) -> Shell:
    """Runs commands on a database that nobody else has."""
    return Shell(database)
