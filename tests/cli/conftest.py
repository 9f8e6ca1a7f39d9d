"""A shell on a database of its own."""

from __future__ import annotations

import pytest

from tests.cli.running import Shell


@pytest.fixture
def shell(database: str) -> Shell:
    """Runs commands on a fresh database whose schema is laid."""
    return Shell(database)
