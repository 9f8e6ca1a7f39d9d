"""What is asked of scopes too large to be read in full, and of the vector index for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg

MOST = 20
"""Of the largest scopes, how many are looked at."""


@dataclass(frozen=True)
class Scope:
    """A user, agent or run (`kind`), and how many memories it has."""

    kind: str
    id: str
    memories: int

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"

    @property
    def args(self) -> dict[str, str]:
        """The id as an argument of a SQL function."""
        return {f"p_{self.kind}_id": self.id}


@dataclass(frozen=True)
class Index:
    """The vector index of a tenant's active model.

    `name`: None when there is no model yet. `state`: None when there is no index, else valid,
    unfinished (an interrupted build left it) or building (by process `builder`).
    """

    name: str | None
    state: str | None = None
    builder: int | None = None
    size: int = 0


SCOPES = " union all ".join(
    f"(select '{kind}' as kind, {kind}_id as id, count(*) as memories from memlayer.memory "
    f"where tenant = %(tenant)s and {kind}_id is not null group by {kind}_id "
    f"order by 3 desc, 2 limit {MOST})"
    for kind in ("user", "agent", "run")
)

INDEX = """
select 'memory_ann_' || d.id, i.indisvalid, b.pid, coalesce(pg_relation_size(i.indexrelid), 0)
  from memlayer.model d
  left join (pg_index i join pg_class c on c.oid = i.indexrelid)
    on i.indrelid = 'memlayer.memory'::regclass and c.relname = 'memory_ann_' || d.id
  left join lateral (
    -- Without the right to see more, somebody's build is at least known to be one.
    select p.pid
      from pg_stat_progress_create_index p
     where p.datname = current_database() and (p.index_relid = i.indexrelid or p.relid is null)
     limit 1) b on not i.indisvalid
 where d.tenant = %(tenant)s
   and case when not %(kept)s then d.state = 'active'
            else d.id in (select a.replaces from memlayer.model a where a.tenant = d.tenant) end
"""


def largest(conn: psycopg.Connection[Any], tenant: str) -> list[Scope]:
    """The largest scopes of a tenant, expired memories included; the largest first."""
    rows = conn.execute(
        f"{SCOPES} order by memories desc, kind, id limit {MOST}".encode(), {"tenant": tenant}
    )
    return [Scope(*row) for row in rows]


def index(conn: psycopg.Connection[Any], tenant: str, *, kept: bool = False) -> Index:
    """The vector index of a tenant; `kept`: of the model before, while its vectors are kept."""
    row = conn.execute(INDEX.encode(), {"tenant": tenant, "kept": kept}).fetchone()
    if row is None:
        return Index(None)
    name, valid, builder, size = row
    if valid is None:
        return Index(name)
    state = "valid" if valid else "unfinished" if builder is None else "building"
    return Index(name, state, builder, size)


def threshold(conn: psycopg.Connection[Any], tenant: str) -> int:
    """Up to how many memories a scope is read in full."""
    [found] = conn.execute("select memlayer.exact_threshold(%s)", [tenant]).fetchone() or (0,)
    return int(found)
