"""The store as it stood at an earlier moment."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from memlayer_pg import errors
from memlayer_pg.effects import Row
from tests.sql.calls import Connection, add, call, consistent, count, one

START = datetime(2026, 3, 3, 12, tzinfo=UTC)
EAST, NORTH = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]
RARELY_ALIKE = ("score", "score_details")
"""What is added up of many numbers, whose order is the plan's."""


def at(conn: Connection, moment: datetime) -> datetime:
    """Set the clock."""
    conn.execute("select set_config('memlayer.now', %s, true)", [moment.isoformat()])
    return moment


def hour(number: float) -> datetime:
    return START + timedelta(hours=number)


def texts(conn: Connection, moment: datetime | str | None, **scope: Any) -> list[str]:
    given = {"user_id": "ann", **scope}
    return [row["text"] for row in call(conn, "get_all", as_of=moment, **given)]


def test_a_memory_is_seen_as_it_was_worded_and_after_it_was_deleted(conn: Connection) -> None:
    at(conn, hour(0))
    [tea] = add(conn, "Ann likes tea", metadata={"k": 1}, embeddings=[EAST], model="toy")
    at(conn, hour(2))
    call(conn, "update", id=tea, text="Ann likes mate", embedding=NORTH, model="toy")
    at(conn, hour(4))
    call(conn, "update", id=tea, metadata={"k": 2}, expires_on="2027-01-01")
    at(conn, hour(6))
    call(conn, "delete", id=tea)
    at(conn, hour(8))
    add(conn, "Ann likes beer")

    def then(moment: float) -> list[tuple[Any, ...]]:
        return conn.execute(
            "select text, metadata, expires_on, embedding::text, version, updated_at, document"
            " from memlayer.as_of('default', %s, 'ann')",
            [hour(moment)],
        ).fetchall()

    first = ("Ann likes tea", {"k": 1}, None, "[1,0,0]", 1, hour(0), "'ann':1 'like':2 'tea':3")
    second = ("Ann likes mate", {"k": 1}, None, "[0,1,0]", 2, hour(2), "'ann':1 'like':2 'mate':3")
    third = (second[0], {"k": 2}, date(2027, 1, 1), second[3], 3, hour(4), second[6])
    assert then(-1) == []
    assert [then(n) for n in (0, 1, 2, 3, 4, 5.9)] == [[first]] * 2 + [[second]] * 2 + [[third]] * 2
    assert then(6) == then(7) == []
    assert texts(conn, hour(1)) == ["Ann likes tea"]
    assert texts(conn, hour(5)) == ["Ann likes mate"]
    assert texts(conn, hour(7)) == []

    [found] = call(conn, "search", query="tea", embedding=EAST, user_id="ann", as_of=hour(1))
    assert found["text"] == "Ann likes tea"
    assert found["score_details"]["cosine_similarity"] == pytest.approx(1)
    assert found["score_details"]["bm25_score"] > 0
    [found] = call(conn, "search", query="mate", user_id="ann", as_of=hour(3))
    assert found["version"] == 2
    assert call(conn, "search", query="mate", user_id="ann", as_of=hour(7)) == []


def test_a_change_counts_from_its_very_moment_on(conn: Connection) -> None:
    tick = timedelta(microseconds=1)
    at(conn, hour(0))
    [tea] = add(conn, "Ann likes tea")
    at(conn, hour(1))
    call(conn, "update", id=tea, text="Ann likes mate", metadata={"k": 1})
    at(conn, hour(2))
    call(conn, "delete", id=tea)
    at(conn, hour(3))
    call(conn, "restore", id=tea)
    at(conn, hour(4))
    for moment, known in (
        (hour(0) - tick, []),
        (hour(0), ["Ann likes tea"]),
        (hour(1) - tick, ["Ann likes tea"]),
        (hour(1), ["Ann likes mate"]),
        (hour(2) - tick, ["Ann likes mate"]),
        (hour(2), []),
        (hour(3) - tick, []),
        (hour(3), ["Ann likes mate"]),
    ):
        assert texts(conn, moment) == known
        assert [row["text"] for row in call(conn, "as_of", user_id="ann", at=moment)] == known
        found = call(conn, "search", user_id="ann", query="likes", as_of=moment)
        assert [row["text"] for row in found] == known
        checked = texts(conn, moment, filters={"k": 1})
        assert checked == [text for text in known if "mate" in text]
        assert texts(conn, moment, tenant="other") == []
        if known:
            conn.execute("savepoint before")
            [row] = call(conn, "restore", id=tea, as_of=moment)
            assert [row["text"]] == known
            conn.execute("rollback to before")
        else:
            with pytest.raises(errors.MemoryNotFound), conn.transaction():
                call(conn, "restore", id=tea, as_of=moment)


def test_the_future_and_no_moment_are_now(conn: Connection) -> None:
    [tea, _] = add(conn, "tea", "beer")
    call(conn, "update", id=tea, text="mate")
    for moment in (None, "infinity", "2999-01-01"):
        assert sorted(texts(conn, moment)) == ["beer", "mate"]
        rows = conn.execute("select text from memlayer.as_of('default', %s, 'ann')", [moment])
        assert sorted(row[0] for row in rows) == ["beer", "mate"]
        [found] = call(conn, "search", query="mate", user_id="ann", as_of=moment)
        assert found["text"] == "mate"
    assert texts(conn, "-infinity") == []


def test_expiry_is_judged_by_the_day_of_that_moment(conn: Connection) -> None:
    at(conn, hour(0))
    add(conn, "sale", expires_on="2026-03-04")
    at(conn, hour(24 * 30))
    assert texts(conn, None) == []
    for moment, seen in [(hour(1), True), (hour(35.9), True), (hour(36), False)]:
        assert (texts(conn, moment) == ["sale"]) is seen
        assert bool(call(conn, "search", query="sale", user_id="ann", as_of=moment)) is seen
        assert texts(conn, moment, show_expired=True) == ["sale"]


def test_a_filter_sees_the_metadata_of_then(conn: Connection) -> None:
    at(conn, hour(0))
    [tea] = add(conn, "tea", metadata={"topic": "drink"})
    at(conn, hour(2))
    call(conn, "update", id=tea, metadata={"topic": "food"})
    at(conn, hour(4))
    for filters, moment, seen in [
        ({"topic": "drink"}, hour(1), True),
        ({"topic": "drink"}, hour(3), False),
        ({"topic": {"icontains": "FOO"}}, hour(1), False),
        ({"topic": {"icontains": "FOO"}}, hour(3), True),
        ({"updated_at": {"lt": hour(1).isoformat()}}, hour(1), True),
        ({"updated_at": {"lt": hour(1).isoformat()}}, hour(3), False),
    ]:
        assert (texts(conn, moment, filters=filters) == ["tea"]) is seen
        given: dict[str, Any] = {"query": "tea", "user_id": "ann", "filters": filters}
        assert bool(call(conn, "search", **given, as_of=moment)) is seen


def test_pages_and_totals_are_of_that_moment(conn: Connection) -> None:
    for number in range(5):
        at(conn, hour(number))
        add(conn, f"fact {number}")
    at(conn, hour(10))
    call(conn, "delete_all", user_id="ann")
    given: dict[str, Any] = {"user_id": "ann", "as_of": hour(9), "with_total": True}
    first = call(conn, "get_all", top_k=3, **given)
    rest = call(conn, "get_all", after=first[-1]["cursor"], **given)
    assert [row["text"] for row in first + rest] == [f"fact {n}" for n in (4, 3, 2, 1, 0)]
    assert {row["total"] for row in first + rest} == {5}
    assert call(conn, "get_all", **given | {"as_of": hour(-1)})[0]["total"] == 0


def test_a_scope_is_not_left_by_looking_back(conn: Connection) -> None:
    at(conn, hour(0))
    [tea] = add(conn, "tea of ann")
    add(conn, "tea of bob", user_id="bob")
    add(conn, "tea of ann's agent", agent_id="a")
    add(conn, "tea elsewhere", tenant="t2")
    at(conn, hour(2))
    call(conn, "delete", id=tea)
    # An id may be used again, by somebody else: what it said before is not his.
    conn.execute(
        "insert into memlayer.memory (id, user_id, text) values (%s, 'bob', 'beer of bob')", [tea]
    )
    at(conn, hour(4))
    call(conn, "delete", id=tea)
    at(conn, hour(6))
    for moment, ann, bob in [(1, {"tea of ann"}, set()), (3, set(), {"beer of bob"})]:
        assert set(texts(conn, hour(moment))) == {"tea of ann's agent"} | ann
        assert set(texts(conn, hour(moment), user_id="bob")) == {"tea of bob"} | bob
    assert texts(conn, hour(1), agent_id="a") == ["tea of ann's agent"]
    assert texts(conn, hour(1), user_id=None, agent_id="a") == ["tea of ann's agent"]
    assert texts(conn, hour(1), run_id="r") == []
    assert texts(conn, hour(1), tenant="t2") == ["tea elsewhere"]


def test_a_memory_that_waited_for_its_vector_had_none(conn: Connection) -> None:
    at(conn, hour(0))
    [tea] = add(conn, "tea", embeddings=[EAST], model="toy")
    at(conn, hour(2))
    conn.execute("update memlayer.memory set text = 'mate' where id = %s", [tea])
    at(conn, hour(4))
    call(conn, "update", id=tea, text="mate", embedding=NORTH, model="toy")
    at(conn, hour(6))
    query = "select embedding::text from memlayer.as_of('default', %s, 'ann')"
    assert [one(conn, query, hour(n)) for n in (1, 3, 5)] == ["[1,0,0]", None, "[0,1,0]"]


def test_what_was_superseded_then_ranks_below_and_what_was_not_does_not(conn: Connection) -> None:
    at(conn, hour(0))
    [old] = add(conn, "Ann drinks coffee in the morning", embeddings=[EAST], model="toy")
    at(conn, hour(2))
    fact = {"text": "Ann drinks tea now", "links": [{"id": old, "kind": "updates"}]}
    [new] = [
        str(row["id"])
        for row in call(
            conn, "add", user_id="ann", facts=[fact], embeddings=[[0.8, 0.6, 0]], model="toy"
        )
    ]
    at(conn, hour(4))
    given: dict[str, Any] = {"query": "coffee", "embedding": EAST, "user_id": "ann"}
    for function, args in (("search", given), ("get_all", {"user_id": "ann"})):
        before = call(conn, function, **args, as_of=hour(1))
        assert [row["superseded_by"] for row in before] == [None]
        after = call(conn, function, **args, as_of=hour(3))
        assert [str(row["id"]) for row in after] == [new, old]
        assert [str(row["superseded_by"]) for row in after] == ["None", new]
    call(conn, "delete", id=new)
    at(conn, hour(6))
    [_, older] = call(conn, "search", **given, as_of=hour(3))
    assert str(older["superseded_by"]) == new
    assert [row["superseded_by"] for row in call(conn, "search", **given, as_of=hour(5))] == [None]
    call(conn, "reset")
    assert count(conn, "former_link") == 0


def test_history_that_was_taken_away_is_not_guessed(conn: Connection) -> None:
    at(conn, hour(0))
    [tea] = add(conn, "tea")
    at(conn, hour(2))
    call(conn, "update", id=tea, text="mate")
    at(conn, hour(3))
    call(conn, "update", id=tea, text="beer")
    at(conn, hour(4))
    add(conn, "elsewhere", user_id="bob")
    # What retention leaves of the first two versions.
    conn.execute("delete from memlayer.history where memory_id = %s and version = 1", [tea])
    conn.execute(
        "update memlayer.history set event = 'BASELINE', old_state = null"
        " where memory_id = %s and version = 2",
        [tea],
    )
    assert consistent(conn)
    at(conn, hour(6))
    assert texts(conn, hour(2)) == ["mate"]
    assert texts(conn, hour(3)) == ["beer"]
    for function, args in (("get_all", {}), ("search", {"query": "tea"})):
        with pytest.raises(errors.HistoryTooShort) as refused, conn.transaction():
            call(conn, function, user_id="ann", as_of=hour(1.9), **args)
        assert "2026-03-03 14:00:00 UTC" in str(refused.value.hint)
    assert texts(conn, hour(1.9), user_id="bob") == []


@pytest.mark.parametrize("function", ["search", "get_all", "explain_search"])
def test_a_moment_and_a_reference_date_exclude_each_other(conn: Connection, function: str) -> None:
    with pytest.raises(errors.FilterError, match="as_of and reference_date"), conn.transaction():
        call(conn, function, user_id="ann", as_of=hour(0), reference_date="2026-03-03")


def test_a_clock_that_was_set_back_hides_nothing_from_now(conn: Connection) -> None:
    at(conn, hour(10))
    [tea, _] = add(conn, "tea", "beer")
    at(conn, hour(2))
    call(conn, "update", id=tea, text="mate")
    at(conn, hour(11))
    assert sorted(texts(conn, hour(10.5))) == ["beer", "mate"]


def test_a_clock_that_is_set_back_between_writes_changes_no_order(conn: Connection) -> None:
    at(conn, hour(10))
    [tea] = add(conn, "tea")
    at(conn, hour(8))
    call(conn, "update", id=tea, text="mate")
    [beer] = add(conn, "beer")
    at(conn, hour(6))
    call(conn, "update", id=tea, text="juice")
    call(conn, "delete", id=beer)
    told = [row["new_memory"] for row in call(conn, "history", id=tea)]
    assert told == ["tea", "mate", "juice"]
    written = "select memory_id::text, version from memlayer.history order by seq"
    assert conn.execute(written).fetchall() == [
        (tea, 1), (tea, 2), (beer, 1), (tea, 3), (beer, 2),
    ]  # fmt: skip
    at(conn, hour(12))
    # What came last counts from its moment on, whatever the clock had said before.
    assert [texts(conn, hour(n)) for n in (5, 7, 9, 11)] == [[], ["juice"], ["juice"], ["juice"]]
    [back] = call(conn, "restore", id=tea, version=1)
    assert (back["text"], back["version"]) == ("tea", 4)
    [gone] = call(conn, "restore", id=beer)
    assert (gone["text"], gone["version"]) == ("beer", 3)
    assert {row["problem"] for row in call(conn, "verify")} == {"the memory waits for its vector"}


def test_names_count_the_memories_there_were(conn: Connection) -> None:
    def store(text: str) -> None:
        fact = {"text": text, "entities": [1]}
        call(conn, "add", user_id="ann", facts=[fact], entities=[{"name": "Rome"}])

    def boosts(moment: datetime | None) -> list[float]:
        rows = call(conn, "search", query="rome", user_id="ann", as_of=moment)
        return [row["score_details"]["entity_boost"] for row in rows]

    at(conn, hour(0))
    store("Rome was sunny")
    at(conn, hour(1))
    before = boosts(None)
    for number in range(30):
        store(f"Rome again {number}")
    at(conn, hour(4))
    assert boosts(hour(1) - timedelta(minutes=1)) == before == [0.125]
    assert max(boosts(hour(3))) < 0.1


def test_names_are_those_the_memory_had_then(conn: Connection) -> None:
    at(conn, hour(0))
    fact = {"text": "She moved to Rome", "entities": [1]}
    names = {"entities": [{"name": "Rome"}], "entity_embeddings": [EAST], "model": "toy"}
    [row] = call(conn, "add", user_id="ann", facts=[fact], embeddings=[NORTH], **names)
    at(conn, hour(2))
    call(conn, "update", id=row["id"], text="She moved to Oslo", embedding=NORTH, model="toy",
         entities=[{"name": "Oslo"}])  # fmt: skip
    at(conn, hour(4))
    call(conn, "delete", id=row["id"])
    assert count(conn, "entity") == 0
    at(conn, hour(6))
    for moment, query, named in [
        (1, "rome", True),
        (1, "oslo", False),
        (3, "rome", False),
        (3, "oslo", True),
    ]:
        [found] = call(
            conn, "search", query=f"{query}?", embedding=NORTH, user_id="ann", as_of=hour(moment)
        )
        assert (found["score_details"]["entity_boost"] > 0) is named


def test_the_plan_of_a_search_of_the_past_says_so(conn: Connection) -> None:
    at(conn, hour(0))
    add(conn, "tea", embeddings=[EAST], model="toy")
    at(conn, hour(4))
    given: dict[str, Any] = {"query": "tea", "embedding": EAST, "user_id": "ann"}
    [told] = call(conn, "explain_search", **given, as_of=hour(1))
    assert (told["path"], told["legs"]["found"]) == ("past", 1)
    [told] = call(conn, "explain_search", **given, as_of=hour(5))
    assert told["path"] == "exact"


# --- any history ----------------------------------------------------------------------------------

SCOPES: list[dict[str, str]] = [
    {"user_id": "ann"},
    {"user_id": "ann", "agent_id": "a"},
    {"agent_id": "a"},
    {"run_id": "r", "user_id": "bob"},
]
READS: list[tuple[str, dict[str, Any]]] = [
    ("get_all", {"user_id": "ann", "top_k": 300}),
    ("get_all", {"agent_id": "a", "show_expired": True, "with_total": True}),
    ("get_all", {"user_id": "bob", "filters": {"n": {"gte": 1}}}),
    ("search", {"user_id": "ann", "query": "tea with fact 3 of Ponte Studio",
                "embedding": [0.5, 0.1, 0.4]}),
    ("search", {"user_id": "ann", "query": "Ann 茶馆 milk", "show_expired": True, "threshold": 0}),
    ("search", {"agent_id": "a", "query": "喝茶 coffee in Rome", "embedding": [0.1, 0.9, 0.2],
                "fusion": "additive", "recency_half_life": 2.0, "top_k": 5}),
    ("search", {"run_id": "r", "query": '"tea with" -coffee', "filters": {"n": {"in": [0, 2]}}}),
]  # fmt: skip


def operate(conn: Connection, rng: random.Random) -> None:
    """One change of any kind, of any memory that stands or stood."""
    rows = conn.execute("select id, text from memlayer.memory order by id").fetchall()
    memory, old = rng.choice(rows) if rows else (None, None)
    text = f"{rng.choice(['tea', 'coffee', 'milk', '喝茶'])} with fact {rng.randrange(40)}"
    vector = [rng.uniform(0, 1) for _ in range(3)]
    names = [{"name": name} for name in rng.sample(["Ann", "Rome", "Ponte Studio", "茶馆"], 2)]
    match rng.randrange(17):
        case 0 | 1 | 2 | 3 | 4:
            fact: dict[str, Any] = {"text": text, "metadata": {"n": rng.randrange(3)}}
            fact["entities"] = rng.choice([[], [1], [1, 2]])
            if rng.random() < 0.3:
                fact |= {"role": "user", "context": rng.choice([None, "and milk?"])}
            if rows and rng.random() < 0.5:
                fact["links"] = [
                    {"id": str(memory), "kind": rng.choice(["updates", "contradicts", "related"])}
                ]
            day = rng.choice([None, "2026-03-04", "2026-03-06", "2999-01-01"])
            call(conn, "add", **rng.choice(SCOPES), facts=[fact, {"text": f"{text}!"}],
                 entities=names, embeddings=[vector, vector[::-1]], model="toy",
                 expires_on=day)  # fmt: skip
        case 5 | 6 if memory:
            call(conn, "update", id=memory, text=text, embedding=vector, model="toy",
                 entities=names)  # fmt: skip
        case 7 if memory:
            change = (
                {"clear_expiration": True} if rng.random() < 0.5 else {"expires_on": "2026-03-05"}
            )
            call(conn, "update", id=memory, metadata={"n": rng.randrange(3)}, **change)
        case 8 if memory:
            conn.execute("update memlayer.memory set text = %s where id = %s", [text, memory])
        case 9 if memory:
            call(conn, "update", id=memory, text=old, embedding=vector, model="toy")
        case 10 | 11 if memory:
            call(conn, "delete", id=memory)
        case 12:
            gone = conn.execute(
                "select memory_id, user_id, agent_id, run_id, old_state ->> 'text'"
                " from memlayer.history h where event = 'DELETE' and not exists"
                " (select from memlayer.memory m where m.id = h.memory_id) order by seq"
            ).fetchall()
            if gone:
                conn.execute(
                    "insert into memlayer.memory (id, user_id, agent_id, run_id, text)"
                    " values (%s, %s, %s, %s, %s) on conflict do nothing",
                    rng.choice(gone),
                )
        case 14:
            stood = conn.execute(
                "select memory_id, version from memlayer.history"
                " where event <> 'DELETE' order by seq"
            ).fetchall()
            if stood:
                chosen, version = rng.choice(stood)
                call(conn, "restore", id=chosen, version=version)
        case 15 | 16:
            calls = conn.execute(
                "select id from memlayer.change where operation <> 'undo'"
                " order by recorded_at desc, id"
            ).fetchmany(5)
            if calls:
                call(conn, "undo", change_id=rng.choice(calls)[0])
        case 13 if rng.random() < 0.15:
            call(conn, "delete_all", **rng.choice(SCOPES))


def read(conn: Connection, moment: datetime | None = None) -> list[list[Row]]:
    return [call(conn, function, **args, as_of=moment) for function, args in READS]


def assert_the_same(found: list[list[Row]], expected: list[list[Row]]) -> None:
    for (function, args), rows, wanted in zip(READS, found, expected, strict=True):
        assert [exact(row) for row in rows] == [exact(row) for row in wanted], (function, args)
        for row, want in zip(rows, wanted, strict=True):
            for key in RARELY_ALIKE:
                assert row.get(key) == pytest.approx(want.get(key)), (function, args)


def exact(row: Row) -> Row:
    return {key: value for key, value in row.items() if key not in RARELY_ALIKE}


@pytest.mark.parametrize("seed", range(4))
def test_any_moment_is_read_again_as_it_was(conn: Connection, seed: int) -> None:
    rng = random.Random(seed)
    moment = START
    seen: list[tuple[datetime, list[list[Row]]]] = []
    for number in range(200):
        at(conn, moment := moment + timedelta(minutes=rng.randrange(60)))
        operate(conn, rng)
        if number % 10 == 9:
            seen.append((moment, read(conn)))
            moment += timedelta(seconds=1)
    assert consistent(conn)
    at(conn, moment + timedelta(days=9))
    for then, expected in seen:
        assert_the_same(read(conn, then), expected)
    # A moment ago is now: what was expired then is expired.
    assert_the_same(read(conn, moment + timedelta(days=9) - timedelta(microseconds=1)), read(conn))
