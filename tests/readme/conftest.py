"""A database with the demo's data, and models that answer as the pages say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from memlayer_pg import Config, Memory
from memlayer_pg.demo.tour import Tour
from tests.api.harness import model
from tests.conftest import create, drop, named
from tests.endpoint import Endpoint

FACTS: dict[str, list[Any]] = {
    "I work at Ponte Studio, and I am allergic to peanuts.": [
        {
            "text": "The user works at Ponte Studio.",
            "entities": [{"name": "Ponte Studio", "type": "organization"}],
        },
        "The user is allergic to peanuts.",
    ],
    "I am allergic to peanuts.": ["The user is allergic to peanuts."],
    "I moved to Porto last week.": ["The user moved to Porto."],
    "I live in Porto.": ["The user lives in Porto."],
    "I never fly.": ["The user never flies.", "The assistant looks for trains."],
    "I never eat meat.": ["The user never eats meat."],
}
"""What the language model draws from what is said on the pages; from all else the text itself."""

MEM0 = """
create table mem0 (id uuid primary key, vector vector(1536), payload jsonb);
insert into mem0
select gen_random_uuid(), array_fill(0.1, array[1536])::vector, payload || '{
         "user_id": "ann", "hash": "-", "text_lemmatized": "-", "topic": "food",
         "created_at": "2025-03-02T10:00:00-08:00", "updated_at": "2025-03-02T10:00:00-08:00"}'
  from (values ('{"data": "Ann never eats meat."}'::jsonb), ('{"data": "Ann never eats meat."}'),
               ('{"data": "Tea, please.", "role": "user", "actor_id": "Ann"}')) t (payload);
"""
"""A table such as mem0 has."""

ALIKE = {"eat": "peanuts", "eats": "peanuts", "live": "porto", "move": "moved"}
"""Words that the embedder takes for one another: it knows no meaning but this."""


def extraction(request: dict[str, Any]) -> str:
    """The answer of the language model to a request for facts, or for a record."""
    asked = request["messages"][-1]["content"]
    new = asked.partition("# New messages\n")[2].partition("\n\n# ")[0]
    said = [re.sub(r"^\[\d+\] \w+[^:]*: ", "", line) for line in new.splitlines()]
    known = [text for text in said if text in FACTS]
    facts = [fact for text in known for fact in FACTS[text]] or said[-1:]
    return json.dumps({"facts": facts})


def alike(endpoint: Endpoint, text: str) -> list[float]:
    """The vector of a text, some words of which mean the same as others."""
    return endpoint.embed(re.sub(r"\w+", lambda word: ALIKE.get(word[0], word[0]), text))


@pytest.fixture
def models(endpoint: Endpoint) -> Endpoint:
    """Models that answer as the pages say."""
    from tests.endpoint import embeddings, pack

    def vectors(request: dict[str, Any]) -> dict[str, Any]:
        return embeddings([pack(alike(endpoint, text)) for text in request["input"]])

    endpoint.chat = extraction
    endpoint.embeddings = vectors
    return endpoint


@pytest.fixture(scope="session")
def filled(server: str, template: str) -> str:
    """A database with what `memlayer demo` leaves; leave no connection to it open: it is copied."""
    dsn = create(server, named(template))
    analyst = "psql of an analyst"
    with (
        Endpoint() as endpoint,
        Memory(Config(dsn=dsn, tenant="demo", embedder=model(endpoint))) as memory,
        psycopg.connect(dsn, autocommit=True, application_name=analyst) as conn,
    ):
        conn.execute(MEM0)
        for step in Tour(memory, conn, "").steps.values():
            step()
    return dsn


@pytest.fixture
def demo(server: str, filled: str) -> Iterator[str]:
    """The dsn of a copy of it. Roles that a page makes are dropped at the end."""
    roles = "select rolname from pg_roles"
    with psycopg.connect(server, autocommit=True) as admin:
        before = admin.execute(roles).fetchall()
        dsn = create(server, named(filled))
        yield dsn
        drop(server, dsn)
        for [role] in set(admin.execute(roles).fetchall()) - set(before):
            admin.execute(psycopg.sql.SQL("drop role {}").format(psycopg.sql.Identifier(role)))


def url(dsn: str, scheme: str = "postgresql") -> str:
    """A dsn as a URL."""
    parts = conninfo_to_dict(dsn)
    folder = quote(str(parts["host"]), safe="")
    return f"{scheme}://{parts['user']}@/{parts['dbname']}?host={folder}&port={parts['port']}"
