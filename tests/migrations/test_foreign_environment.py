"""Our revisions in a user's own alembic environment, taken from the installed wheel."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from memlayer_pg import schema
from memlayer_pg.errors import SchemaError
from tests.catalog import catalog

INI = """
[alembic]
script_location = {folder}
version_locations = {folder}/versions;memlayer_pg:migrations/versions
path_separator = ;
"""

ENV = """
import os
import psycopg
import sqlalchemy as sa
from alembic import context

engine = sa.create_engine(
    "postgresql+psycopg://", creator=lambda: psycopg.connect(os.environ["DSN"])
)
with engine.connect() as connection:
    context.configure(connection=connection, target_metadata=None)
    with context.begin_transaction():
        context.run_migrations()
"""

THEIRS = """
import sqlalchemy as sa
from alembic import op

revision = "a1"
down_revision = None
depends_on = "ml0001"

def upgrade():
    op.create_table("note", sa.Column("tenant", sa.Text), sa.Column("memory_id", sa.Uuid))
    op.create_foreign_key(
        "note_memory", "note", "memory", ["tenant", "memory_id"], ["tenant", "id"],
        referent_schema="memlayer",
    )

def downgrade():
    op.drop_table("note")
"""


class Environment:
    """An alembic environment that knows nothing of ours but where its revisions are."""

    def __init__(self, folder: Path, installed: Path, dsn: str) -> None:
        self.folder = folder
        self.variables = {**os.environ, "PYTHONPATH": str(installed), "DSN": dsn}
        (folder / "versions").mkdir()
        (folder / "alembic.ini").write_text(INI.format(folder=folder))
        (folder / "env.py").write_text(ENV)
        (folder / "versions" / "a1_note.py").write_text(THEIRS)

    def alembic(self, *args: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "alembic", *args],
            cwd=self.folder,
            env=self.variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def environment(tmp_path: Path, installed: Path, empty: str) -> Environment:
    return Environment(tmp_path, installed, empty)


def test_one_upgrade_brings_theirs_and_ours(
    environment: Environment, template: str, empty: str
) -> None:
    environment.alembic("upgrade", "heads")
    assert catalog(empty) == catalog(template)
    assert schema.current(empty) == schema.HEAD
    with psycopg.connect(empty) as conn:
        # Their table went where their search path says, not into our schema.
        assert conn.execute("select to_regclass('public.note') is not null").fetchone() == (True,)
        assert conn.execute("select count(*) from public.alembic_version").fetchone() != (0,)


def test_theirs_can_be_taken_back_and_then_ours(environment: Environment, empty: str) -> None:
    environment.alembic("upgrade", "heads")
    environment.alembic("downgrade", "a1@base")
    environment.alembic("downgrade", "memlayer@base")
    assert [kind for kind, _ in catalog(empty)] == ["schema"]


def test_our_upgrade_does_nothing_where_theirs_was(environment: Environment, empty: str) -> None:
    environment.alembic("upgrade", "heads")
    before = catalog(empty)
    steps: list[str] = []
    for revision in ("head", schema.HEAD):
        schema.migrate(empty, revision, progress=lambda step, _: steps.append(step))
    assert (steps, catalog(empty)) == ([], before)
    with psycopg.connect(empty) as conn:  # and does not take it over
        known = conn.execute("select to_regclass('memlayer.alembic_version')").fetchone()
        assert known == (None,)


def test_our_way_down_leaves_to_theirs_what_theirs_laid(
    environment: Environment, empty: str
) -> None:
    environment.alembic("upgrade", "heads")
    for revision in ("base", "-1"):
        with pytest.raises(SchemaError, match="by another alembic environment") as raised:
            schema.migrate(empty, revision, down=True)
        assert "alembic downgrade memlayer@base" in str(raised.value.suggestion)
    assert schema.check(empty) == []


def test_their_script_for_psql_holds_ours_too(environment: Environment) -> None:
    script = environment.alembic("upgrade", "heads", "--sql")
    assert script.index("create or replace function memlayer.add(") < script.index("TABLE note")
