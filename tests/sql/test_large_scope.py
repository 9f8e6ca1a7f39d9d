"""Scopes too large to be read in full: the vector index, stored statistics, and plans."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from memlayer_pg import errors
from tests.conftest import create, drop, named
from tests.sql.calls import Connection, add, call, one, rows_read, scanned

WORDS = [f"word{n}" for n in range(300)]


def vector(rng: random.Random) -> list[float]:
    return [rng.gauss(0, 1) for _ in range(16)]


def fill(conn: Connection, user_id: str, size: int, rng: random.Random, **args: Any) -> None:
    for start in range(0, size, 500):
        numbers = range(start, min(size, start + 500))
        facts = [
            {
                "text": f"{user_id} {n} " + " ".join(rng.choices(WORDS, k=8)),
                "metadata": {"n": n, "rare": n % 400 == 0},
                "entities": [n - start + 2] + ([1] if n == 7 else []),
            }
            for n in numbers
        ]
        add(
            conn,
            facts=facts,
            embeddings=[vector(rng) for _ in numbers],
            model="toy",
            user_id=user_id,
            entities=[{"name": "Zeppelin"}, *({"name": f"Thing {n}"} for n in numbers)],
            **args,
        )


@pytest.fixture(scope="module")
def filled(server: str, template: str) -> Iterator[Connection]:
    """A user of 1,500 memories above a threshold of 1,000, one of 30, and a larger tenant."""
    rng = random.Random(1)
    dsn = create(server, named(template))
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("""insert into memlayer.setting (tenant, defaults)
                        values ('default', '{"exact_threshold": 1000}')""")
        fill(conn, "big", 1500, rng)
        fill(conn, "small", 30, rng)
        for user in ("big", "one", "two"):
            fill(conn, user, 2500, rng, tenant="other")
        call(conn, "create_ann_index")
        conn.execute("vacuum analyze memlayer.memory, memlayer.entity, memlayer.mention")
        yield conn
    drop(server, dsn)


@pytest.fixture
def large(filled: Connection) -> Iterator[Connection]:
    """The store above; what a test changes is rolled back."""
    with filled.transaction(force_rollback=True):
        yield filled


def explain(conn: Connection, **args: Any) -> dict[str, Any]:
    given = {"embedding": vector(random.Random(2)), "model": "toy", **args}
    [told] = call(conn, "explain_search", **given)
    return told


def scans(plan: Any) -> list[dict[str, Any]]:
    """Every node of a plan that reads a table."""
    if isinstance(plan, list):
        return [node for part in plan for node in scans(part)]
    if isinstance(plan, dict):
        below = [node for part in plan.values() for node in scans(part)]
        return [plan, *below] if "Node Type" in plan and "Scan" in plan["Node Type"] else below
    return []


def test_a_large_scope_is_searched_by_its_indexes_and_a_small_one_in_full(
    large: Connection,
) -> None:
    big = explain(large, query="word1 word2 zeppelin", user_id="big")
    assert big["path"] == "large"
    assert big["legs"]["nearest"] == 160
    assert big["legs"]["wordiest"] > 0
    assert big["legs"]["named"] == 1
    assert explain(large, query="word1", user_id="small")["path"] == "exact"
    assert explain(large, query="word1", user_id="big", tenant="other")["path"] == "exact"


def test_a_word_nobody_has_does_not_take_the_place_of_one_that_many_have(
    large: Connection,
) -> None:
    assert explain(large, query="big", user_id="big")["legs"]["wordiest"] == 80
    assert explain(large, query="unheard big", user_id="big")["legs"]["wordiest"] == 80


def test_the_answers_of_both_paths_agree(large: Connection) -> None:
    rng = random.Random(3)
    shared = 0
    for n in range(10):
        query = " ".join(rng.choices(WORDS, k=2)) + f" {n}"
        args = {"query": query, "embedding": vector(rng), "model": "toy", "user_id": "big"}
        by_index = call(large, "search", **args, threshold=0)
        large.execute("update memlayer.setting set defaults = '{\"exact_threshold\": 100000}'")
        exact = call(large, "search", **args, threshold=0)
        large.execute("update memlayer.setting set defaults = '{\"exact_threshold\": 1000}'")
        same = {row["id"] for row in by_index} & {row["id"] for row in exact}
        assert len(same) >= 15  # an index is built by chance, and may miss a few
        shared += len(same)
        scores = {row["id"]: row["score"] for row in exact}
        for row in by_index:
            if row["id"] in scores:
                assert row["score"] == pytest.approx(scores[row["id"]], abs=1e-6)
    assert shared >= 185  # of 200


def test_a_filter_never_makes_the_result_shorter_than_what_there_is(large: Connection) -> None:
    for filters, there in (({"rare": True}, 4), ({"n": {"lt": 50}}, 50), ({"n": -1}, 0)):
        rows = call(
            large,
            "search",
            query="?",
            embedding=vector(random.Random(4)),
            model="toy",
            user_id="big",
            filters=filters,
            top_k=100,
            threshold=0,
        )
        positive = [row for row in rows if row["score_details"]["cosine_similarity"] >= 0]
        assert len(positive) == there


@pytest.mark.parametrize("filters", [None, {"rare": True}])
def test_a_small_scope_is_found_whole_beside_a_large_one(  # B034
    large: Connection, filters: dict[str, Any] | None
) -> None:
    [near] = large.execute(
        "select embedding::real[] from memlayer.memory where user_id = 'big' limit 1"
    ).fetchall()
    ask = {"query": "?", "embedding": near[0], "model": "toy", "user_id": "small"}
    found = call(large, "search", **ask, filters=filters, top_k=100, threshold=-1)
    assert len(found) == (1 if filters else 30)
    assert all(row["text"].startswith("small") for row in found)


def test_recall_is_measured_on_live_data(large: Connection) -> None:
    [told] = call(large, "recall_check", user_id="big")
    assert (told["samples"], told["recall"] >= 0.95) == (20, True)
    with pytest.raises(errors.EmbeddingMismatch, match="no vector index"), large.transaction():
        call(large, "recall_check", user_id="big", tenant="other")


def test_a_tenant_may_have_the_vector_index_searched_further(large: Connection) -> None:
    rng = random.Random(11)
    asked = [vector(rng) for _ in range(40)]
    nearest = """select (memlayer.nearest(
        'm.tenant = $1 and m.user_id = $2', 'default', 'big', null, null, memlayer.today(),
        %s::halfvec, id, 1))[:2] from memlayer.model where tenant = 'default'"""
    exact = nearest.replace("nearest(", "nearest_exact(").replace(", 1))", ", 2))")
    found = {}
    for candidates in (1, 1000):
        large.execute(
            "insert into memlayer.setting (tenant, defaults) values ('default', %s) on conflict "
            "(tenant) do update set defaults = setting.defaults || excluded.defaults",
            [Jsonb({"ef_search": candidates})],
        )
        found[candidates] = sum(
            set(one(large, nearest, v)) == set(one(large, exact, v)) for v in asked
        )
    assert found[1] < found[1000] == len(asked)
    with pytest.raises(psycopg.errors.CheckViolation), large.transaction():
        large.execute("""update memlayer.setting set defaults = '{"ef_search": 0}'""")


def test_equal_searches_give_equal_answers_until_statistics_are_refreshed(
    large: Connection,
) -> None:
    def score() -> float:
        rows = call(
            large,
            "search",
            query="zzz word1",
            embedding=vector(random.Random(5)),
            model="toy",
            user_id="big",
            top_k=100,
        )
        return float(sum(row["score_details"]["bm25_score"] for row in rows))

    before = score()
    add(large, "zzz", user_id="big", embeddings=[[1.0] * 16])
    rows = {row["scope_id"]: row for row in call(large, "refresh_statistics")}
    assert rows["big"]["memories"] == 1501
    assert rows["big"]["terms"] > 300
    assert before != score()
    assert score() == score()


def test_no_path_reads_another_tenants_rows_or_a_table_from_end_to_end(large: Connection) -> None:
    for user, path in (("big", "large"), ("small", "exact")):
        told = explain(large, query="word1 word2 zeppelin", user_id=user)
        assert told["path"] == path
        for scan in scans(told["plan"]):
            if scan.get("Relation Name") in ("memory", "entity", "mention", "link"):
                assert scan["Node Type"] != "Seq Scan", json.dumps(scan)
                assert "other" not in json.dumps(scan)


@pytest.mark.parametrize("lead", ["user_id", "run_id"])
def test_nothing_that_names_its_scope_reads_the_rest_of_a_table(
    large: Connection, lead: str
) -> None:  # B138
    who = {lead: "small"}
    [mine] = add(large, "mine", **{"user_id": None, **who})
    say = [{"role": "user", "content": "hello"}]
    ask = {"embedding": vector(random.Random(9)), "model": "toy"}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("get_all", {**who, "with_total": True}),
        ("get_all", {**who, "filters": {"n": 7}}),
        ("keyword_search", {**who, "query": "word1"}),
        ("recall_context", {**who, **ask}),
        ("messages", who),
        ("add", {**who, "facts": [{"text": "mine"}, {"text": "new"}], "messages": say}),
        ("get", {"id": mine}),
        ("history", {"id": mine}),
        ("similar_to", {"memory_id": mine}),
        ("update", {"id": mine, "text": "changed"}),
        ("delete", {"id": mine}),
        ("delete_all", who),
    ]
    tables = ("memory", "entity", "mention", "link", "history", "message")
    for function, arguments in calls:
        before = {table: rows_read(large, table) for table in tables}
        call(large, function, **arguments)
        for table in tables:
            assert rows_read(large, table) - before[table] < 500, (function, table)


def test_the_exact_path_reads_the_scope_index_and_the_large_one_the_word_index(
    large: Connection,
) -> None:
    small = explain(large, query="word1", user_id="small")
    names = {scan.get("Index Name") for scan in scans(small["plan"])}
    assert "memory_user_idx" in names
    assert not any("ann" in (name or "") for name in names)
    big = explain(large, query="word1 zeppelin", user_id="big")
    names = {scan.get("Index Name") for scan in scans(big["plan"])}
    assert "memory_document_idx" in names


def test_the_vector_index_serves_the_nearest_of_a_large_scope(large: Connection) -> None:
    model = one(large, "select id from memlayer.model where tenant = 'default'")
    ann = f"memory_ann_{model}"
    ask = {"query": "?", "embedding": vector(random.Random(6)), "model": "toy"}
    before = scanned(large, ann)
    call(large, "search", **ask, user_id="small")
    assert scanned(large, ann) == before
    call(large, "search", **ask, user_id="big")
    assert scanned(large, ann) == before + 1


def test_the_kept_plan_reads_the_scope_index_and_no_table_from_end_to_end(
    large: Connection,
) -> None:
    ask = {"query": "word1 zeppelin thing 9", "embedding": vector(random.Random(8)), "model": "toy"}
    tables = ("memory", "entity", "mention", "link")
    for lead, index in (("user_id", "memory_user_idx"), ("run_id", "memory_run_idx")):
        for _ in range(3):
            before = scanned(large, index)
            in_full = [scanned(large, table) for table in tables]
            call(large, "search", **ask, **{lead: "small"})
            assert scanned(large, index) > before
            assert [scanned(large, table) for table in tables] == in_full


@pytest.mark.parametrize("user", ["big", "small"])
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"filters": {"n": {"gt": 10}}},
        {"filters": {"n": 77}},
        {"fusion": "additive"},
        {"recency_half_life": 3.0, "show_expired": True},
        {"as_of": "2026-01-01T00:00Z"},
    ],
    ids=["plain", "filter", "selective filter", "additive", "recency", "as of"],
)
@pytest.mark.parametrize("named", [True, False], ids=["names", "no names"])
def test_no_search_of_any_kind_reads_a_table_from_end_to_end(
    large: Connection, user: str, given: dict[str, Any], named: bool
) -> None:
    rng = random.Random(12)
    ask = {"query": "word1 zeppelin", "embedding": vector(rng), "model": "toy", "user_id": user}
    if named:
        ask |= {"entities": ["Nobody", "Somebody"], "entity_embeddings": [vector(rng), vector(rng)]}
    tables = ("memory", "entity", "mention", "link", "history", "former_link")
    before = [scanned(large, table) for table in tables]
    call(large, "search", **ask, **given)
    assert [scanned(large, table) for table in tables] == before
    told = explain(large, **ask, **given)
    whole = [
        scan["Relation Name"] for scan in scans(told["plan"]) if scan["Node Type"] == "Seq Scan"
    ]
    assert not set(whole) & set(tables)


def test_a_plan_counts_what_each_leg_found(large: Connection) -> None:
    ask = {"query": "word1 zeppelin", "embedding": vector(random.Random(13)), "model": "toy"}
    legs = explain(large, **ask, user_id="small", top_k=5)["legs"]
    terms = "'word1' | 'zeppelin'"
    has_words = one(
        large,
        "select count(*) from memlayer.memory"
        " where tenant = 'default' and user_id = 'small' and document @@ %s::tsquery",
        terms,
    )
    assert legs == {"nearest": 30, "wordiest": has_words, "named": 1, "found": 30}


def test_a_selective_filter_reads_what_it_leaves_by_the_metadata_index(large: Connection) -> None:
    model = one(large, "select id from memlayer.model where tenant = 'default'")
    indexes = (f"memory_ann_{model}", "memory_metadata_idx")
    before = [scanned(large, index) for index in indexes]
    rows = call(
        large,
        "search",
        query="?",
        embedding=vector(random.Random(7)),
        model="toy",
        user_id="big",
        filters={"n": 77},
        threshold=0,
    )
    assert len(rows) <= 1
    after = [scanned(large, index) for index in indexes]
    assert after[0] == before[0]
    assert after[1] > before[1]


def test_words_alone_find_in_a_large_scope_by_the_word_index(large: Connection) -> None:
    before = scanned(large, "memory_document_idx")
    rows = call(large, "keyword_search", query="zeppelin word1 77", user_id="big")
    assert {"big 7", "big 77"} & {" ".join(row["text"].split()[:2]) for row in rows}
    assert scanned(large, "memory_document_idx") > before


def test_an_index_needs_a_model_to_be_of(conn: Connection) -> None:
    with pytest.raises(errors.EmbeddingMismatch, match="no embedding model"), conn.transaction():
        call(conn, "create_ann_index", tenant="nobody")


def test_an_index_left_unfinished_is_made_anew(large: Connection) -> None:
    model = one(large, "select id from memlayer.model where tenant = 'default'")
    name = f"memory_ann_{model}"
    large.execute(
        "update pg_index set indisvalid = false where indexrelid = %s::regclass",
        [f"memlayer.{name}"],
    )
    assert explain(large, query="word1", user_id="big")["path"] == "exact"
    assert [row["create_ann_index"] for row in call(large, "create_ann_index")] == [
        f"memlayer.{name}"
    ]
    assert explain(large, query="word1", user_id="big")["path"] == "large"


def test_of_two_refreshes_at_once_both_end_well(filled: Connection) -> None:
    with psycopg.connect(filled.info.dsn) as first, psycopg.connect(filled.info.dsn) as second:
        call(first, "refresh_statistics")
        waiting = threading.Thread(target=call, args=(second, "refresh_statistics"))
        waiting.start()
        first.commit()
        waiting.join()
        second.commit()
    assert one(filled, "select count(*) from memlayer.scope_statistic") == 1


def test_a_reset_forgets_the_statistics(large: Connection) -> None:
    call(large, "reset")
    assert one(large, "select count(*) from memlayer.scope_statistic") == 0
    assert one(large, "select count(*) from memlayer.term_statistic") == 0


def test_a_share_of_a_larger_index_is_read_in_full_for_longer(large: Connection) -> None:
    def threshold(tenant: str, *indexed: float) -> int:
        return int(
            one(large, "select memlayer.exact_threshold(%s, %s)", tenant, *(indexed or (None,)))
        )

    assert [threshold("other", n) for n in (1_000, 40_000, 1_000_000)] == [
        20_000,
        20_000,
        100_000,
    ]
    assert threshold("other") == 20_000
    large.execute(
        "insert into memlayer.setting (tenant, defaults) "
        """values ('other', '{"exact_threshold": 7}')"""
    )
    assert threshold("other", 1_000_000) == 7


def test_a_kept_plan_takes_every_scope_for_small_whoever_has_most_of_the_rows(
    conn: Connection,
) -> None:
    """Else it would read a whole tenant for somebody with ten memories."""
    conn.execute(
        "insert into memlayer.memory (user_id, text) "
        "select 'whale', 'word ' || n from generate_series(1, 3000) n"
    )
    for table in ("memory", "entity", "session"):
        conn.execute(f"analyze memlayer.{table}".encode())
    for table in ("memory", "entity", "session"):
        for column in ("user_id", "agent_id", "run_id"):
            query = f"select from memlayer.{table} where tenant = $1 and {column} = $2"
            plan = one(conn, f"explain (generic_plan, format json) {query}")
            assert plan[0]["Plan"]["Plan Rows"] <= 100, (table, column)
