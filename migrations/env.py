"""Runs the revisions: over the caller's connection, or as a script with --sql."""

from __future__ import annotations

from typing import Any

from alembic import context

connection: Any = context.config.attributes.get("connection")
progress = context.config.attributes.get("progress")
first = context.config.attributes.get("first")


def applied(step: Any) -> None:
    """Tell the caller which revision is done, whichever way."""
    if progress is not None:
        progress(step.up_revision.revision, step.up_revision.doc)


context.configure(
    connection=connection,
    dialect_name="postgresql",
    dialect_opts={"paramstyle": "named"},
    version_table_schema="memlayer",
    on_version_apply=lambda step, **_: applied(step),
)

# The version table lives in the schema that the first revision makes.
if context.is_offline_mode():
    context.get_context().impl.static_output("create schema if not exists memlayer;")
else:
    connection.exec_driver_sql("create schema if not exists memlayer")
    connection.commit()  # so that the transaction is alembic's, and a revision may step out of it

with context.begin_transaction():
    if first is not None:
        connection.exec_driver_sql(first)
    context.run_migrations()
