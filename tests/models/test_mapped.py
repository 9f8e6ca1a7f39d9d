"""SQLAlchemy's models are what the catalog says, and only read."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import Session

from memlayer_pg import Config, InputError, Memory, models
from memlayer_pg.models.mapped import classes
from tests.api.harness import model


def engine_of(dsn: str) -> sa.Engine:
    return sa.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(dsn))


COLUMNS = """
select c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
       col_description(c.oid, a.attnum), obj_description(c.oid, 'pg_class')
  from pg_class c join pg_attribute a on a.attrelid = c.oid
 where c.relnamespace = 'memlayer'::regnamespace and c.relkind in ('r', 'p', 'v', 'm')
   and a.attnum > 0 and not a.attisdropped
 order by c.relname, a.attnum"""


def test_columns_types_nullability_and_comments_are_those_of_the_catalog(conn: Any) -> None:
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    mapped = [
        (
            table.name,
            column.name,
            column.type.compile(dialect).lower(),
            not column.nullable,
            column.comment,
            table.comment,
        )
        for table in sorted(models.metadata.tables.values(), key=lambda table: table.name)
        for column in table.columns
    ]
    assert mapped == conn.execute(COLUMNS).fetchall()


def test_keys_are_those_of_the_catalog(template: str) -> None:
    engine = engine_of(template)
    inspector = sa.inspect(engine)
    for table in models.metadata.tables.values():
        key = inspector.get_pk_constraint(table.name, "memlayer")
        assert [column.name for column in table.primary_key.columns] == key["constrained_columns"]
        found = {
            (
                *(each["name"], each["referred_table"], each["options"].get("ondelete")),
                *zip(each["constrained_columns"], each["referred_columns"], strict=True),
            )
            for each in inspector.get_foreign_keys(table.name, "memlayer")
        }
        assert found == {
            (
                *(each.name, each.referred_table.name, each.ondelete),
                *((part.parent.name, part.column.name) for part in each.elements),
            )
            for each in table.foreign_key_constraints
        }
    engine.dispose()


@pytest.mark.filterwarnings("ignore:Did not recognize type 'xid8'")
@pytest.mark.filterwarnings("ignore:Computed default on")
def test_alembic_finds_nothing_to_change(template: str) -> None:
    engine = engine_of(template)
    options = {
        "include_schemas": True,
        "include_name": lambda name, kind, _: kind != "schema" or name == "memlayer",
    }
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, models.metadata) == []
        connection.execute(sa.text("drop index memlayer.memory_user_idx"))
        [(what, index)] = compare_metadata(context, models.metadata)
        assert (what, index.name) == ("add_index", "memory_user_idx")
    engine.dispose()


def test_an_orm_reads_what_was_stored_and_can_write_nothing(database: str, endpoint: Any) -> None:
    config = Config(dsn=database, llm=model(endpoint), embedder=model(endpoint))
    with Memory(config) as memory:
        memory.add("tea", user_id="ann", metadata={"cup": 1}, infer=False)
    engine = engine_of(database)
    with Session(engine) as session:
        row = session.scalars(sa.select(models.Memories)).one()
        assert row.text == "tea"
        assert row.metadata_ == {"cup": 1}
        for name, kind in classes.items():
            rows = session.scalars(sa.select(kind)).all()
            assert rows or name not in ("Memory", "Memories", "History", "Changes", "Change")
        row.text = "coffee"
        with pytest.raises(InputError, match="for reading"):
            session.flush()
        session.rollback()
        session.delete(session.scalars(sa.select(models.Memory)).one())
        with pytest.raises(InputError, match="for reading"):
            session.flush()
        session.rollback()
        session.add(models.Setting(tenant="x"))
        with pytest.raises(InputError, match="for reading"):
            session.flush()
    engine.dispose()


def test_the_package_does_not_load_sqlalchemy_until_a_class_is_asked_for() -> None:
    program = (
        "import sys; from memlayer_pg import Memory, models; from memlayer_pg.models import rerank;"
        "print('sqlalchemy' in sys.modules); models.Memories; print('sqlalchemy' in sys.modules)"
    )
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert said.stdout.split() == ["False", "True"]
    with pytest.raises(AttributeError, match="Nonsense"):
        _ = models.Nonsense
