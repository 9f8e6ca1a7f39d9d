"""What `memlayer doctor` looks at, a function a line of its report; `scaling` has more of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from memlayer_pg.cli import places
from memlayer_pg.config import Config
from memlayer_pg.errors import ConfigError

if TYPE_CHECKING:
    import psycopg


@dataclass(frozen=True)
class Check:
    """One line: `status` is ok, warn or fail; `next_step` is what to do, None where nothing."""

    name: str
    status: str
    said: str
    next_step: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def server(conn: psycopg.Connection[Any], config: Config) -> Check:
    """Version and encoding; whether it is a replica, or behind a pooler that is to be told of."""
    from memlayer_pg.advice import POOLED
    from memlayer_pg.requirements import server_problem

    number, version, encoding, replica, process = one(
        conn,
        "select current_setting('server_version_num')::int, current_setting('server_version'), "
        "current_setting('server_encoding'), pg_is_in_recovery(), pg_backend_pid()",
    )
    if problem := server_problem(number, version, encoding):
        return Check("server", "fail", problem.message, problem.suggestion)
    said = f"Postgres {version}, {encoding}"
    if replica:
        return Check(
            "server", "warn", f"{said}, a read replica: it can be searched and nothing can be added"
        )
    # A pooler makes up the number by which its client may cancel a statement.
    if process != conn.pgconn.backend_pid and config.prepare_threshold is not None:
        return Check("server", "warn", f"{said}, behind a pooler", POOLED)
    return Check("server", "ok", said)


def extension(conn: psycopg.Connection[Any], config: Config) -> Check:
    """pgvector."""
    from memlayer_pg.requirements import vector_problem

    installed, available = one(
        conn,
        "select (select extversion from pg_extension where extname = 'vector'), "
        "(select default_version from pg_available_extensions where name = 'vector')",
    )
    if problem := vector_problem(installed, available):
        return Check("pgvector", "fail", problem.message, problem.suggestion)
    if installed is None:
        return Check("pgvector", "warn", f"{available} is there, not yet in this database", UPGRADE)
    return Check("pgvector", "ok", str(installed))


UPGRADE = "memlayer db upgrade"


def letters(conn: psycopg.Connection[Any], config: Config) -> Check:
    """Whether the database can tell upper from lower case, which keyword search needs."""
    knows, ctype = one(
        conn,
        "select lower('ÉЖႠ') = 'éжⴀ', datctype from pg_database where datname = current_database()",
    )
    if knows:
        return Check("letters", "ok", "upper and lower case of all alphabets")
    return Check(
        "letters",
        "warn",
        f"under ctype {ctype} keyword search tells upper from lower case in alphabets other than "
        "Latin, Greek, Cyrillic and Armenian",
        "Only if you need them: move to a database made with locale 'C.UTF-8' or another UTF-8 one",
    )


def schema(conn: psycopg.Connection[Any], config: Config) -> Check:
    """The revision the schema is at, and whether it is as that made it."""
    from memlayer_pg.errors import SchemaError, SchemaMissing
    from memlayer_pg.schema import HEAD

    try:
        revision = places.greeted(conn)
    except SchemaMissing:
        return Check("schema", "fail", "there is none", UPGRADE)
    except SchemaError as error:
        return Check("schema", "fail", error.message, error.suggestion)
    if revision is not None and revision > HEAD:
        return Check("schema", "ok", f"revision {revision}, this version knows {HEAD}")
    said = "laid from sql/ without revisions" if revision is None else f"revision {revision}"
    found = differences(conn)
    if found is None:
        return Check("schema", "ok", f"{said}; only its owner can compare it with what that made")
    if found:
        more = f" and {len(found) - FEW} more" if len(found) > FEW else ""
        said = f"{said}, and somebody changed it: {'; '.join(found[:FEW])}{more}"
        return Check("schema", "warn", said, "memlayer db check")
    return Check("schema", "ok", f"{said}, as it was made")


FEW = 3
"""Differences that are named."""


def differences(conn: psycopg.Connection[Any]) -> list[str] | None:
    """How the schema differs from what its revision made.

    None where the role, or a read replica, does not let us look.
    """
    from memlayer_pg import db
    from memlayer_pg.errors import DatabaseError
    from memlayer_pg.schema import compare

    try:
        with db.translated():
            return compare(conn)
    except DatabaseError as error:
        if error.sqlstate not in ("42501", "25006"):
            raise
        return None


def pending(conn: psycopg.Connection[Any], config: Config) -> Check:
    """Memories that only words can find."""
    count, example = one(
        conn,
        "select count(*), min(id::text) from memlayer.memory where tenant = %s "
        "and embedding is null",
        config.tenant,
    )
    if count == 0:
        return Check("vectors", "ok", "every memory has one")
    return Check(
        "vectors",
        "warn",
        f"{count:,} memories have none, words alone find them; one is {example}",
        "memlayer embed-pending",
    )


def sizes(conn: psycopg.Connection[Any], config: Config) -> Check:
    """What the tables take, with their indexes; the largest three by name."""
    rows = conn.execute(
        """
        select t.relname, pg_size_pretty(t.bytes), pg_size_pretty(sum(t.bytes) over ())
          from (select c.relname, pg_total_relation_size(c.oid) as bytes
                  from pg_class c
                 where c.relnamespace = to_regnamespace('memlayer') and c.relkind in ('r', 'p')) t
         order by t.bytes desc, t.relname
         limit 3
        """
    ).fetchall()
    if not rows:
        return Check("sizes", "warn", "there are no tables")
    largest = ", ".join(f"{name} {size}" for name, size, _ in rows)
    return Check("sizes", "ok", f"{rows[0][2]} in all: {largest}")


def model(conn: psycopg.Connection[Any], config: Config) -> Check:
    """Whether the configured embedder is the one whose vectors are stored."""
    from memlayer_pg.models import embedder_for

    row = conn.execute(
        "select name, dimensions from memlayer.model where tenant = %s and state = 'active'",
        [config.tenant],
    ).fetchone()
    if row is None:
        return Check("model", "ok", f"tenant {config.tenant} has no vectors yet, any will do")
    name, dimensions = row
    stored = f"the vectors of tenant {config.tenant} are of {name}, {dimensions} dimensions"
    try:
        configured = embedder_for(config).name
    except ConfigError:  # said by the check of the embedder itself
        return Check("model", "warn", stored)
    if configured != name:
        return Check(
            "model",
            "fail",
            f"{stored}; configured is {configured}, so adds and searches are refused",
            f"Configure {name} (MEMLAYER_EMBEDDER_MODEL), or use another tenant.",
        )
    return Check("model", "ok", stored)


REEMBEDDING = """
select n.name, k.name,
       (select count(*) from memlayer.other_vector o
         where o.tenant = a.tenant and o.model = coalesce(n.id, k.id)),
       (select count(*) from memlayer.memory m where m.tenant = a.tenant)
         + (select count(*) from memlayer.entity e where e.tenant = a.tenant)
  from memlayer.model a
  left join memlayer.model n on n.tenant = a.tenant and n.id = a.replaced_by
  left join memlayer.model k on k.tenant = a.tenant and k.id = a.replaces
 where a.tenant = %s and a.state = 'active' and (n.id is not null or k.id is not null)
"""


def reembedding(conn: psycopg.Connection[Any], config: Config) -> Check:
    """Whether a change of the model was begun and not brought to its end."""
    row = conn.execute(REEMBEDDING.encode(), [config.tenant]).fetchone()
    if row is None:
        return Check("reembedding", "ok", "none is under way")
    coming, kept, vectors, of = row
    if coming is not None:
        said = f"{vectors:,} of {of:,} vectors of {coming} are there; it waits to be gone on with"
        again = f"memlayer reembed for {coming}; memlayer reembed --rollback gives it up"
        return Check("reembedding", "warn", said, again)
    said = f"{vectors:,} vectors of {kept} are kept to go back to"
    return Check("reembedding", "ok", said, "memlayer reembed --finish, once nobody wants to")


def one(conn: psycopg.Connection[Any], query: str, *values: Any) -> tuple[Any, ...]:
    """The only row of a query."""
    row: tuple[Any, ...] | None = conn.execute(query.encode(), values or None).fetchone()
    assert row is not None
    return row
