"""One embedded server a Postgres version, one template database, and three ways to use it.

`conn` is the default: its work is rolled back. `database` is for what commits or needs several
connections, `empty` for the migrations. Everything that touches a server runs once a version;
`--postgres=18` runs one only.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

FOREIGN = ("MEMLAYER_", "OPENAI_", "PG", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")

# Before anything is imported: no test may see a database, key or proxy of whoever runs it.
for name in list(os.environ):
    if name.upper().startswith(FOREIGN):
        del os.environ[name]

import psycopg  # noqa: E402
import pytest  # noqa: E402
from psycopg import sql  # noqa: E402
from psycopg.conninfo import conninfo_to_dict, make_conninfo  # noqa: E402

from memlayer_pg import embedded, schema  # noqa: E402

if TYPE_CHECKING:
    from tests.endpoint import Endpoint

CHECKOUT = Path(__file__).parent.parent
COUNTER = itertools.count()

# Nothing here has to survive a crash, and no plan is to change between two looks at it.
# Reloaded, not restarted: all of these can be.
UNSAFE = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--postgres", default="18,16", help="versions of Postgres to test on")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "server" in metafunc.fixturenames:
        versions = [int(version) for version in metafunc.config.getoption("postgres").split(",")]
        ids = [f"pg{version}" for version in versions]
        metafunc.parametrize("server", versions, ids=ids, indirect=True, scope="session")


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder for a server's data: as root, not below pytest's own, which it keeps closing."""
    folder = Path(tempfile.mkdtemp(prefix="memlayer-test-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


class Servers:
    """The servers of this run, each started when it is first asked for and kept to the end.

    Kept here and not by the fixtures, which are taken down whenever tests turn to another version.
    """

    def __init__(self, until_the_end: ExitStack) -> None:
        self._stack = until_the_end
        self._dsns: dict[int, str] = {}
        self._templates: dict[str, str] = {}
        self._connections: dict[str, psycopg.Connection[Any]] = {}

    def dsn(self, version: int) -> str:
        if version not in self._dsns:
            folder = self._stack.enter_context(temporary_folder())
            running = self._stack.enter_context(embedded.start(folder, version=version))
            self._dsns[version] = dsn = make_conninfo(running.dsn, dbname="postgres")
            with psycopg.connect(dsn, autocommit=True) as admin:
                for setting, value in UNSAFE.items():
                    admin.execute(f"alter system set {setting} = {value}")
                admin.execute("select pg_reload_conf()")
        return self._dsns[version]

    def template(self, server: str) -> str:
        if server not in self._templates:
            dsn = create(server)
            lay(dsn)
            self._templates[server] = dsn
        return self._templates[server]

    def connection(self, server: str) -> psycopg.Connection[Any]:
        if server not in self._connections:
            conn = psycopg.connect(create(server, named(self.template(server))))
            self._connections[server] = self._stack.enter_context(conn)
        return self._connections[server]


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    with ExitStack() as until_the_end:
        yield Servers(until_the_end)


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest, servers: Servers) -> str:
    """The dsn of a running server's own database; the user is a superuser."""
    return servers.dsn(request.param)


def create(server: str, template: str = "template1") -> str:
    """Make a database; the dsn of it."""
    name = f"memlayer_test_{next(COUNTER)}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(
            sql.SQL("create database {} template {} strategy file_copy").format(
                sql.Identifier(name), sql.Identifier(template)
            )
        )
    return make_conninfo(server, dbname=name)


def drop(server: str, dsn: str) -> None:
    """Drop a database, whoever is still connected to it."""
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(named(dsn))))


def named(dsn: str) -> str:
    """The name of a dsn's database."""
    return str(conninfo_to_dict(dsn)["dbname"])


def lay(dsn: str) -> None:
    """Run the files of sql/ in load order, as all.sql does."""
    with psycopg.connect(dsn) as conn:
        for path in schema.load_order():
            try:
                conn.execute((schema.SQL / path).read_text("utf-8"))
            except psycopg.Error as error:
                error.add_note(f"in sql/{path}")
                raise


@pytest.fixture(scope="session")
def template(server: str, servers: Servers) -> str:
    """A database laid from sql/ in load order; leave no connection to it open: it is copied."""
    return servers.template(server)


@pytest.fixture
def conn(server: str, servers: Servers) -> Iterator[psycopg.Connection[Any]]:
    """A connection whose work is rolled back: the default, about a millisecond a test."""
    conn = servers.connection(server)
    yield conn
    conn.rollback()


@pytest.fixture
def database(server: str, template: str) -> Iterator[str]:
    """The dsn of a copy of the template: for what commits, on as many connections as it likes."""
    dsn = create(server, named(template))
    yield dsn
    drop(server, dsn)


@pytest.fixture
def empty(server: str) -> Iterator[str]:
    """The dsn of a database with nothing in it: for the migrations."""
    dsn = create(server)
    yield dsn
    drop(server, dsn)


def run(*command: object, **env: str) -> str:
    """What a command prints, run in the checkout; its errors are the test's."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=CHECKOUT,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder)
    return folder


@pytest.fixture(scope="session")
def release(archives: Path) -> Iterator[Path]:
    """The folder of the programs of a new environment into which the wheel was installed."""
    [wheel] = archives.glob("*.whl")
    with temporary_folder() as folder:
        folder.chmod(0o755)  # as root, Postgres runs as another account, from there
        venv.create(folder / "venv", with_pip=True)
        programs = folder / "venv" / "bin"
        run(programs / "python", "-m", "pip", "install", "--quiet", f"{wheel}[local]")
        yield programs


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the wheel of this checkout was installed; put it on PYTHONPATH."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=CHECKOUT,
        check=True,
        capture_output=True,
    )
    [wheel] = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:  # all there is to installing a pure one
        archive.extractall(folder / "site")
    return folder / "site"


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """A scripted OpenAI-compatible server on loopback."""
    from tests.endpoint import Endpoint

    with Endpoint() as endpoint:
        yield endpoint
