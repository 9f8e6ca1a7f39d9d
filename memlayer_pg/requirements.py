"""What a database must have before the schema can be laid, each by name with what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memlayer_pg.errors import SchemaError

if TYPE_CHECKING:
    from sqlalchemy import Connection

POSTGRES = 15
PGVECTOR = (0, 8)

FACTS = """
select current_setting('server_version_num')::int,
       current_setting('server_version'),
       current_setting('server_encoding'),
       pg_is_in_recovery(),
       current_user,
       current_database(),
       has_database_privilege(current_database(), 'create')
         or to_regnamespace('memlayer') is not null,
       (select extversion from pg_extension where extname = 'vector'),
       (select default_version from pg_available_extensions where name = 'vector'),
       (select extnamespace::regnamespace::text from pg_extension
         where extname = 'vector' and not has_schema_privilege(extnamespace, 'usage'))
"""


def check(connection: Connection) -> None:
    """SchemaError when the server, the database or the role will not do."""
    from sqlalchemy.exc import DBAPIError

    number, name, encoding, replica, role, database, may_create, installed, available, closed = (
        connection.exec_driver_sql(FACTS).one()
    )
    if problem := server_problem(number, name, encoding):
        raise problem
    if replica:
        raise SchemaError("this server is a read replica: migrate the primary")
    if not may_create:
        raise SchemaError(
            f"role {role} may not create a schema in database {database}",
            suggestion=f"Let its owner run: grant create on database {database} to {role};",
        )
    if problem := vector_problem(installed, available):
        raise problem
    if closed:
        raise SchemaError(
            f"role {role} may not use schema {closed}, in which the extension vector is",
            suggestion=f"Let its owner run: grant usage on schema {closed} to {role};",
        )
    if installed is None:
        # Who may is decided by hosters in ways no catalog shows: try it, and take it back.
        try:
            connection.exec_driver_sql("create extension vector")
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) != "42501":
                raise
            raise SchemaError(
                f"role {role} may not create the extension vector in database {database}",
                suggestion="Let an administrator run in this database: create extension vector;",
            ) from error
    connection.rollback()


def server_problem(number: int, name: str, encoding: str) -> SchemaError | None:
    """What is wrong with a server's version (`server_version_num`) or a database's encoding."""
    if number < POSTGRES * 10000:
        return SchemaError(
            f"Postgres {POSTGRES} or newer is needed, this is {name}",
            suggestion="Upgrade the server.",
        )
    if encoding != "UTF8":
        return SchemaError(
            f"the database must be encoded in UTF8, this one is in {encoding}",
            suggestion="Make one with: create database … encoding 'UTF8' template template0;",
        )
    return None


def vector_problem(installed: str | None, available: str | None) -> SchemaError | None:
    """What is wrong with pgvector: the version in the database, or else the one on offer."""
    needed = ".".join(map(str, PGVECTOR))
    if installed is None and available is None:
        return SchemaError(
            "the extension vector (pgvector) is not on this server",
            suggestion=f"Install pgvector {needed} or newer: package postgresql-NN-pgvector.",
        )
    if installed is not None and version(installed) < PGVECTOR:
        return SchemaError(
            f"pgvector {needed} or newer is needed, this database has {installed}",
            suggestion="Let an administrator run in this database: alter extension vector update;",
        )
    if installed is None and version(available or "") < PGVECTOR:
        return SchemaError(
            f"pgvector {needed} or newer is needed, this server offers {available}",
            suggestion="Upgrade the server's package postgresql-NN-pgvector.",
        )
    return None


def version(text: str) -> tuple[int, ...]:
    """`0.8.0` as numbers, so that 0.10 comes after 0.9."""
    return tuple(int(part) for part in text.split(".") if part.isdigit())
