"""What holds after any sequence of operations, whoever makes them: functions or plain SQL."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.sql.calls import Connection, call, count

NAMES = st.sampled_from(["ann", "bob", "%", "_", "a'b", "é", "a\\b", "null"])
SCOPES = st.fixed_dictionaries(
    {},
    optional={"user_id": NAMES, "agent_id": NAMES, "run_id": NAMES},
).filter(bool)
TEXTS = st.sampled_from(["tea", "coffee", "Ann likes tea", "喝茶", "it's", "100%"])
EACH = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def vector(rng: random.Random) -> list[float]:
    return [rng.uniform(-1, 1) for _ in range(4)]


def operate(conn: Connection, rng: random.Random, scopes: list[dict[str, Any]]) -> None:
    """One operation of any kind, on any memory."""
    scope = rng.choice(scopes)
    text = rng.choice(["tea", "coffee", "milk", "喝茶", f"fact {rng.randrange(50)}"])
    rows = conn.execute("select id from memlayer.memory order by id").fetchall()
    memory = rng.choice(rows)[0] if rows else None
    entities = [{"name": rng.choice(["Ann", "Bob", "Rome", "茶"])} for _ in range(rng.randrange(3))]
    places = list(range(1, len(entities) + 1))
    match rng.randrange(16):
        case 0 | 1 | 2 | 3:
            fact = {
                "text": text,
                "entities": places,
                **({"role": "user"} if rng.random() < 0.3 else {}),
            }
            call(
                conn,
                "add",
                **scope,
                facts=[fact, {"text": f"{text}!"}],
                embeddings=[vector(rng), vector(rng)],
                model="toy",
                entities=entities,
                entity_embeddings=[vector(rng) for _ in entities],
                messages=[{"role": "user", "content": text}] * rng.randrange(13),
                expires_on=rng.choice([None, "2020-01-01", "2999-01-01"]),
            )
        case 4 | 5 if memory:
            call(
                conn,
                "update",
                id=memory,
                text=text,
                embedding=vector(rng),
                model="toy",
                entities=entities,
            )
        case 6 if memory:
            call(conn, "update", id=memory, metadata={"n": rng.randrange(3)}, clear_expiration=True)
        case 7 if memory:
            call(conn, "delete", id=memory)
        case 8 if memory:
            new = vector(rng)
            conn.execute(
                "update memlayer.memory set role = 'user', text = %s, embedding = %s::text::halfvec"
                " where id = %s",
                [text, str(new), memory],
            )
        case 9 if memory:
            conn.execute(
                'update memlayer.memory set metadata = \'{"by": "hand"}\' where id = %s', [memory]
            )
        case 10 if memory:
            conn.execute("delete from memlayer.memory where id = %s", [memory])
        case 11 if memory:
            conn.execute(
                "update memlayer.memory set expires_on = '2999-01-01' where id = %s", [memory]
            )
        case 12 if rng.random() < 0.1:
            call(conn, "delete_all", **scope)
        case 13:
            once = conn.execute(
                "select memory_id, version from memlayer.history where new_state is not null"
                " order by seq"
            ).fetchall()
            if once:
                past, version = rng.choice(once)
                call(conn, "restore", id=past, version=version)
        case 14:
            changes = conn.execute(
                "select id from memlayer.change order by recorded_at, id"
            ).fetchall()
            if changes:
                call(conn, "undo", change_id=rng.choice(changes)[0], force=rng.random() < 0.3)
        case _:
            call(conn, "search", query=text, embedding=vector(rng), model="toy", **scope)


@pytest.mark.parametrize("seed", range(8))
def test_the_store_never_contradicts_itself(conn: Connection, seed: int) -> None:
    rng = random.Random(seed)
    scopes: list[dict[str, Any]] = [
        {"user_id": "ann"},
        {"user_id": "ann", "agent_id": "a"},
        {"agent_id": "a"},
        {"run_id": "r", "user_id": "bob"},
    ]
    for _ in range(1250):
        operate(conn, rng, scopes)
    assert count(conn, "history") > 500
    assert call(conn, "verify") == []


def standing(conn: Connection) -> dict[Any, Any]:
    """What stands, by id and version, but for what counts and derives."""
    rows = conn.execute(
        "select m.id, m.version, to_jsonb(m) - '{version,updated_at,dedup_key}'::text[],"
        "       array(select e.name from memlayer.mention n"
        "               join memlayer.entity e on e.tenant = n.tenant and e.id = n.entity_id"
        "              where n.tenant = m.tenant and n.memory_id = m.id order by 1)"
        "  from memlayer.memory m"
    )
    return {(id_, version): rest for id_, version, *rest in rows}


def test_any_version_can_be_restored_as_it_stood(conn: Connection) -> None:
    rng = random.Random(1)
    stood: dict[Any, Any] = {}
    for _ in range(400):
        operate(conn, rng, [{"user_id": "ann"}, {"agent_id": "a"}])
        stood |= standing(conn)
    for (memory, version), what in rng.sample(sorted(stood.items(), key=str), 150):
        [restored] = call(conn, "restore", id=memory, version=version)
        assert standing(conn)[memory, restored["version"]] == what
    assert call(conn, "verify") == []


def test_a_call_that_is_undone_at_once_leaves_what_stood(conn: Connection) -> None:
    rng = random.Random(2)
    undone = 0
    for _ in range(300):
        before = {id_: what for (id_, _), what in standing(conn).items()}
        known = conn.execute("select id from memlayer.change").fetchall()
        operate(conn, rng, [{"user_id": "ann"}, {"agent_id": "a"}])
        new = [
            row
            for row in conn.execute("select id from memlayer.change").fetchall()
            if row not in known
        ]
        if new and rng.random() < 0.5:
            call(conn, "undo", change_id=new[0][0])
            assert {id_: what for (id_, _), what in standing(conn).items()} == before
            undone += 1
    assert undone > 20
    assert call(conn, "verify") == []


@EACH
@given(batches=st.lists(st.tuples(SCOPES, st.integers(0, 14)), max_size=12))
def test_the_buffer_is_always_the_newest_ten_of_each_exact_scope(
    conn: Connection, batches: list[tuple[dict[str, str], int]]
) -> None:
    expected: dict[tuple[tuple[str, str], ...], list[str]] = {}
    with conn.transaction(force_rollback=True):
        for number, (scope, size) in enumerate(batches):
            said = [f"{number}.{n}" for n in range(size)]
            call(conn, "add", **scope, messages=[{"role": "user", "content": s} for s in said])
            key = tuple(sorted(scope.items()))
            expected[key] = (expected.get(key, []) + said)[-10:]
        for key, contents in expected.items():
            assert [m["content"] for m in call(conn, "messages", **dict(key))] == contents


FILTERS = st.recursive(
    st.sampled_from(
        [
            {"user_id": "bob"},
            {"user_id": {"ne": "ann"}},
            {"agent_id": "*"},
            {"k": "*"},
            {"k": {"nin": []}},
            {"id": {"ne": "x"}},
            {"metadata.user_id": "bob"},
            {"k": {"contains": "%"}},
            {"k' or true --": "x"},
        ]
    ),
    lambda inner: st.one_of(
        st.builds(lambda a: {"OR": a}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda a: {"AND": a}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda a: {"NOT": a}, st.lists(inner, min_size=1, max_size=3)),
    ),
    max_leaves=6,
)


@EACH
@given(
    stored=st.lists(st.tuples(SCOPES, TEXTS), min_size=1, max_size=12),
    asked=SCOPES,
    filters=st.one_of(st.none(), FILTERS),
)
def test_no_search_list_or_deletion_leaves_its_scope(
    conn: Connection,
    stored: list[tuple[dict[str, str], str]],
    asked: dict[str, str],
    filters: dict[str, Any] | None,
) -> None:
    with conn.transaction(force_rollback=True):
        for number, (scope, text) in enumerate(stored):
            given = {"facts": [{"text": text}], "metadata": {"k": number, "user_id": "bob"}}
            call(conn, "add", **scope, **given, embeddings=[[1.0, 0.0]], model="toy")
        inside = {
            row[0]
            for row in conn.execute("select id, user_id, agent_id, run_id from memlayer.memory")
            if all(
                dict(zip(("user_id", "agent_id", "run_id"), row[1:], strict=True))[key] == value
                for key, value in asked.items()
            )
        }
        everything = {row[0] for row in conn.execute("select id from memlayer.memory")}
        for function in ("search", "keyword_search", "get_all"):
            args: dict[str, Any] = {**asked, "filters": filters, "top_k": 100}
            if function != "get_all":
                args["query"] = "tea coffee 喝茶 it's 100%"
            if function == "search":
                args |= {"embedding": [1.0, 0.0], "model": "toy"}
            hits = {row["id"] for row in call(conn, function, **args)}
            assert hits <= inside
            if filters is None and function != "keyword_search":
                assert hits == inside
        call(conn, "delete_all", **asked, filters=filters)
        left = {row[0] for row in conn.execute("select id from memlayer.memory")}
        assert everything - inside <= left
