"""mem0's tables in Postgres, read in the order of ids through cursors of the server."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import psycopg
from psycopg import sql

from memlayer_pg import db
from memlayer_pg.dsn import parameters
from memlayer_pg.errors import InputError
from memlayer_pg.moving.defects import Defects

PAGE = 1000
"""Rows that are fetched together."""

COLLECTIONS = """
select c.relname, c.oid::regclass::text
  from pg_catalog.pg_class c
 where c.relkind in ('r', 'p')
   and (select count(*) from pg_catalog.pg_attribute a
         join pg_catalog.pg_type t on t.oid = a.atttypid
        where a.attrelid = c.oid and not a.attisdropped
          and (a.attname, t.typname) in
              (('id', 'uuid'), ('vector', 'vector'), ('payload', 'jsonb'))) = 3
 order by 1
"""

SHAPE = """
select a.atttypmod, n.nspname
  from pg_catalog.pg_attribute a
  join pg_catalog.pg_type t on t.oid = a.atttypid
  join pg_catalog.pg_namespace n on n.oid = t.typnamespace
 where a.attrelid = %s::regclass and a.attname = 'vector'
"""

SURVEY = """
select count(*) as memories,
       count(*) filter (where is_fact) - count(distinct fact) filter (where is_fact) as twice
  from (select payload ->> 'role' is null
               and payload ->> 'memory_type' is distinct from 'procedural_memory' as is_fact,
               (coalesce(payload ->> 'user_id', ''), coalesce(payload ->> 'agent_id', ''),
                coalesce(payload ->> 'run_id', ''), payload ->> 'data') as fact
          from {memories}) m
"""

MEMORIES = """
select id::text, payload, {send}(vector) from {memories} order by id
"""

# Small rows are sorted: a vector comes with the first memory of a scope that names the entity.
LINKS = """
with entity as (
  select id, payload ->> 'data' as name, payload ->> 'entity_type' as type,
         case jsonb_typeof(payload -> 'linked_memory_ids')
           when 'array' then payload -> 'linked_memory_ids' else '[]' end as linked
    from {entities}
),
link as (
  select e.id, e.name, e.type, l.value,
         case when l.value ~* '^[0-9a-f]{{8}}(-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}$'
           then l.value::uuid end as memory_id
    from entity e
   cross join lateral jsonb_array_elements_text(e.linked) l
),
placed as (
  select l.*, m.id is not null as is_there,
         row_number() over (
           partition by l.name, m.payload ->> 'user_id', m.payload ->> 'agent_id',
                        m.payload ->> 'run_id'
               order by m.id) as place
    from link l
    left join {memories} m on m.id = l.memory_id
)
select p.memory_id::text, p.value, p.is_there, p.id::text, p.name, p.type,
       case when p.place = 1 then (
         select {send}(e.vector) from {entities} e where e.id = p.id) end
  from placed p
 order by p.is_there, p.memory_id, p.name, p.id
"""

NEAREST = """
select id::text
  from {memories}
 where payload ->> 'data' ~ '\\S'
   and ({user}::text is null or payload ->> 'user_id' = {user})
   and ({agent}::text is null or payload ->> 'agent_id' = {agent})
   and ({run}::text is null or payload ->> 'run_id' = {run})
   and id <> {id}
   -- What had expired is not shown by either, nor what points the other way.
   and (payload ->> 'expiration_date' is null
        or payload ->> 'expiration_date' !~ '^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}$'
        or payload ->> 'expiration_date' >= to_char(now() at time zone 'UTC', 'YYYY-MM-DD'))
   and vector <=> (select vector from {memories} where id = {id}) <= 1
 order by vector <=> (select vector from {memories} where id = {id}), id
 limit {limit}
"""

Memory = tuple[str, Any, tuple[float, ...] | None]


@dataclass(frozen=True)
class Store:
    """A collection of mem0, as it stands at one moment.

    `dimensions`: of its vectors. `memories`, `twice`: rows, and facts that their scope has already.
    """

    connection: psycopg.Connection[Any]
    names: dict[str, sql.Composable]
    dimensions: int
    memories: int
    twice: int
    has_entities: bool

    def rows(self, name: str) -> Iterator[Memory]:
        """All memories: id, payload and vector. `name`: of the cursor."""
        for id_, payload, vector in self._stream(name, MEMORIES):
            yield id_, payload, floats(vector)

    def links(self, name: str, defects: Defects) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """The ids of memories that stand, in their order, each with the entities it names."""
        if not self.has_entities:
            defects.note("no table of entities")
            return
        rows = self._stream(name, LINKS)
        for (is_there, id_), group in groupby(rows, key=lambda row: (row[2], row[0])):
            if not is_there:
                for row in group:
                    defects.note("link to a memory that is not there", f"{row[3]} → {row[1]}")
                continue
            yield id_, [_entity(*row[3:]) for row in group]

    def nearest(self, id_: str, ids: dict[str, str | None], limit: int) -> list[str]:
        """What mem0 finds nearest to a memory, among those that carry its ids; by all vectors, not
        by an index."""
        given = {
            "user": ids["user_id"],
            "agent": ids["agent_id"],
            "run": ids["run_id"],
            "id": id_,
            "limit": limit,
        }
        values = {name: sql.Literal(value) for name, value in given.items()}
        with db.translated(), self.connection.cursor() as cursor:
            cursor.execute("set local enable_indexscan = off")
            cursor.execute(sql.SQL(NEAREST).format(**self.names, **values))
            return [row[0] for row in cursor.fetchall()]

    def sample(self, most: int) -> list[tuple[str, tuple[float, ...]]]:
        """A few texts and their vectors, of the first ids."""
        found = []
        statement = sql.SQL(
            "select payload ->> 'data', {send}(vector) from {memories}"
            " where payload ->> 'data' ~ '\\S' and vector is not null order by id limit {most}"
        )
        with db.translated(), self.connection.cursor(binary=True) as cursor:
            cursor.execute(statement.format(**self.names, most=sql.Literal(most)))
            for text, vector in cursor.fetchall():
                values = floats(vector)
                if values is not None and any(values):
                    found.append((text, values))
        return found

    def _stream(self, name: str, query: str) -> Iterator[Any]:
        statement = sql.SQL(query).format(**self.names)
        with db.translated(), self.connection.cursor(name=name) as cursor:
            cursor.itersize = PAGE
            cursor.execute(statement, binary=True)
            yield from cursor


@contextmanager
def opened(dsn: str, collection: str) -> Iterator[Store]:
    """A collection, in a transaction that reads only; InputError names those there are."""
    with (
        db.translated(),
        psycopg.connect(**parameters(dsn), autocommit=True) as connection,
        connection.transaction(),
    ):
        connection.execute("set transaction isolation level repeatable read, read only")
        yield _surveyed(connection, collection)


def _surveyed(connection: psycopg.Connection[Any], collection: str) -> Store:
    there = dict(connection.execute(COLLECTIONS).fetchall())
    if collection not in there:
        named = [name for name in there if not name.endswith("_entities")]
        raise InputError(
            f"there is no collection {collection!r} of mem0",
            suggestion=f"There are: {', '.join(named) or 'none in this database'}.",
        )
    entities = there.get(f"{collection}_entities")
    [(dimensions, schema)] = connection.execute(SHAPE, [there[collection]]).fetchall()
    names: dict[str, sql.Composable] = {
        "memories": sql.SQL(there[collection]),
        "entities": sql.SQL(entities or there[collection]),
        "send": sql.Identifier(schema, "vector_send"),
    }
    [(memories, twice)] = connection.execute(sql.SQL(SURVEY).format(**names)).fetchall()
    return Store(connection, names, dimensions, memories, twice, entities is not None)


def floats(sent: bytes | None) -> tuple[float, ...] | None:
    """The numbers of a vector as pgvector sends it: how many, two bytes unused, 32-bit floats."""
    if sent is None:
        return None
    size = int.from_bytes(sent[:2], "big")
    return struct.unpack_from(f">{size}f", sent, 4)


def _entity(id_: str, name: str | None, type_: str | None, vector: bytes | None) -> dict[str, Any]:
    entity: dict[str, Any] = {"id": id_, "name": name}
    if type_ is not None:
        entity["type"] = type_.lower()
    values = floats(vector)
    if values is not None:
        entity["embedding"] = values
    return entity
