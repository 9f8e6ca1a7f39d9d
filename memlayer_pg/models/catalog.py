"""What the Tables of the schema memlayer have in common."""

from __future__ import annotations

from typing import Any

from sqlalchemy import MetaData, Table
from sqlalchemy.types import UserDefinedType


class Catalog(MetaData):
    """Tables and views."""

    @property
    def sorted_tables(self) -> list[Table]:
        """The tables only: alembic compares these with those of a database, and a view is none."""
        return [table for table in super().sorted_tables if not table.info.get("is_view")]


metadata = Catalog(schema="memlayer")
"""Of the tables and views; apart from that of a host program, whose autogenerate thus leaves them
alone."""


class XID8(UserDefinedType[int]):
    """The number of a transaction."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "xid8"
