"""A store of three tenants, and logins that may do more or less in it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

from memlayer_pg import roles
from tests.conftest import create, drop, named
from tests.sql.calls import Connection, add, call

TENANTS = ("default", "acme", "other")
DIMENSIONS = 8

EXECUTABLE = """
select p.proname from pg_proc p
 where p.pronamespace = 'memlayer'::regnamespace
   and has_function_privilege(current_user, p.oid, 'execute')
"""


def vector(seed: int) -> list[float]:
    """A random vector."""
    rng = random.Random(seed)
    return [rng.gauss(0, 1) for _ in range(DIMENSIONS)]


@dataclass(frozen=True)
class Store:
    """A database with roles; `login` is the name of one of its logins, by a word for it."""

    dsn: str

    def login(self, word: str) -> str:
        return f"{named(self.dsn)}_{word}"

    def dsn_of(self, word: str) -> str:
        return make_conninfo(self.dsn, user=self.login(word))

    @contextmanager
    def connected(self, word: str | None = None) -> Iterator[Connection]:
        """A connection of a login, or of the superuser who owns all; what it does is committed."""
        dsn = self.dsn if word is None else self.dsn_of(word)
        with psycopg.connect(dsn, autocommit=True) as conn:
            yield conn


LOGINS: dict[str, tuple[str | None, tuple[str, ...]]] = {
    "app": ("app", ("acme",)),
    "app_of_other": ("app", ("other",)),
    "unbound": ("app", ()),
    "reader": ("reader", ("acme",)),
    "unbound_reader": ("reader", ()),
    "admin": ("admin", ()),
    "nobody": (None, ()),
}


# As after a re-embedding that is not finished.
KEPT = """
with kept as (
  insert into memlayer.model (tenant, name, dimensions, state)
  values (%(tenant)s, 'former', 3, 'retired')
  returning id
),
replacing as (
  update memlayer.model d set replaces = k.id
    from kept k
   where d.tenant = %(tenant)s and d.state = 'active'
)
insert into memlayer.other_vector (tenant, model, id, basis, embedding)
select m.tenant, k.id, m.id, memlayer.vector_basis(m.text, m.context), '[1,2,3]'
  from memlayer.memory m, kept k
 where m.tenant = %(tenant)s
"""


@contextmanager
def opened(server: str, template: str) -> Iterator[Store]:
    """The store, filled: in each tenant what Ann said there, with names, links and vectors."""
    store = Store(create(server, named(template)))
    with store.connected() as conn:
        roles.create(conn)
        roles.apply(conn)
        for word, (kind, tenants) in LOGINS.items():
            conn.execute(SQL("create role {} login").format(Identifier(store.login(word))))
            if kind is not None:
                roles.grant(conn, store.login(word), kind, tenants)
        for tenant in TENANTS:
            fill(conn, tenant)
    try:
        yield store
    finally:
        drop(server, store.dsn)
        with psycopg.connect(server, autocommit=True) as conn:
            for word in LOGINS:
                conn.execute(SQL("drop role {}").format(Identifier(store.login(word))))


def fill(conn: Connection, tenant: str) -> None:
    """Memories of user ann of a tenant: each text says whose it is."""
    texts = [f"Ann of {tenant} likes tea number {n}" for n in range(20)]
    [first, *_] = add(
        conn,
        *texts,
        tenant=tenant,
        embeddings=[vector(n) for n in range(20)],
        model="toy",
        messages=[{"role": "user", "content": f"said in {tenant}"}],
    )
    add(
        conn,
        tenant=tenant,
        facts=[
            {
                "text": f"Zeppelin of {tenant} drinks coffee",
                "entities": [1],
                "links": [{"id": first, "kind": "updates"}, {"id": first, "kind": "related"}],
                "metadata": {"colour": "red"},
            }
        ],
        entities=[{"name": "Zeppelin"}],
        embeddings=[vector(99)],
        entity_embeddings=[vector(98)],
        model="toy",
    )
    conn.execute("delete from memlayer.link where tenant = %s and kind = 'related'", [tenant])
    call(conn, "erase", tenant=tenant, user_id="somebody")
    conn.execute("insert into memlayer.setting (tenant) values (%s)", [tenant])
    conn.execute(KEPT.encode(), {"tenant": tenant})
    conn.execute(
        "insert into memlayer.scope_statistic values (%s, 'user', 'nobody', 1, 1)", [tenant]
    )
    conn.execute(
        "insert into memlayer.term_statistic values (%s, 'user', 'nobody', 'tea', 2)", [tenant]
    )


def names(conn: Connection, query: str, *args: Any) -> list[str]:
    return [row[0] for row in conn.execute(query, args or None)]


def texts(conn: Connection, function: str = "get_all", **args: Any) -> list[str]:
    given = {"tenant": "acme", "user_id": "ann", "top_k": 100, **args}
    return [row["text"] for row in call(conn, function, **given)]


def answers(conn: Connection) -> list[Any]:
    """What a login gets of its tenant, by words, by names, by vector and in a list."""
    vector_ = {"embedding": vector(3), "model": "toy", "threshold": -1}
    found = call(conn, "search", tenant="acme", user_id="ann", query="Zeppelin coffee", **vector_)
    listed = call(conn, "get_all", tenant="acme", user_id="ann", filters={"colour": "red"})
    return [
        [(row["id"], round(row["score"], 9)) for row in found],
        [row["id"] for row in listed],
        texts(conn, "keyword_search", query='"number 7" -coffee'),
    ]
