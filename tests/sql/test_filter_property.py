"""Random filters over random rows find what `filter_oracle` finds.

FILTER_TREES sets how many filters are tried: 500 by default, FILTER_TREES=5000 for a long run.
"""

from __future__ import annotations

import os
from random import Random

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from psycopg.sql import SQL

from tests.sql import filter_oracle
from tests.sql.filter_rows import Connection, evaluate, path, predicate, remember
from tests.sql.filter_samples import a_condition, a_filter, a_row, parts

TREES = settings(
    max_examples=int(os.environ.get("FILTER_TREES", "500")),
    deadline=None,
    # Nothing to shrink: the smallest part of a filter that is wrong is found anyway.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    # One connection serves all examples: none of them leaves anything behind.
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
RANDOMS = st.randoms(use_true_random=True)


@TREES
@given(random=RANDOMS, time_zone=st.sampled_from(["UTC", "Asia/Kolkata"]))
def test_a_filter_finds_what_the_oracle_finds(
    conn: Connection, random: Random, time_zone: str
) -> None:
    """Never null, too: an unknown would be neither True nor False here."""
    rows = [a_row(random) for _ in range(40)]
    asked = list(parts(a_filter(random)))
    with conn.transaction():
        conn.execute("select set_config('timezone', %s, true)", [time_zone])
        found = evaluate(conn, rows, [predicate(conn, one) for one in asked])
    for position, one in enumerate(asked):
        for row, hits in zip(rows, found, strict=True):
            assert hits[position] is filter_oracle.holds(one, row), (one, row)


@settings(TREES, max_examples=200)
@given(random=RANDOMS)
def test_the_jsonpath_of_a_simple_filter_finds_the_same(conn: Connection, random: Random) -> None:
    rows = [a_row(random) for _ in range(40)]
    with conn.transaction():
        simple = [
            (condition, predicate(conn, one))
            for one in parts(a_filter(random))
            if (condition := path(conn, one)) is not None
        ]
        if simple:
            paths, predicates = zip(*simple, strict=True)
            assert evaluate(conn, rows, paths) == evaluate(conn, rows, predicates)


@settings(TREES, max_examples=50)
@given(random=RANDOMS)
def test_an_index_scan_finds_what_a_table_scan_finds(conn: Connection, random: Random) -> None:
    with conn.transaction(force_rollback=True):
        remember(conn, [a_row(random)["metadata"] for _ in range(20)])
        query = SQL("select m.text from memlayer.memory m where {} order by m.text").format(
            predicate(conn, a_condition(random))
        )
        scanned = conn.execute(query).fetchall()
        conn.execute("set local enable_seqscan = off")
        assert conn.execute(query).fetchall() == scanned
