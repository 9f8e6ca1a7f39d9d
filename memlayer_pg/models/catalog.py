"""What the Tables of the schema memlayer have in common."""

from __future__ import annotations

from typing import Any

from sqlalchemy import MetaData
from sqlalchemy.types import UserDefinedType

metadata = MetaData(schema="memlayer")
"""Of the tables and views; apart from that of a host program, whose autogenerate thus leaves them
alone."""


class XID8(UserDefinedType[int]):
    """The number of a transaction."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "xid8"
