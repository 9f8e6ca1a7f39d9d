"""A store that mem0 itself wrote is moved. MEM0_PYTHON names an interpreter that has mem0ai."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.conftest import create, drop
from tests.endpoint import Endpoint
from tests.mem0_store import Mem0Store

ROOT = Path(__file__).parent.parent.parent
FACTS = [
    "User met Eve in Porto",
    "User likes Lisbon",
    "User works with Eve",
    "User plays jazz",
    "User sold the boat to Tom",
    "User saw Tom in Madrid",
]
COLUMNS = """
select a.attname, format_type(a.atttypid, a.atttypmod), i.indisprimary is not null
  from pg_attribute a
  left join pg_index i on i.indrelid = a.attrelid and i.indisprimary and a.attnum = any (i.indkey)
 where a.attrelid = %s::regclass and a.attnum > 0
 order by a.attnum
"""


@pytest.fixture
def written(server: str, tmp_path: Path, endpoint: Endpoint) -> Any:
    """The dsn of a database with a store of mem0, its SQLite file, and what mem0 said of it."""
    if "MEM0_PYTHON" not in os.environ:
        pytest.skip("MEM0_PYTHON names no interpreter that has mem0ai")
    dsn = create(server)
    endpoint.chat = lambda request: (
        json.dumps({"memory": [{"text": text, "attributed_to": "user"} for text in FACTS]})
        if "response_format" in request
        else "the steps"
    )
    foreign = ("OPENAI_", "OPENROUTER_", "PG", "PYTHONPATH")
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(foreign)
    }
    environment |= {"MEM0_DIR": str(tmp_path), "MEM0_TELEMETRY": "False", "OPENAI_API_KEY": "none"}
    done = subprocess.run(
        [
            os.environ["MEM0_PYTHON"],
            "-m",
            "tests.mem0_writer",
            dsn,
            str(tmp_path),
            endpoint.base_url,
        ],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    yield dsn, tmp_path / "history.db", json.loads(done.stdout)
    drop(server, dsn)


def test_a_store_that_mem0_wrote_answers_as_before(
    written: Any, make: Any, tenant: str, sql: Any
) -> None:
    dsn, file, said = written
    memory = make()
    report = memory.import_mem0(dsn, collection="shop", history_db=file)
    assert report["vectors"]["kept"], report["vectors"]
    assert (report["added"], report["left_out"], report["pending"]) == (8, 0, 0)
    found = {item["defect"]: item["count"] for item in report["defects"]}
    assert found == {
        "expiration_date is no date": 1,
        "fact stands twice": 1,
        "history of a deleted memory": 1,
        "link to a memory that is not there": 2,
    }
    checked = report["verification"]
    assert (checked["compared"], checked["same"]) == (8, 8)
    assert checked["search"]["agreement"] == 1.0
    for theirs in said["memories"]:
        ours = memory.get(theirs["id"])
        if theirs.get("expiration_date") == "soon":
            del theirs["expiration_date"]
            theirs["metadata"] = {**(theirs["metadata"] or {}), "expiration_date": "soon"}
        for key, value in theirs.items():
            if key == "metadata":
                kept = dict(value or {})
                kept.pop("memory_type", None)
                mine = dict(ours["metadata"] or {})
                mine.pop("memory_type", None)
                assert mine == kept
            else:
                assert ours[key] == value, key
    for id_, theirs in said["histories"].items():
        ours = memory.history(id_)
        keys = ("event", "old_memory", "new_memory", "created_at", "is_deleted")
        assert [[e[key] for key in keys] for e in ours] == [
            [e[key] for key in keys] for e in theirs
        ]
        for mine, known in zip(ours, theirs, strict=True):
            assert known["updated_at"] in (None, mine["updated_at"])
    assert [message["content"] for message in memory.messages(user_id="ann")] == [
        f"line {number}" for number in range(10)
    ]
    names = "select distinct name from memlayer.entity where tenant = %(tenant)s order by 1"
    assert sql(names) == [("Eve",), ("Lisbon",), ("Porto",), ("Tom",)]
    assert sql("select * from memlayer.verify(%(tenant)s)") == []
    assert memory.import_mem0(dsn, collection="shop", history_db=file)["added"] == 0


def test_what_get_all_of_mem0_gave_is_moved_as_a_dump(written: Any, make: Any, sql: Any) -> None:
    _, _, said = written
    memory = make()
    report = memory.import_mem0(dump=said["memories"], embed=True)
    assert (report["added"], report["pending"], report["left_out"]) == (8, 0, 0)
    assert sql("select * from memlayer.verify(%(tenant)s)") == []


def test_the_tables_our_tests_fill_are_those_of_mem0(
    written: Any, server: str, tmp_path: Path
) -> None:
    dsn, file, _ = written
    other = create(server)
    ours = Mem0Store(other, tmp_path / "ours.db", 64, "shop")
    for table in ("shop", "shop_entities"):
        shapes = []
        for place in (dsn, other):
            with psycopg.connect(place) as conn:
                shapes.append(conn.execute(COLUMNS, [table]).fetchall())
        assert shapes[0] == shapes[1]
    for table in ("history", "messages"):
        lite = []
        for path in (file, ours.file):
            with closing(sqlite3.connect(path)) as conn:
                rows = conn.execute(f"pragma table_info({table})").fetchall()
                lite.append([(row[1], row[2].lower(), row[5]) for row in rows])
        assert lite[0] == lite[1]
    drop(server, other)


def test_vectors_of_another_model_are_not_taken(
    written: Any, make: Any, sql: Any, endpoint: Endpoint
) -> None:
    dsn, _, _ = written
    endpoint.embeddings = lambda request: {
        "object": "list", "model": "other", "usage": {"prompt_tokens": 1, "total_tokens": 1},
        "data": [
            {"object": "embedding", "index": n, "embedding": [1.0, float(n)] + [0.0] * 62}
            for n, _ in enumerate(request["input"])
        ],
    }  # fmt: skip
    memory = make()
    report = memory.import_mem0(dsn, collection="shop")
    assert not report["vectors"]["kept"]
    assert "another model" in report["vectors"]["why"]
    assert (report["added"], report["pending"]) == (8, 8)
    assert sql("select count(*) from memlayer.model where tenant = %(tenant)s") == [(0,)]
