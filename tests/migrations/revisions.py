"""The revisions there are, and ways to run them from outside this process."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import psycopg
from alembic.script import ScriptDirectory

from memlayer_pg import cluster, schema

SCRIPTS = list(ScriptDirectory.from_config(schema.config()).walk_revisions())[::-1]
REVISIONS = [script.revision for script in SCRIPTS]


def psql(dsn: str, *args: str, stdin: str | None = None) -> None:
    """Run the psql that belongs to a database's server, in one go or not at all."""
    with psycopg.connect(dsn) as conn:
        major = conn.info.server_version // 10000
    program = cluster.programs()[major] / "psql"
    done = subprocess.run(
        [program, "--no-psqlrc", "--quiet", "-v", "ON_ERROR_STOP=1", *args, dsn],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


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


def noting(page: str) -> str:
    """The statements by which docs/operations.md has the newest revision noted."""
    [block] = re.findall(r"<!-- note the revision -->\n```text\n(.*?)```", page, re.DOTALL)
    return str(block)
