"""What stands in the memlayer schema of a database, to be compared with another's."""

from __future__ import annotations

import psycopg

from memlayer_pg.catalog import Catalog
from memlayer_pg.catalog import catalog as read


def catalog(dsn: str) -> Catalog:
    with psycopg.connect(dsn) as conn:
        return read(conn)
