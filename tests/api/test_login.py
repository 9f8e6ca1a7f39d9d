"""A Memory whose login may call functions, of one tenant, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

from memlayer_pg import roles
from memlayer_pg.errors import DatabaseError, InputError, TenantNotAllowed
from tests.api.harness import Harness, Make
from tests.api.test_reading import ANN, NOWHERE, found, say

pytestmark = pytest.mark.usefixtures("consistent")


@pytest.fixture
def logins(live: str, tenant: str) -> Iterator[dict[str, str]]:
    """The dsns of an app and a reader of this test's tenant, and of a login without rights."""
    names = {kind: f"{tenant}-{kind}" for kind in ("app", "reader", "nobody")}
    with psycopg.connect(live, autocommit=True) as conn:
        roles.create(conn)
        roles.apply(conn)
        for kind, name in names.items():
            conn.execute(SQL("create role {} login").format(Identifier(name)))
            if kind in roles.ROLES:
                roles.grant(conn, name, kind, [tenant])
        yield {kind: make_conninfo(live, user=name) for kind, name in names.items()}
        for name in names.values():
            roles.revoke(conn, name, None)
            conn.execute(SQL("drop role {}").format(Identifier(name)))


@pytest.fixture
def memory(make: Make, logins: dict[str, str]) -> Harness:
    return make(dsn=logins["app"])


def test_every_usual_operation_works_for_an_app(
    memory: Any, endpoint: Any, sql: Any, tenant: str
) -> None:
    endpoint.facts("Ann likes green tea")
    [fact] = memory.add("I like green tea", user_id="ann", idempotency_key="k")["results"]
    assert memory.add("I like green tea", user_id="ann", idempotency_key="k")["results"] == [fact]
    [said] = say(memory, "Ann plays the cello with Eve")
    id_ = fact["id"]
    for answer in (
        memory.search("green tea", filters=ANN, explain=True),
        memory.search("tea", filters={**ANN, "topic": {"ne": "food"}}),
        memory.keyword_search("tea", filters=ANN),
        memory.get_all(filters=ANN, with_total=True),
        memory.similar_to(said),
    ):
        assert "Ann likes green tea" in found(answer)
    assert memory.update(id_, "Ann likes black tea", metadata={"sure": True})["message"]
    prepared = memory.prepare_update(id_, "Ann likes white tea")
    memory.apply(prepared)
    assert memory.get(id_)["memory"] == "Ann likes white tea"
    assert [entry["event"] for entry in memory.history(id_)] == ["ADD", "UPDATE", "UPDATE"]
    assert [one["content"] for one in memory.messages("ann")][-1] == "Ann plays the cello with Eve"
    assert [one["id"] for one in memory.scopes()] == ["ann"]
    sql("update memlayer.memory set text = 'Ann likes it' where id = %(id)s", id=id_)
    assert memory.embed_pending() == {"embedded": 1, "pending": 0}
    assert memory.add_many([{"messages": "hello", "user_id": "bob", "infer": False}])[0]["results"]
    memory.delete(id_)
    exported = memory.get_all(filters={"user_id": "bob"})["results"]
    memory.delete_all("bob")
    assert memory.import_memories(exported)["added"] == 1
    memory.delete_all("bob")
    memory.delete_all("ann")
    assert memory.scopes() == []
    roles_ = sql("select distinct database_role from memlayer.change where tenant = %(tenant)s")
    assert roles_ == [(f"{tenant}-app",)]


def test_another_tenant_is_refused_by_a_class_of_its_own(
    make: Make, logins: dict[str, str]
) -> None:
    elsewhere: Any = make(dsn=logins["app"], tenant="of-somebody-else")
    calls: list[Callable[[], Any]] = [
        lambda: elsewhere.search("tea", filters=ANN),
        lambda: elsewhere.get(NOWHERE),
        lambda: elsewhere.history(NOWHERE),
        lambda: elsewhere.add("tea", user_id="ann", infer=False),
        lambda: elsewhere.delete_all("ann"),
    ]
    for call in calls:
        with pytest.raises(TenantNotAllowed, match="may not use tenant of-somebody-else") as raised:
            call()
        assert raised.value.sqlstate == "ML007"
        assert "memlayer db grant" in str(raised.value.suggestion)


def test_a_reset_is_for_administrators(memory: Any, sql: Any) -> None:
    say(memory, "tea")
    with pytest.raises(DatabaseError, match="permission denied for function reset") as raised:
        memory.reset()
    assert raised.value.sqlstate == "42501"
    assert sql("select count(*) from memlayer.memory where tenant = %(tenant)s") == [(1,)]


def test_a_reader_searches_and_cannot_write(
    make: Make, memory: Any, logins: dict[str, str]
) -> None:
    [id_] = say(memory, "Ann likes tea")
    reader: Any = make(dsn=logins["reader"])
    assert found(reader.search("tea", filters=ANN)) == ["Ann likes tea"]
    assert reader.get(id_)["memory"] == "Ann likes tea"
    with pytest.raises(DatabaseError, match="permission denied"):
        say(reader, "Ann likes coffee")
    with pytest.raises(DatabaseError, match="permission denied"):
        reader.delete(id_)


def test_a_login_without_rights_is_told_what_it_lacks(make: Make, logins: dict[str, str]) -> None:
    memory: Any = make(dsn=logins["nobody"])
    with pytest.raises(DatabaseError, match="the login has no rights") as raised:
        memory.get(NOWHERE)
    assert "memlayer db grant" in str(raised.value.suggestion)


def test_each_write_can_say_who_acted(memory: Any, sql: Any) -> None:
    [id_] = say(memory, "Ann likes tea", actor="clerk 1")
    memory.update(id_, "Ann likes coffee", actor="clerk 2")
    memory.apply(memory.prepare_update(id_, "Ann likes cocoa", actor="clerk 3"))
    memory.apply(memory.prepare_add("hello", user_id="bob", infer=False, actor="clerk 4"))
    sql("update memlayer.memory set text = 'Ann likes milk' where id = %(id)s", id=id_)
    memory.embed_pending(actor="clerk 5")
    memory.delete_all("bob", actor="clerk 6")
    memory.delete(id_, actor="clerk 7")
    memory.import_memories([{"memory": "moo", "user_id": "cow"}], embed=True, actor="clerk 8")
    assert [entry.get("actor") for entry in memory.history(id_)] == [
        "clerk 1", "clerk 2", "clerk 3", None, "clerk 5", "clerk 7",
    ]  # fmt: skip
    labels = sql("select actor from memlayer.change where tenant = %(tenant)s order by actor")
    assert labels == [(f"clerk {n}",) for n in range(1, 9)]
    for wrong in ("", " ", "x" * 256, 7):
        with pytest.raises(InputError, match="actor"):
            memory.delete(id_, actor=wrong)


def test_a_reset_says_who_acted(make: Make, sql: Any) -> None:
    memory: Any = make()
    memory.reset(actor="clerk 8")
    assert sql("select actor from memlayer.change where tenant = %(tenant)s") == [("clerk 8",)]
