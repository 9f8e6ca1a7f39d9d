"""The revisions there are, and ways to run them from outside this process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
from alembic.script import ScriptDirectory

from memlayer_pg import cluster, schema

SCRIPTS = list(ScriptDirectory.from_config(schema.config()).walk_revisions())[::-1]
REVISIONS = [script.revision for script in SCRIPTS]


def psql(dsn: str, *args: str, stdin: str | None = None) -> None:
    """Run the psql that belongs to a database's server, in one go or not at all."""
    done = psql_as_it_is(dsn, "-v", "ON_ERROR_STOP=1", *args, stdin=stdin)
    assert done.returncode == 0, done.stderr


def psql_as_it_is(
    dsn: str, *args: str, stdin: str | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    """The same, going on after an error unless told otherwise, with what it said."""
    with psycopg.connect(dsn) as conn:
        major = conn.info.server_version // 10000
    program = cluster.programs()[major] / "psql"
    return subprocess.run(
        [program, "--no-psqlrc", "--quiet", *args, dsn],
        env=os.environ | env,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )


def start_upgrade(dsn: str) -> subprocess.Popen[str]:
    """A process of its own that brings a database to the head."""
    return subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys; from memlayer_pg import schema; schema.migrate(sys.argv[1])",
            dsn,
        ],
        stderr=subprocess.PIPE,
        text=True,
    )


def filler(revision: str) -> str:
    """The SQL that fills a database at a revision by the API functions of that day.

    fill/<R>.sql serves from R on, until a revision changes the API and brings a file of its own.
    """
    files = sorted((Path(__file__).parent / "fill").glob("ml*.sql"))
    return [path for path in files if path.stem <= revision][-1].read_text("utf-8")


def fill(dsn: str, revision: str) -> None:
    """Fill a database that is at a revision."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        for statement in filler(revision).split(";\n"):
            conn.execute(statement.encode())


LARGE = ("memory", "history", "mention", "entity", "message", "change")
"""The tables that grow with use."""


def state(dsn: str) -> dict[str, Any]:
    """What is in a database, as far as every revision can tell, and what verify() finds in it."""
    with psycopg.connect(dsn) as conn:
        counts = {
            table: conn.execute(f"select count(*) from memlayer.{table}".encode()).fetchone()
            for table in (*LARGE, "link", "session", "model", "setting")
        }
        return {
            **counts,
            "memories": conn.execute("""
                select tenant, id, text, user_id, metadata, version, embedding::text, created_at
                  from memlayer.memory order by id""").fetchall(),
            "versions": conn.execute("""
                select tenant, memory_id, version, event, old_state, new_state, recorded_at
                  from memlayer.history order by memory_id, version""").fetchall(),
            "verify": conn.execute("select * from memlayer.verify()").fetchall(),
        }


def noting(page: str) -> str:
    """The statements by which docs/operations.md has the newest revision noted."""
    [block] = re.findall(r"<!-- note the revision -->\n```text\n(.*?)```", page, re.DOTALL)
    return str(block)
