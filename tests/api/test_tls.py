"""TLS, spoken by a real PgBouncer: the embedded Postgres is built without it, the client is not."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memlayer_pg import DatabaseError
from tests.api.test_reading import ANN, found, say
from tests.cli.running import memlayer
from tests.conftest import temporary_folder
from tests.pgbouncer import bouncing, program

NAME = "db.example.test"


class Authority:
    """A CA of our own, and the certificates it signs."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.certificate = folder / f"{name}.crt"
        self._openssl(
            *("req", "-x509", "-subj", f"/CN={name}", "-days", "2"),
            *("-addext", "basicConstraints=critical,CA:TRUE"),
            *("-keyout", f"{name}.key", "-out", f"{name}.crt"),
            *NEW_KEY,
        )

    def sign(self, who: str, common_name: str) -> tuple[Path, Path]:
        """A certificate and its key."""
        self._openssl(
            *("req", "-x509", "-subj", f"/CN={common_name}", "-days", "2"),
            *("-CA", f"{self.name}.crt", "-CAkey", f"{self.name}.key"),
            *("-addext", f"subjectAltName=DNS:{common_name}"),
            *("-addext", "basicConstraints=critical,CA:FALSE"),
            *("-keyout", f"{who}.key", "-out", f"{who}.crt"),
            *NEW_KEY,
        )
        key = self.folder / f"{who}.key"
        key.chmod(0o600)
        return self.folder / f"{who}.crt", key

    def _openssl(self, *args: str) -> None:
        done = subprocess.run(
            ["openssl", *args], cwd=self.folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


@pytest.fixture(scope="session")
def authorities() -> Iterator[tuple[Authority, Authority]]:
    """The CA that signs the servers' certificates, and one that nobody asked."""
    if not shutil.which("openssl"):
        pytest.skip("there is no openssl here to make certificates with")
    with temporary_folder() as folder:
        folder.chmod(0o755)
        yield Authority(folder, "ours"), Authority(folder, "strangers")


@pytest.fixture(scope="session")
def encrypted(live: str, authorities: tuple[Authority, Authority]) -> Iterator[dict[str, str]]:
    """The shared database behind TLS: a server for everybody, and one that asks who is there."""
    ours, _ = authorities
    certificate, key = ours.sign("server", NAME)
    key.chmod(0o644)  # PgBouncer runs as another account
    with temporary_folder() as folder:
        folder.chmod(0o755)
        pgbouncer = program(folder)
        tls = {
            "client_tls_cert_file": certificate,
            "client_tls_key_file": key,
            "client_tls_ca_file": ours.certificate,
            "listen_addr": "127.0.0.1",
        }
        with (
            temporary_folder() as one,
            temporary_folder() as two,
            bouncing(
                pgbouncer, live, one, **tls, client_tls_sslmode="require", listen_port=free()
            ) as open_to_all,
            bouncing(
                pgbouncer, live, two, **tls, client_tls_sslmode="verify-full", listen_port=free()
            ) as asking,
        ):
            yield {"open": address(open_to_all, ours), "asking": address(asking, ours)}


def free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


def address(dsn: str, authority: Authority) -> str:
    """The way over TCP, with everything checked."""
    parts = conninfo_to_dict(dsn)
    return make_conninfo(
        host=NAME, hostaddr="127.0.0.1", port=parts["port"], dbname=parts["dbname"],
        user=parts["user"], sslmode="verify-full", sslrootcert=str(authority.certificate),
    )  # fmt: skip


def test_a_server_whose_certificate_is_right_is_used(make: Any, encrypted: dict[str, str]) -> None:
    memory = make(dsn=encrypted["open"], prepare_threshold=None)
    say(memory, "tea")
    assert found(memory.search("tea", filters=ANN)) == ["tea"]
    [(_, conn)] = memory.memory._pool.kept
    assert conn.pgconn.ssl_in_use


@pytest.mark.parametrize(
    ("change", "said", "advice"),
    [
        ({"host": "other.example.test"}, "does not match host name", "host="),
        ({"sslrootcert": "strangers"}, "certificate verify failed", "sslrootcert="),
        ({"sslrootcert": "/nowhere/ca.crt"}, "does not exist", "sslrootcert="),
        ({"sslmode": "disable", "sslrootcert": None}, "SSL required", "sslmode=verify-full"),
    ],
    ids=["host", "ca", "missing", "plain"],
)
def test_what_is_not_right_is_refused_and_the_error_says_what_to_do(
    make: Any,
    encrypted: dict[str, str],
    authorities: tuple[Authority, Authority],
    change: dict[str, str | None],
    said: str,
    advice: str,
) -> None:
    if change.get("sslrootcert") == "strangers":
        change = {"sslrootcert": str(authorities[1].certificate)}
    parts: dict[str, Any] = {**conninfo_to_dict(encrypted["open"]), **change}
    dsn = make_conninfo(**{key: value for key, value in parts.items() if value is not None})
    memory = make(dsn=dsn, prepare_threshold=None)
    with pytest.raises(DatabaseError, match=said) as refused:
        memory.get_all(filters=ANN)
    assert advice in str(refused.value.suggestion)
    for command in (("list", "--user", "ann"), ("db", "current"), ("doctor", "--offline")):
        ran = memlayer(*command, MEMLAYER_DSN=dsn)
        assert ran.code == 1
        assert said in ran.out + ran.err
        assert advice in ran.out + ran.err


def test_a_server_without_tls_is_refused_where_tls_is_wanted(
    make: Any, live: str, encrypted: dict[str, str]
) -> None:
    with temporary_folder() as folder, temporary_folder() as files:
        folder.chmod(0o755)
        with bouncing(
            program(folder), live, files, listen_addr="127.0.0.1", listen_port=free()
        ) as plain:
            port = str(conninfo_to_dict(plain)["port"])
            memory = make(dsn=make_conninfo(encrypted["open"], port=port))
            with pytest.raises(DatabaseError, match="does not support SSL") as refused:
                memory.get_all(filters=ANN)
            assert "Turn ssl on" in str(refused.value.suggestion)


def test_a_client_shows_its_certificate_where_the_server_asks_for_one(
    make: Any, encrypted: dict[str, str], authorities: tuple[Authority, Authority]
) -> None:
    ours, strangers = authorities
    certificate, key = ours.sign("client", "postgres")
    files = {"sslcert": str(certificate), "sslkey": str(key)}
    memory = make(dsn=make_conninfo(encrypted["asking"], **files), prepare_threshold=None)
    say(memory, "tea")
    assert found(memory.get_all(filters=ANN)) == ["tea"]
    key.chmod(0o644)
    open_key = make(dsn=make_conninfo(encrypted["asking"], **files))
    with pytest.raises(DatabaseError, match="private key file") as refused:
        open_key.get_all(filters=ANN)
    assert "chmod 600" in str(refused.value.suggestion)
    anonymous = make(dsn=encrypted["asking"])
    with pytest.raises(DatabaseError) as refused:
        anonymous.get_all(filters=ANN)
    assert "sslcert=" in str(refused.value.suggestion)
    certificate, key = strangers.sign("stranger", "postgres")
    files = {"sslcert": str(certificate), "sslkey": str(key)}
    unknown = make(dsn=make_conninfo(encrypted["asking"], **files))
    with pytest.raises(DatabaseError) as refused:
        unknown.get_all(filters=ANN)
    assert "CA" in str(refused.value.suggestion)
