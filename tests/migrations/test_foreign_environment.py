"""Our revisions in a user's own alembic environment, taken from the installed wheel."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import alembic
import psycopg
import pytest

from memlayer_pg import schema
from memlayer_pg.errors import SchemaError
from tests.catalog import catalog
from tests.conftest import CHECKOUT

OPERATIONS = (CHECKOUT / "docs" / "operations.md").read_text("utf-8")

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
from app import metadata

{hook}

if context.is_offline_mode():
    context.configure(dialect_name="postgresql", version_table="app_version")
    with context.begin_transaction():
        context.run_migrations()
else:
    engine = sa.create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(os.environ["DSN"])
    )
    with engine.connect() as connection:
        context.configure(
            connection=connection, target_metadata=metadata, version_table="app_version", {options}
        )
        with context.begin_transaction():
            context.run_migrations()
"""

APP = """
import sqlalchemy as sa
from memlayer_pg.models import Memory

metadata = sa.MetaData()
memory = Memory.__table__
note = sa.Table(
    "note", metadata, sa.Column("tenant", sa.Text), sa.Column("memory_id", sa.Uuid),
    sa.ForeignKeyConstraint(
        ["tenant", "memory_id"], [memory.c.tenant, memory.c.id], name="note_memory"
    ),
)
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
    """An alembic environment that knows of ours where its revisions are, and what docs say."""

    def __init__(self, folder: Path, release: Path, dsn: str) -> None:
        self.folder = folder
        self.python = release / "python"
        self.dsn = dsn
        (folder / "versions").mkdir()
        template = Path(alembic.__file__).parent / "templates" / "generic" / "script.py.mako"
        shutil.copy(template, folder)
        (folder / "alembic.ini").write_text(INI.format(folder=folder))
        (folder / "app.py").write_text(APP)
        (folder / "versions" / "a1_note.py").write_text(THEIRS)
        [told] = re.findall(r"<!-- leave ours alone -->\n```text\n(.*?)```", OPERATIONS, re.DOTALL)
        hook, options = told.split("\n\n\n")
        self.compare(hook, re.sub(r"^context.configure\(…, (.*)\)\n$", r"\1", options))

    def compare(self, hook: str, options: str) -> None:
        """How its autogenerate looks at the database."""
        (self.folder / "env.py").write_text(ENV.format(hook=hook, options=options))

    def run(self, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.python, "-m", "alembic", *args],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(self.folder), "DSN": self.dsn} | env,
            capture_output=True,
            text=True,
            check=False,
        )

    def alembic(self, *args: str, **env: str) -> str:
        done = self.run(*args, **env)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def environment(tmp_path: Path, release: Path, empty: str) -> Environment:
    return Environment(tmp_path, release, empty)


def test_one_upgrade_brings_theirs_and_ours(
    environment: Environment, template: str, empty: str
) -> None:
    environment.alembic("upgrade", "heads")
    assert catalog(empty) == catalog(template)
    assert schema.current(empty) == schema.HEAD
    with psycopg.connect(empty) as conn:
        # Their table went where their search path says, not into our schema.
        assert conn.execute("select to_regclass('public.note') is not null").fetchone() == (True,)
        assert conn.execute("select count(*) from public.app_version").fetchone() != (0,)


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


def test_their_autogenerate_finds_nothing_of_ours(environment: Environment) -> None:
    environment.alembic("upgrade", "heads")
    assert "No new upgrade operations" in environment.alembic("check")
    environment.alembic("revision", "--autogenerate", "-m", "more", "--head", "a1")
    [written] = environment.folder.glob("versions/*_more.py")
    assert "op." not in written.read_text("utf-8").partition("def upgrade")[2]


def test_without_the_lines_for_all_schemas_ours_would_be_dropped(environment: Environment) -> None:
    environment.alembic("upgrade", "heads")
    environment.compare("", "")  # theirs alone looks at one schema, in which ours is not
    assert "No new upgrade operations" in environment.alembic("check")
    environment.compare("", "include_schemas=True")
    done = environment.run("check")
    assert done.returncode != 0
    assert "memlayer.memory" in done.stdout + done.stderr


def test_an_upgrade_of_theirs_ends_when_a_lock_is_not_to_be_had(environment: Environment) -> None:
    environment.alembic("upgrade", "ml0001")
    before = catalog(environment.dsn)
    with psycopg.connect(environment.dsn) as other:
        other.execute("select from memlayer.memory")
        done = environment.run("upgrade", "heads", PGOPTIONS="-c lock_timeout=200ms")
        assert done.returncode != 0
        assert "lock timeout" in done.stderr
        assert catalog(environment.dsn) == before
        assert schema.current(environment.dsn) == "ml0001"
    environment.alembic("upgrade", "heads")
    assert schema.current(environment.dsn) == schema.HEAD


def test_where_no_wait_was_set_ours_wait_a_minute_for_a_lock(
    environment: Environment, empty: str
) -> None:
    revision = environment.folder / "versions" / "a1_note.py"
    seen = "op.execute(\"create table seen as select current_setting('lock_timeout')\")"
    revision.write_text(THEIRS.replace("def upgrade():", f"def upgrade():\n    {seen}"))
    environment.alembic("upgrade", "heads")
    with psycopg.connect(empty) as conn:
        assert conn.execute("select * from seen").fetchone() == ("1min",)
        assert conn.execute("show lock_timeout").fetchone() == ("0",)
