"""The tables and views as classes, to be read by an ORM: a flush that would write is refused.

Writing is for the functions of the schema and for `memlayer_pg.Memory`, which know the rules.
"""

from __future__ import annotations

from typing import Any, NoReturn

from sqlalchemy import Table, event
from sqlalchemy.orm import DeclarativeBase

from memlayer_pg.errors import InputError
from memlayer_pg.models import tables, views
from memlayer_pg.models.catalog import metadata

VIEW_KEYS = {
    "changes": ("tenant", "id"),
    "daily_activity": ("tenant", "day", "user_id"),
    "entities": ("tenant", "id"),
    "memories": ("tenant", "id"),
    "memory_versions": ("tenant", "memory_id", "version"),
    "mentions": ("tenant", "memory_id", "entity_id"),
    "messages": ("tenant", "session_id", "seq"),
    "scope_sizes": ("tenant", "kind", "scope_id"),
}
"""What tells the rows of a view apart."""


class ReadOnly(DeclarativeBase):
    """The base of all classes here."""

    metadata = metadata


def _refuse(_mapper: Any, _connection: Any, row: object) -> NoReturn:
    raise InputError(
        f"{type(row).__name__}: the mapped classes of memlayer are for reading",
        suggestion="Write with memlayer_pg.Memory, or the functions of the schema memlayer.",
    )


for moment in ("before_insert", "before_update", "before_delete"):
    event.listen(ReadOnly, moment, _refuse, propagate=True)


def _name(relation: str) -> str:
    return "".join(part.capitalize() for part in relation.split("_"))


def _mapped(table: Table) -> type[ReadOnly]:
    parts: dict[str, Any] = {"__table__": table, "__module__": __name__, "__doc__": table.comment}
    # Those named metadata would hide what declarative classes have under that name.
    renamed = {"metadata_": table.c.metadata} if "metadata" in table.c else {}
    arguments: dict[str, Any] = {"eager_defaults": False}
    if keys := VIEW_KEYS.get(table.name):
        arguments["primary_key"] = [table.c[key] for key in keys]
    return type(_name(table.name), (ReadOnly,), {**parts, **renamed, "__mapper_args__": arguments})


classes: dict[str, type[ReadOnly]] = {
    _name(table.name): _mapped(table)
    for module in (tables, views)
    for table in vars(module).values()
    if isinstance(table, Table)
}
"""By name: `Memory` is the table `memory`, `Memories` the view `memories`."""
