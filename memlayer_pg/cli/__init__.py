"""The command `memlayer`: a thin shell round the Python API, for people and scripts.

Everything heavy (psycopg, rich, alembic, the models) is imported inside the commands that need it,
so that `memlayer --help` and a mistyped option answer at once.
"""

from memlayer_pg.cli.app import cli, main

__all__ = ["cli", "main"]
