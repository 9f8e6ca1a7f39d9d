"""However a session is set, what is stored is what was said; and other people's adapters."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.types.json import set_json_loads
from psycopg.types.string import TextLoader

from memlayer_pg import ConfigError, Memory, SchemaMissing, schema
from memlayer_pg.pool import public
from tests.api.harness import model
from tests.api.test_pool import THREADS
from tests.api.test_reading import ANN, found

SAID = "naïve café, 茶 and 🍵: \\d+"
SETTINGS = {
    "client_encoding": "LATIN1",
    "datestyle": "German",
    "standard_conforming_strings": "off",
}


@pytest.mark.parametrize("given_by", ["environment", "dsn"])
def test_settings_of_the_environment_and_of_the_dsn_change_nothing(
    make: Any, live: str, monkeypatch: Any, given_by: str
) -> None:
    dsn = live
    if given_by == "environment":
        monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
        monkeypatch.setenv("PGDATESTYLE", "SQL, DMY")
    else:
        options = " ".join(f"-c {name}={value}" for name, value in SETTINGS.items())
        dsn = make_conninfo(live, client_encoding="LATIN1", options=options)
    memory = make(dsn=dsn, llm=None)
    memory.add(SAID, user_id="ann", metadata={"é": "ü茶"}, expiration_date="2099-12-01")
    [stored] = memory.get_all(filters=ANN)["results"]
    assert stored["memory"] == SAID
    assert stored["metadata"] == {"é": "ü茶"}
    assert stored["expiration_date"] == "2099-12-01"
    assert found(memory.search("café", filters=ANN)) == [SAID]


@THREADS
@pytest.mark.parametrize("name", SETTINGS)
def test_a_connection_that_is_set_otherwise_is_refused_by_name(
    make: Any, live: str, name: str
) -> None:
    memory = make(llm=None)
    with psycopg.connect(live) as conn:
        conn.execute(f"set {name} = '{SETTINGS[name]}'")
        with pytest.raises(ConfigError, match=f"(?i)connection: its {name} is"):
            memory.add(SAID, user_id="ann", connection=conn)


def test_the_schema_is_laid_right_whatever_the_environment_says(
    empty: str, monkeypatch: Any, endpoint: Any
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    monkeypatch.setenv("PGOPTIONS", "-c standard_conforming_strings=off")
    schema.migrate(empty)
    assert schema.check(empty) == []
    with Memory(dsn=empty, embedder=model(endpoint)) as memory:
        memory.add(SAID, user_id="ann", infer=False)
        assert found(memory.search("café", filters=ANN)) == [SAID]


@THREADS
def test_adapters_of_the_callers_connection_are_not_used(make: Any, live: str) -> None:
    memory = make(llm=None)
    with psycopg.connect(live) as conn:
        set_json_loads(lambda text: "theirs", conn)
        for name in ("date", "timestamptz", "uuid"):
            conn.adapters.register_loader(name, TextLoader)
        memory.add(
            "tea",
            user_id="ann",
            metadata={"a": 1},
            expiration_date="2099-12-01",
            infer=False,
            connection=conn,
        )
        [stored] = memory.get_all(filters=ANN, connection=conn)["results"]
        assert stored["metadata"] == {"a": 1}
        assert stored["expiration_date"] == "2099-12-01"
        assert len(memory.history(stored["id"], connection=conn)) == 1


SECRETS = {
    "password": "secret1",
    "sslpassword": "secret2",
    "options": "-c my.key=secret3",
}


def test_no_secret_of_a_dsn_is_shown(empty: str, endpoint: Any) -> None:
    dsn = make_conninfo(empty, **SECRETS)
    assert "secret" not in public(dsn)
    with Memory(dsn=dsn, embedder=model(endpoint)) as memory:
        assert "secret" not in repr(memory)
        with pytest.raises(SchemaMissing) as caught:
            memory.get_all(filters=ANN)
    assert "secret" not in f"{caught.value} {caught.value.suggestion}"
    assert "dbname" in str(caught.value)
