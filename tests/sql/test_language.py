"""Documents and queries in the language of their tenant."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from memlayer_pg import FilterError
from tests.sql.calls import Connection, add, call, count, one

STATE = """
select m.id, m.text, m.version, m.created_at, m.updated_at, m.xmin::text
  from memlayer.memory m order by m.id
"""


def found(conn: Connection, query: str) -> list[str]:
    rows = call(conn, "keyword_search", query=query, user_id="ann")
    return [row["text"] for row in rows]


def language(conn: Connection, config: str) -> Any:
    return call(conn, "set_language", config=config)[0]["set_language"]


def rebuild(conn: Connection, limit: int = 1000) -> list[tuple[Any, ...]]:
    """What each batch said."""
    said: list[tuple[Any, ...]] = []
    after = None
    while not said or after is not None:
        [row] = call(conn, "rebuild_documents", after=after, limit=limit)
        after = row["last_id"]
        said.append((row["rebuilt"], row["remaining"]))
    return said


def problems(conn: Connection) -> set[str]:
    return {row["problem"] for row in call(conn, "verify")} - {"the memory waits for its vector"}


CASES = {
    "german": (
        "german",
        "Die H\u00e4user sind gro\u00df",
        ["Haus", "H\u00e4usern"],
        ["Hausmeister"],
    ),
    "english": ("english", "running shoes", ["run shoe", "shoes ran"], ["runner"]),
    "simple": ("simple", "running shoes", ["running", "SHOES"], ["run shoe"]),
    "spanish": ("spanish", "el caf\u00e9 de las ma\u00f1anas", ["cafe", "cafes", "manana"], ["te"]),
}


@pytest.mark.parametrize(("config", "text", "right", "wrong"), CASES.values(), ids=CASES)
def test_memories_and_queries_are_read_by_the_configuration_of_the_tenant(
    conn: Connection, config: str, text: str, right: list[str], wrong: list[str]
) -> None:
    assert language(conn, config) == config
    add(conn, text)
    assert [found(conn, query) for query in right] == [[text]] * len(right)
    assert [found(conn, query) for query in wrong] == [[]] * len(wrong)
    assert problems(conn) == set()


def test_a_change_of_language_brings_old_memories_along_and_leaves_them_as_they_were(
    conn: Connection,
) -> None:
    add(conn, "Die H\u00e4user sind gro\u00df", "the and of", "12", "\u732b")
    before = [row[:5] for row in conn.execute(STATE)]
    history = count(conn, "history")
    language(conn, "german")
    assert found(conn, "Haus") == []
    assert problems(conn) == {"a derived column is wrong"}
    assert rebuild(conn) == [(2, 0)], "a number and a Chinese word are the same in both"
    assert found(conn, "Haus") == ["Die H\u00e4user sind gro\u00df"]
    assert problems(conn) == set()
    assert [row[:5] for row in conn.execute(STATE)] == before
    assert count(conn, "history") == history

    written = conn.execute(STATE).fetchall()
    assert rebuild(conn) == [(0, 0)]
    assert conn.execute(STATE).fetchall() == written, "nothing is written that is right already"


def test_a_document_that_was_empty_or_becomes_empty_is_made_anew(conn: Connection) -> None:
    add(conn, "the and of")
    empty = "select document = '' and document_length = 0 from memlayer.memory"
    assert one(conn, empty)
    language(conn, "simple")
    assert rebuild(conn) == [(1, 0)]
    assert found(conn, "and") == ["the and of"]
    language(conn, "english")
    assert rebuild(conn) == [(1, 0)]
    assert one(conn, empty)
    assert problems(conn) == set()


def test_batches_go_through_one_tenant_and_say_what_is_left(conn: Connection) -> None:
    add(conn, *(f"houses number {n}" for n in range(7)))
    add(conn, "houses", tenant="other")
    language(conn, "simple")
    assert rebuild(conn, limit=3) == [(3, 4), (3, None), (1, None)]
    language(conn, "english")
    assert rebuild(conn, limit=7) == [(7, 0), (0, None)]
    assert problems(conn) == set()
    assert call(conn, "set_language", tenant="other")[0]["set_language"] == "english"


def test_a_batch_that_is_repeated_finds_what_is_left(conn: Connection) -> None:
    add(conn, *(f"houses number {n}" for n in range(7)))
    language(conn, "simple")
    call(conn, "rebuild_documents", limit=3)
    assert rebuild(conn, limit=5) == [(2, 2), (2, None)]


@pytest.mark.parametrize("config", ["klingon", "", "3748", "-", "pg_catalog.", "english; select 1"])
def test_a_configuration_that_is_not_there_is_refused_with_those_that_are(
    conn: Connection, config: str
) -> None:
    with pytest.raises(FilterError) as caught:
        language(conn, config)
    assert "english, " in (caught.value.hint or "")


def test_a_configuration_of_ones_own_is_named_with_its_schema(conn: Connection) -> None:
    conn.execute("create schema mine")
    conn.execute("create text search configuration mine.plain (copy = simple)")
    assert language(conn, "mine.plain") == "mine.plain"
    assert language(conn, "English") == "english"
    assert language(conn, "pg_catalog.german") == "german"
    with pytest.raises(FilterError):
        language(conn, "plain")


def test_setting_the_language_it_has_writes_nothing(conn: Connection) -> None:
    assert call(conn, "set_language")[0]["set_language"] == "english"
    assert count(conn, "setting") == 0
    language(conn, "german")
    row = "select xmin::text, ctid::text from memlayer.setting"
    before = conn.execute(row).fetchall()
    language(conn, "german")
    assert conn.execute(row).fetchall() == before


def test_a_row_that_is_being_written_is_waited_for_and_no_other(database: str) -> None:
    with psycopg.connect(database) as writer, psycopg.connect(database, autocommit=True) as conn:
        first, second = sorted(add(conn, "houses", "trees"))
        language(conn, "simple")
        writer.execute("update memlayer.memory set metadata = '{}' where id = %s", [second])
        [row] = call(conn, "rebuild_documents", limit=1)
        assert (str(row["last_id"]), row["rebuilt"]) == (first, 1)
        conn.execute("set lock_timeout = '50ms'")
        with pytest.raises(Exception, match="lock timeout"):
            call(conn, "rebuild_documents", after=row["last_id"], limit=1)
        writer.commit()
        assert rebuild(conn) == [(1, 0)]
