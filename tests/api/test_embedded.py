"""Without a dsn: a server of our own, started when it is needed and brought up to date."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from memlayer_pg import Config, schema
from tests.api.harness import Harness, model
from tests.api.test_reading import ANN, found, say
from tests.conftest import temporary_folder


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder that is not there yet."""
    with temporary_folder() as folder:
        yield folder / "home"


def test_memories_are_kept_in_a_folder_and_are_there_next_time(
    home: Path, kind: str, endpoint: Any, caplog: Any
) -> None:
    config = Config(data_dir=home, embedder=model(endpoint), llm=model(endpoint))
    memory = Harness(kind, config)
    assert memory.location == str(home)
    assert not home.exists()
    with caplog.at_level("INFO", "memlayer_pg"):
        say(memory, "tea")
    assert str(home) in caplog.text
    with psycopg.connect(memory._server.dsn) as conn:
        assert conn.execute("select max(revision) from memlayer.deployment").fetchone() == (
            schema.HEAD,
        )
    memory.close()
    again = Harness(kind, config)
    assert found(again.get_all(filters=ANN)) == ["tea"]
    again.close()


def test_a_server_of_our_own_that_was_killed_is_started_again(
    home: Path, kind: str, endpoint: Any, caplog: Any
) -> None:
    memory = Harness(kind, Config(data_dir=home, embedder=model(endpoint)))
    for text in ("tea", "coffee"):
        say(memory, text)
        os.kill(int((home / "postgres" / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
        # The others end when they see that the first one did.
        while memory._server._running._processes():
            time.sleep(0.01)
        with caplog.at_level("WARNING", "memlayer_pg"):
            assert text in found(memory.get_all(filters=ANN))
        assert "is started again" in caplog.text
    assert sorted(found(memory.get_all(filters=ANN))) == ["coffee", "tea"]
    memory.close()
