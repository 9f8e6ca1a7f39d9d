"""The change feed: each change once, those of a memory in order, among any other writers."""

from __future__ import annotations

import os
import random
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from memlayer_pg import cluster, embedded
from memlayer_pg.accounts import account_for
from memlayer_pg.errors import FilterError
from tests.conftest import create, lay, temporary_folder
from tests.sql.calls import Connection, add, call, one

INCARNATION = 2**48
Seen = list[tuple[str, int]]


def page(conn: Connection, cursor: str | None, limit: int = 1000) -> tuple[Seen, str | None]:
    """The changes after a cursor as (memory, version), and the cursor to go on from."""
    rows = call(conn, "changes_since", cursor=cursor, limit=limit)
    return [(str(r["memory_id"]), r["version"]) for r in rows], rows[-1][
        "cursor"
    ] if rows else cursor


def insert(conn: Connection, text: str) -> str:
    return str(
        one(
            conn,
            "insert into memlayer.memory (user_id, text) values ('ann', %s) returning id",
            text,
        )
    )


def change(conn: Connection, memory: str, text: str) -> None:
    conn.execute("update memlayer.memory set text = %s where id = %s", [text, memory])


@pytest.fixture
def open_(database: str) -> Iterator[Any]:
    """Opens connections to one database; `autocommit` as in psycopg.connect."""
    with ExitStack() as stack:
        yield lambda autocommit=False: stack.enter_context(
            psycopg.connect(database, autocommit=autocommit)
        )


def test_a_change_says_what_was_before_and_after_and_who_did_it(open_: Any) -> None:
    conn = open_(True)
    [memory] = add(conn, "tea", metadata={"a": 1, "b": 1})
    call(conn, "update", id=memory, text="green tea", metadata={"b": 2}, actor="support")
    conn.execute("delete from memlayer.memory")
    added, updated, deleted = call(conn, "changes_since")
    assert [row["event"] for row in (added, updated, deleted)] == ["ADD", "UPDATE", "DELETE"]
    assert (updated["old_memory"], updated["new_memory"]) == ("tea", "green tea")
    assert updated["changed_keys"] == ["metadata.b", "text"]
    assert (updated["operation"], updated["actor"]) == ("update", "support")
    assert (deleted["operation"], deleted["new_state"]) == (None, None)
    assert added["new_state"]["metadata"] == {"a": 1, "b": 1}
    assert {row["user_id"] for row in (added, updated, deleted)} == {"ann"}


def test_pages_follow_one_another_and_end(open_: Any) -> None:
    conn = open_(True)
    memories = [insert(conn, f"fact {n}") for n in range(5)]
    first, cursor = page(conn, None, 2)
    second, cursor = page(conn, cursor, 2)
    third, cursor = page(conn, cursor, 2)
    assert first + second + third == [(memory, 1) for memory in memories]
    assert page(conn, cursor) == ([], cursor)


def test_a_tenant_sees_its_own_changes_only(open_: Any) -> None:
    conn = open_(True)
    add(conn, "x", tenant="other")
    assert call(conn, "changes_since") == []
    assert len(call(conn, "changes_since", tenant="other")) == 1


@pytest.mark.parametrize("cursor", ["", "x", "1", "1.-1", "1.1; drop", "9999999999999999999.1"])
def test_what_is_no_cursor_is_refused(conn: Connection, cursor: str) -> None:
    with pytest.raises(FilterError, match="cursor"):
        call(conn, "changes_since", cursor=cursor)


def test_a_change_waits_for_the_transactions_that_could_come_before_it(open_: Any) -> None:
    slow, fast, reader = open_(), open_(), open_(True)
    first = insert(slow, "written first")
    second = insert(fast, "committed first")
    fast.commit()
    assert page(reader, None) == ([], None)
    slow.commit()
    assert page(reader, None)[0] == [(first, 1), (second, 1)]


def test_what_was_rolled_back_never_appears(open_: Any) -> None:
    writer, reader = open_(), open_(True)
    kept = insert(writer, "kept")
    with writer.transaction():
        insert(writer, "lost with its savepoint")
        raise psycopg.Rollback
    writer.commit()
    insert(writer, "lost")
    writer.rollback()
    assert page(reader, None)[0] == [(kept, 1)]


def test_an_older_transaction_that_changes_a_memory_last_comes_last(open_: Any) -> None:
    older, between, newer, reader = open_(), open_(), open_(), open_(True)
    memory = insert(reader, "v1")
    _, cursor = page(reader, None)
    xids = [one(c, "select pg_current_xact_id()::text::bigint") for c in (older, between, newer)]
    assert xids == sorted(xids)
    change(newer, memory, "v2")
    newer.commit()
    change(older, memory, "v3")
    older.commit()
    # The horizon lies between the two now: neither may appear, or the third version came first.
    assert page(reader, cursor) == ([], cursor)
    between.rollback()
    assert page(reader, cursor)[0] == [(memory, 2), (memory, 3)]


def test_the_same_when_the_older_one_had_to_wait_for_the_row(open_: Any) -> None:
    older, between, newer, reader = open_(), open_(), open_(), open_(True)
    memory = insert(reader, "v1")
    _, cursor = page(reader, None)
    for conn in (older, between, newer):
        one(conn, "select pg_current_xact_id()::text")
    change(newer, memory, "v2")
    waits = threading.Thread(target=change, args=(older, memory, "v3"))
    waits.start()
    while not one(
        reader, "select exists (select from pg_locks where pid = %s and not granted)",
        older.info.backend_pid,
    ):  # fmt: skip
        time.sleep(0.01)
    newer.commit()
    waits.join()
    older.commit()
    assert page(reader, cursor) == ([], cursor)
    between.rollback()
    assert page(reader, cursor)[0] == [(memory, 2), (memory, 3)]


def test_a_reader_that_writes_does_not_pass_over_its_own_changes(open_: Any) -> None:
    conn = open_()
    memory = insert(conn, "mine")
    seen, cursor = page(conn, None)
    assert seen == []
    conn.commit()
    assert page(conn, cursor)[0] == [(memory, 1)]


class Writer(threading.Thread):
    """Transactions at random on shared memories, some long, some rolled back."""

    def __init__(self, dsn: str, number: int, shared: list[str]) -> None:
        super().__init__()
        self.dsn, self.rng, self.shared = dsn, random.Random(number), shared
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            with psycopg.connect(self.dsn) as conn:
                for _ in range(40):
                    self.transact(conn)
        except Exception as error:  # shown by the test, which joins the thread
            self.error = error

    def transact(self, conn: Connection) -> None:
        rng = self.rng
        if rng.random() < 0.3:  # old before it writes
            one(conn, "select pg_current_xact_id()::text")
            time.sleep(rng.random() * 0.03)
        own = [insert(conn, str(rng.random())) for _ in range(rng.randrange(3))]
        # In one order, so that nobody waits in a circle.
        for memory in sorted(rng.sample(self.shared, rng.randrange(1, 4))):
            change(conn, memory, str(rng.random()))
            if rng.random() < 0.2:
                time.sleep(rng.random() * 0.05)
        if own and rng.random() < 0.5:
            conn.execute("delete from memlayer.memory where id = %s", [own[0]])
        if rng.random() < 0.2:
            conn.rollback()
        else:
            conn.commit()


def test_among_eight_writers_each_change_is_read_once_and_in_order(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as reader:
        shared = [insert(reader, f"fact {n}") for n in range(6)]
        writers = [Writer(database, number, shared) for number in range(8)]
        for writer in writers:
            writer.start()
        seen: Seen = []
        cursor = None
        pages = 0
        while True:
            ended = not any(writer.is_alive() for writer in writers)
            found, cursor = page(reader, cursor, 7)
            seen += found
            pages += bool(found)
            if ended and not found:
                break
        assert [writer.error for writer in writers] == [None] * 8
        written = reader.execute("select memory_id::text, version from memlayer.history").fetchall()
    assert pages > 10
    assert len(seen) == len(written)
    assert set(seen) == set(written)
    versions = defaultdict(list)
    for memory, version in seen:
        versions[memory].append(version)
    assert all(found == list(range(1, len(found) + 1)) for found in versions.values())
    assert max(map(len, versions.values())) > 20


# --- another cluster ------------------------------------------------------------------------------


@pytest.fixture
def programs(server: str) -> Path:
    """The programs of the server's version."""
    with psycopg.connect(server) as conn:
        return cluster.programs()[conn.info.server_version // 10000]


@pytest.fixture
def another(programs: Path) -> Iterator[embedded.Server]:
    """A second server of the same version, with nothing in its database."""
    version = next(number for number, path in cluster.programs().items() if path == programs)
    with temporary_folder() as folder, embedded.start(folder, version=version) as running:
        yield running


def copied(source: str, target: str, programs: Path, folder: Path) -> None:
    """Dump one database and restore it into another."""
    dump = folder / "dump"
    subprocess.run([programs / "pg_dump", "--format=custom", f"--file={dump}", source], check=True)
    subprocess.run([programs / "pg_restore", f"--dbname={target}", dump], check=True)


def transaction(conn: Connection) -> int:
    return int(one(conn, "select pg_current_xact_id()::text"))


def test_the_feed_goes_on_in_another_cluster_whose_transactions_have_lower_numbers(
    database: str, another: embedded.Server, programs: Path, tmp_path: Path
) -> None:
    other = another.dsn
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute(
            """do $$ begin
                 for n in 1..5000 loop perform pg_current_xact_id(); commit; end loop;
               end $$"""
        )
        old = [insert(conn, f"old {n}") for n in range(5)]
        change(conn, old[0], "changed")
        expected = [*[(memory, 1) for memory in old], (old[0], 2)]
        read, midway = page(conn, None, 3)
        assert read == expected[:3]
        copied(database, other, programs, tmp_path)
        insert(conn, "after the dump, so not in the copy")
        _, ahead = page(conn, midway)
        before = transaction(conn)

    with psycopg.connect(other, autocommit=True) as conn, psycopg.connect(other) as open_:
        assert transaction(conn) < before
        transaction(open_)
        # What came along is there, whoever is writing, and before anybody wrote.
        assert page(conn, midway)[0] == expected[3:]
        assert page(conn, ahead) == ([], ahead)

        change(conn, old[0], "changed again")
        new = insert(conn, "new")
        assert page(conn, midway)[0] == expected[3:]
        open_.commit()
        assert page(conn, midway)[0] == [*expected[3:], (old[0], 3), (new, 1)]
        assert page(conn, ahead)[0] == [(old[0], 3), (new, 1)]
        assert page(conn, None)[0] == [*expected, (old[0], 3), (new, 1)]
        copied(other, home := create(database), programs, tmp_path)

    # And back, into the cluster it came from.
    with psycopg.connect(home, autocommit=True) as conn:
        change(conn, new, "home again")
        assert page(conn, ahead)[0] == [(old[0], 3), (new, 1), (new, 2)]
        assert one(conn, "select max(number) from memlayer.incarnation") == 3


@pytest.fixture
def primary(another: embedded.Server) -> str:
    """The dsn of the database of a second server, with the schema: to be copied as a whole."""
    lay(another.dsn)
    return another.dsn


@pytest.fixture
def standby(primary: str, programs: Path) -> Iterator[str]:
    """The dsn of the same database on a physical standby."""
    with temporary_folder() as folder:
        data = folder / "postgres"
        account = account_for(data)
        source = make_conninfo(primary, dbname="")
        subprocess.run(
            [programs / "pg_basebackup", "-R", "-c", "fast", "-D", data, "-d", source], check=True
        )
        if account is not None:
            for path in (data, *data.rglob("*")):
                os.chown(path, account.uid, account.gid)
        with embedded.start(folder) as running:
            yield running.dsn


def test_a_standby_serves_the_feed_and_goes_on_with_it_when_it_is_promoted(
    primary: str, standby: str
) -> None:
    with ExitStack() as stack:
        writer, slow, copy = (
            stack.enter_context(psycopg.connect(dsn, autocommit=autocommit))
            for dsn, autocommit in ((primary, True), (primary, False), (standby, True))
        )

        def caught_up() -> None:
            written = one(writer, "select pg_current_wal_lsn()::text")
            for _ in range(6000):
                if one(copy, "select pg_last_wal_replay_lsn() >= %s::pg_lsn", written):
                    return
                time.sleep(0.01)
            pytest.fail("the standby does not follow")

        first = insert(writer, "first")
        open_ = insert(slow, "open")
        last = insert(writer, "last")
        caught_up()
        seen, cursor = page(copy, None)
        assert seen == [(first, 1)]
        slow.commit()
        caught_up()
        seen, cursor = page(copy, cursor)
        assert seen == [(open_, 1), (last, 1)]

        assert one(copy, "select pg_promote()")
        change(copy, first, "changed on the other one")
        assert page(copy, cursor)[0] == [(first, 2)]
        assert one(copy, "select max(number) from memlayer.incarnation") == 1


def test_the_first_writers_in_a_new_cluster_do_not_wait_for_one_another(open_: Any) -> None:
    one_, two, reader = open_(), open_(), open_(True)
    reader.execute("set lock_timeout = '5s'")
    two.execute("set lock_timeout = '5s'")
    first, second = insert(one_, "x"), insert(two, "y")
    two.commit()
    third = insert(reader, "z")
    one_.rollback()
    assert page(reader, None)[0] == [(second, 1), (third, 1)]
    assert first != second
    assert one(reader, "select max(number) from memlayer.incarnation") == 1


def test_a_restart_is_no_new_incarnation(open_: Any) -> None:
    conn = open_(True)
    memory = insert(conn, "x")
    conn.execute("update memlayer.incarnation set server_started = '2020-01-01'")
    change(conn, memory, "y")
    assert conn.execute("select number from memlayer.incarnation").fetchall() == [(1,), (1,)]
    assert page(conn, None)[0] == [(memory, 1), (memory, 2)]


def test_after_a_recovery_to_an_earlier_moment_the_feed_goes_on_behind_its_readers(
    open_: Any,
) -> None:
    conn = open_(True)
    memory = insert(conn, "x")
    [row] = call(conn, "changes_since")
    position, seq = map(int, row["cursor"].split("."))
    ahead = f"{position + 1_000_000}.{seq + 1_000_000}"  # of what is lost
    assert one(conn, "select memlayer.start_incarnation()") == 2
    assert page(conn, ahead) == ([], ahead)
    change(conn, memory, "y")
    assert page(conn, ahead)[0] == [(memory, 2)]


def test_a_new_incarnation_waits_for_those_who_write(open_: Any) -> None:
    writer, operator, reader = open_(), open_(True), open_(True)
    memory = insert(writer, "x")
    operator.execute("set lock_timeout = '100ms'")
    with pytest.raises(psycopg.errors.LockNotAvailable):
        operator.execute("select memlayer.start_incarnation()")
    writer.commit()
    operator.execute("select memlayer.start_incarnation()")
    assert page(reader, None)[0] == [(memory, 1)]


def test_what_was_written_before_there_was_a_feed_comes_first(open_: Any) -> None:
    conn = open_(True)
    old = insert(conn, "before")
    conn.execute("update memlayer.history set feed_position = 0")
    new = insert(conn, "after")
    assert page(conn, None)[0] == [(old, 1), (new, 1)]


# --- the hint -------------------------------------------------------------------------------------


def test_a_tenant_that_wants_it_is_told_once_a_transaction(open_: Any) -> None:
    writer, listener = open_(), open_(True)
    listener.execute(
        """insert into memlayer.setting (tenant, defaults) values
             ('loud', '{"notify": true}'), ('quiet', '{"notify": false}')"""
    )
    listener.execute("listen memlayer_change")
    for tenant in ("loud", "quiet", "default", "loud"):
        add(writer, "fact", "other fact", tenant=tenant, user_id="ann")
        add(writer, "third fact", tenant=tenant, user_id="bob")
    writer.commit()
    writer.execute("delete from memlayer.memory")
    writer.rollback()
    writer.execute("delete from memlayer.memory where tenant = 'loud' and user_id = 'ann'")
    writer.commit()
    told = [(note.channel, note.payload) for note in listener.notifies(timeout=5, stop_after=2)] + [
        note.payload for note in listener.notifies(timeout=0.2)
    ]
    assert told == [("memlayer_change", "loud")] * 2


def test_the_setting_of_the_hint_is_true_or_false(conn: Connection) -> None:
    with pytest.raises(psycopg.errors.CheckViolation):
        conn.execute("""insert into memlayer.setting (defaults) values ('{"notify": "yes"}')""")


def test_a_page_reads_the_index_from_the_cursor_on(conn: Connection) -> None:
    conn.execute(
        """insert into memlayer.memory (user_id, text)
           select 'ann', n::text from generate_series(1, 3000) n"""
    )
    conn.execute("analyze memlayer.history")
    [[plan]] = conn.execute(
        """explain (format json)
           select from memlayer.history h
            where h.tenant = 'default' and (h.feed_position, h.seq) > (%s::bigint, 5::bigint)
              and h.feed_position < %s
            order by h.feed_position, h.seq limit 100""",
        [INCARNATION, 3 * INCARNATION],
    ).fetchall()
    scan = plan[0]["Plan"]["Plans"][0]
    assert scan["Index Name"] == "history_feed_key"
    assert "ROW(" in scan["Index Cond"]
