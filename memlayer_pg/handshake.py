"""Whether the schema in a database is one this version of the package works with."""

from __future__ import annotations

import logging
import shlex
from dataclasses import dataclass

from memlayer_pg import schema
from memlayer_pg.effects import Call, Row
from memlayer_pg.errors import DatabaseError, SchemaMissing, SchemaTooNew, SchemaTooOld

log = logging.getLogger("memlayer_pg")

HANDSHAKE = Call("handshake")
NOT_THERE = ("3F000", "42883", "42P01")
"""SQLSTATEs of a schema, function or table that does not exist."""
NOT_ALLOWED = "42501"


@dataclass(frozen=True, slots=True)
class Known:
    """What the handshake told: the type of a vector, to be named in arrays of them."""

    element_oid: int


def read(rows: list[Row], where: str) -> Known:
    """The schema, when this version can work with it; `where` names the database in the errors."""
    found: str | None = rows[0]["revision"]
    breaking: str | None = rows[0]["breaking_revision"]
    # No revision at all: laid from sql/ by hand, as it stands in this version.
    if found is not None and found < schema.HEAD:
        raise SchemaTooOld(
            f"the memlayer schema in {where} is at revision {found}, this version needs "
            f"{schema.HEAD}; bring it there with: {_command(where)}",
            suggestion=_command(where),
        )
    if breaking is not None and breaking > schema.HEAD:
        raise SchemaTooNew(
            f"the memlayer schema in {where} is at revision {found}; since {breaking} it needs a "
            f"newer version of memlayer-pg than this one, which knows {schema.HEAD}",
            suggestion="Install a newer version: pip install --upgrade memlayer-pg",
        )
    if found is not None and found > schema.HEAD:
        log.info(
            "the memlayer schema in %s is at revision %s; this version knows %s, and nothing since "
            "breaks it",
            *(where, found, schema.HEAD),
        )
    return Known(int(rows[0]["halfvec_oid"]))


def missing(error: DatabaseError, where: str) -> DatabaseError | SchemaMissing:
    """What a failed handshake means: SchemaMissing, or the error itself with what to do."""
    if error.sqlstate == NOT_ALLOWED:
        return DatabaseError(
            f"the login has no rights in the memlayer schema of {where}: {error.message}",
            sqlstate=error.sqlstate,
            hint="Let an administrator run: memlayer db grant LOGIN --as app",
        )
    if error.sqlstate not in NOT_THERE:
        return error
    return SchemaMissing(
        f"there is no memlayer schema in {where}; make it with: {_command(where)}",
        suggestion=_command(where),
    )


def _command(where: str) -> str:
    return f"memlayer db upgrade --dsn {shlex.quote(where)}"
