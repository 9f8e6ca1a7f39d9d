"""A password of any characters, from wherever libpq takes one, and it is never shown."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from memlayer_pg import AsyncMemory, Config, ConfigError, DatabaseError, Memory
from memlayer_pg.cluster import Cluster
from memlayer_pg.dsn import parameters
from tests.api.harness import model
from tests.api.test_reading import ANN, found
from tests.cli.running import memlayer
from tests.conftest import temporary_folder
from tests.servers import own

WORST = "S3 kr:e@t/%41#?&=+'\"\\{}$äß密"
PASSWORDS = [
    "two words", "it's", '"quoted"', "a@b", "a:b", "a/b", "100%", "%41", "a#b", "a?b=c&d", "a+b",
    "back\\slash", "\\\\\\", "ends with \\'", "${HOME}", "äöü 密码 🔑", WORST,
]  # fmt: skip
ROLE = "ann o'hara"


@pytest.fixture(scope="session")
def locked(server: str) -> Iterator[Cluster]:
    """A server that lets nobody but postgres in without a password (scram-sha-256)."""
    with temporary_folder() as folder, own(server, folder) as running:
        (running.data / "pg_hba.conf").write_text(
            "local all postgres trust\nlocal all all scram-sha-256\n"
        )
        with psycopg.connect(running.dsn("postgres"), autocommit=True) as admin:
            admin.execute("set password_encryption = 'scram-sha-256'")
            admin.execute(sql.SQL("create role {} login").format(sql.Identifier(ROLE)))
            admin.execute(sql.SQL("create database app owner {}").format(sql.Identifier(ROLE)))
            admin.execute("select pg_reload_conf()")
        with psycopg.connect(running.dsn("app"), autocommit=True) as admin:
            admin.execute("create extension vector")
        change(running, WORST)
        ran = memlayer("db", "upgrade", MEMLAYER_DSN=keywords(running, WORST))
        assert ran.code == 0, ran.err
        yield running


def change(running: Cluster, password: str) -> None:
    with psycopg.connect(running.dsn("postgres"), autocommit=True) as admin:
        admin.execute("set password_encryption = 'scram-sha-256'")
        change = sql.SQL("alter role {} password {}")
        admin.execute(change.format(sql.Identifier(ROLE), sql.Literal(password)))


def keywords(running: Cluster, password: str | None = None, **more: str) -> str:
    secret = {} if password is None else {"password": password}
    return make_conninfo(
        host=str(running.socket_folder()), user=ROLE, dbname="app", **secret, **more
    )


def url(running: Cluster, password: str, scheme: str = "postgresql") -> str:
    host = quote(str(running.socket_folder()), safe="")
    login = f"{quote(ROLE, safe='')}:{quote(password, safe='')}"
    return f"{scheme}://{login}@{host}/app"


def settings(dsn: str, endpoint: Any, tenant: str) -> Config:
    return Config(dsn=dsn, tenant=tenant, llm=model(endpoint), embedder=model(endpoint))


@pytest.mark.parametrize("password", PASSWORDS)
def test_a_memory_connects_with_any_password(
    locked: Cluster, endpoint: Any, tenant: str, password: str
) -> None:
    change(locked, password)
    dsns = (
        keywords(locked, password),
        url(locked, password),
        url(locked, password, "postgresql+psycopg"),
    )

    async def awaited(dsn: str) -> None:
        async with AsyncMemory(settings(dsn, endpoint, tenant)) as memory:
            assert found(await memory.get_all(filters=ANN))

    for dsn in dsns:
        assert Config.from_env({"MEMLAYER_DSN": dsn}).dsn is not None
        with Memory(settings(dsn, endpoint, tenant)) as memory:
            memory.add("tea", user_id="ann", infer=False)
            assert password not in repr(memory) + repr(memory.config) + memory.location
        asyncio.run(awaited(dsn))


def sources(locked: Cluster, folder: Path) -> dict[str, dict[str, str]]:
    """The environments in which the worst password stands in one place each."""
    host = str(locked.socket_folder())
    escaped = WORST.replace("\\", "\\\\").replace(":", "\\:")
    passfile = folder / "pgpass"
    passfile.touch(0o600)
    passfile.write_text(f"*:*:app:{ROLE}:{escaped}\n")
    services = folder / "services"
    services.write_text(f"[shop]\nhost={host}\nuser={ROLE}\ndbname=app\npassword={WORST}\n")
    return {
        "url": {"MEMLAYER_DSN": url(locked, WORST)},
        "key=value": {"MEMLAYER_DSN": keywords(locked, WORST)},
        "PGPASSWORD": {"MEMLAYER_DSN": keywords(locked), "PGPASSWORD": WORST},
        "passfile=": {"MEMLAYER_DSN": keywords(locked, passfile=str(passfile))},
        "PGPASSFILE": {"MEMLAYER_DSN": keywords(locked), "PGPASSFILE": str(passfile)},
        "service": {"MEMLAYER_DSN": "service=shop", "PGSERVICEFILE": str(services)},
    }


SOURCES = ["url", "key=value", "PGPASSWORD", "passfile=", "PGPASSFILE", "service"]


@pytest.mark.parametrize("source", SOURCES)
def test_every_program_takes_the_password_from_wherever_libpq_does(
    locked: Cluster,
    endpoint: Any,
    tenant: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    source: str,
) -> None:
    change(locked, WORST)
    env = sources(locked, tmp_path)[source]
    for command in (
        ("db", "upgrade"),
        ("db", "current"),
        ("list", "--user", "ann"),
        ("doctor", "--offline"),
        ("--debug", "doctor", "--offline", "--json"),
    ):
        ran = memlayer(*command, **env)
        assert "password" not in ran.err, ran.err
        assert ran.code == 0, ran.out + ran.err
        hidden(ran.out + ran.err)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    config = Config.from_env().with_(tenant=tenant)
    with Memory(config, embedder=model(endpoint), llm=model(endpoint)) as memory:
        memory.add("tea", user_id="ann", infer=False)
        assert "tea" in found(memory.search("tea", filters=ANN))
        hidden(repr(memory) + repr(memory.config) + memory.location)


@pytest.mark.parametrize("source", SOURCES)
def test_psql_connects_and_its_arguments_hold_no_password(
    locked: Cluster, tmp_path: Path, source: str
) -> None:
    import os
    import subprocess

    from tests.cli.running import PROGRAM

    change(locked, WORST)
    env = {**os.environ, **sources(locked, tmp_path)[source]}
    ran = subprocess.run(
        [*PROGRAM, "db", "psql", "--no-password", "-Atc", r"\! cat /proc/$PPID/cmdline", "-c",
         "select current_user"],
        env=env, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert ROLE in ran.stdout.splitlines()[-1]
    hidden(ran.stdout + ran.stderr)


def hidden(text: str) -> None:
    """None of the forms in which the worst password might be shown is in a text."""
    for form in (WORST, quote(WORST, safe=""), repr(WORST)[1:-1], "S3 kr", "S3%20kr"):
        assert form not in text


def test_a_refused_password_is_not_shown_and_the_error_says_how_to_write_one(
    locked: Cluster, endpoint: Any, tenant: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    change(locked, "another")
    for dsn in (url(locked, WORST), keywords(locked, WORST)):
        with (
            Memory(settings(dsn, endpoint, tenant)) as memory,
            pytest.raises(DatabaseError, match="password authentication failed") as refused,
        ):
            memory.get_all(filters=ANN)
        assert "percent-encoded" in str(refused.value.suggestion)
        hidden(str(refused.value) + repr(refused.value) + repr(refused.value.__dict__))
        for command in (("list", "--user", "ann"), ("db", "upgrade"), ("doctor", "--offline")):
            ran = memlayer("--debug", *command, MEMLAYER_DSN=dsn)
            assert ran.code == 1
            assert "percent-encoded" in ran.out + ran.err
            hidden(ran.out + ran.err)
    with Memory(settings(keywords(locked), endpoint, tenant)) as memory:
        with pytest.raises(DatabaseError, match="no password supplied") as missing:
            memory.get_all(filters=ANN)
        assert "PGPASSWORD" in str(missing.value.suggestion)
    hidden(caplog.text)


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://ann:S3 kr@t@host/app",
        "postgresql://ann:S3%20kr",
        "postgresql://ann:100%S3 kr@host/app",
        "host=h user=ann password=x S3 kr",
        "host=h password='S3 kr",
    ],
)
def test_a_dsn_in_which_the_password_is_misread_is_refused_without_it(dsn: str) -> None:
    with pytest.raises(ConfigError, match="dsn: ") as refused:
        parameters(dsn)
    assert refused.value.suggestion
    hidden(str(refused.value) + repr(refused.value) + str(refused.value.suggestion))
    ran = memlayer("doctor", "--offline", MEMLAYER_DSN=dsn)
    assert ran.code
    hidden(ran.out + ran.err)
