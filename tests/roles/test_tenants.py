"""Which tenants a login has."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import errors as refused
from psycopg.sql import SQL, Identifier

from memlayer_pg import errors
from tests.roles.store import EXECUTABLE, LOGINS, Store, names, texts, vector
from tests.sql.calls import Connection, add, call, count


@pytest.mark.parametrize("word", [word for word, (kind, _) in LOGINS.items() if kind != "admin"])
def test_no_function_takes_a_tenant_that_is_not_the_logins(store: Store, word: str) -> None:
    own = LOGINS[word][1] or ("default",)
    with store.connected(word) as conn:
        functions = names(conn, f"{EXECUTABLE} and 'p_tenant' = any (p.proargnames)")
        assert bool(functions) == (word != "nobody")
        for function in functions:
            for tenant in {"acme", "other", "default", "nowhere", ""} - set(own):
                with pytest.raises(errors.TenantNotAllowed, match=r"may not use tenant"):
                    call(conn, function, tenant=tenant)
            with pytest.raises(refused.DatabaseError) as raised:
                conn.execute(f"select * from memlayer.{function}(p_tenant => null)".encode())
            assert raised.value.sqlstate == "ML007"


def test_functions_of_operators_refuse_another_tenant_too_when_somebody_grants_them(
    store: Store, owner: Connection
) -> None:
    operators = {"bind_tenant", "unbind_tenant"}
    with store.connected("admin") as conn, store.connected("app") as app:
        more = set(names(conn, f"{EXECUTABLE} and p.proargnames[1] = 'p_tenant'"))
        more -= set(names(app, EXECUTABLE)) | operators | {"exact_threshold"}
    assert {"reset", "verify"} <= more
    with psycopg.connect(store.dsn) as conn:  # rolled back
        for function in sorted(more):
            conn.execute(
                SQL("grant execute on function {} to {}").format(
                    Identifier("memlayer", function), Identifier(store.login("app"))
                )
            )
        conn.execute(SQL("set session authorization {}").format(Identifier(store.login("app"))))
        for function in sorted(more):
            with pytest.raises(errors.TenantNotAllowed), conn.transaction():
                call(conn, function, tenant="other")
        conn.rollback()


def test_a_bound_login_has_its_tenants_and_an_unbound_one_the_default(store: Store) -> None:
    for word, tenant in (("app", "acme"), ("app_of_other", "other"), ("unbound", "default")):
        with store.connected(word) as conn:
            found = texts(conn, tenant=tenant)
            assert len(found) == 21
            assert all(f"of {tenant}" in text for text in found)


def test_a_login_bound_to_two_tenants_has_both(store: Store, owner: Connection) -> None:
    call(owner, "bind_tenant", role=store.login("app_of_other"), tenant="acme")
    try:
        with store.connected("app_of_other") as conn:
            assert len(texts(conn, tenant="acme")) == len(texts(conn, tenant="other")) == 21
    finally:
        call(owner, "unbind_tenant", role=store.login("app_of_other"), tenant="acme")


def test_a_binding_counts_at_once_and_for_connections_that_are_open(
    store: Store, owner: Connection, app: Connection
) -> None:
    assert texts(app)
    call(owner, "unbind_tenant", role=store.login("app"), tenant="acme")
    try:
        with pytest.raises(errors.TenantNotAllowed):
            texts(app)
        assert texts(app, tenant="default")
    finally:
        assert call(owner, "bind_tenant", role=store.login("app"), tenant="acme") == [
            {"bind_tenant": True}
        ]
    assert call(owner, "bind_tenant", role=store.login("app"), tenant="acme") == [
        {"bind_tenant": False}
    ]
    assert texts(app)


def test_only_roles_that_exist_are_bound_and_only_to_names_that_can_be_a_tenants(
    store: Store, owner: Connection
) -> None:
    with pytest.raises(errors.DatabaseError, match="there is no role"):
        call(owner, "bind_tenant", role="nobody of that name", tenant="acme")
    with pytest.raises(errors.FilterError):
        call(owner, "bind_tenant", role=store.login("app"), tenant="*")


@pytest.mark.parametrize("word", ["app", "reader"])
def test_a_login_cannot_bind_itself(store: Store, word: str) -> None:
    with store.connected(word) as conn:
        for function in ("bind_tenant", "unbind_tenant"):
            with pytest.raises(errors.DatabaseError, match="permission denied"):
                call(conn, function, role=store.login(word), tenant="other")
        with pytest.raises(refused.InsufficientPrivilege):
            conn.execute("select * from memlayer.tenant_role")


def test_set_role_neither_widens_nor_narrows_what_a_login_has(
    store: Store, owner: Connection
) -> None:
    other, login = store.login("app_of_other"), store.login("app")
    owner.execute(SQL("grant {} to {}").format(Identifier(other), Identifier(login)))
    try:
        with store.connected("app") as conn:
            conn.execute(SQL("set role {}").format(Identifier(other)))
            with pytest.raises(errors.TenantNotAllowed):
                texts(conn, tenant="other")
            assert texts(conn)
            for name in ("postgres", store.login("admin"), other):
                with pytest.raises(refused.InsufficientPrivilege):
                    conn.execute(SQL("set session authorization {}").format(Identifier(name)))
            with pytest.raises(refused.InsufficientPrivilege):
                conn.execute("set role postgres")
    finally:
        owner.execute(SQL("revoke {} from {}").format(Identifier(other), Identifier(login)))


def test_an_admin_has_every_tenant_and_what_operators_need(store: Store) -> None:
    with store.connected("admin") as conn:
        assert all(len(texts(conn, tenant=tenant)) == 21 for tenant in ("acme", "other", "default"))
        assert call(conn, "verify") == []
        assert count(conn, "memory") == 63
        [told] = call(conn, "explain_search", tenant="acme", user_id="ann", query="tea")
        assert told["path"] == "exact"
        with pytest.raises(refused.InsufficientPrivilege):
            conn.execute("update memlayer.memory set text = 'changed'")


def test_functions_serve_logins_with_the_rights_of_an_owner_who_is_no_superuser(
    server: str,
) -> None:
    from memlayer_pg import roles
    from tests.conftest import create, drop, lay, named

    dsn = create(server)
    owner, login = f"{named(dsn)}_owner", f"{named(dsn)}_app"
    with psycopg.connect(dsn, autocommit=True) as conn:
        roles.create(conn)
        conn.execute("create extension vector")
        conn.execute(f"create role {owner} login; create role {login} login".encode())
        conn.execute(f"grant create on database {named(dsn)} to {owner}".encode())
        conn.execute(f"grant memlayer_app to {login}".encode())
    try:
        lay(psycopg.conninfo.make_conninfo(dsn, user=owner))
        with psycopg.connect(psycopg.conninfo.make_conninfo(dsn, user=owner)) as conn:
            call(conn, "bind_tenant", role=login, tenant="acme")
            assert texts(conn, tenant="anything") == []
        with psycopg.connect(psycopg.conninfo.make_conninfo(dsn, user=login)) as conn:
            [id_] = add(
                conn, "Ann likes owners", tenant="acme", embeddings=[vector(1)], model="toy"
            )
            call(conn, "update", tenant="acme", id=id_, text="Ann likes tea")
            assert texts(conn) == texts(conn, "keyword_search", query="tea") == ["Ann likes tea"]
            with pytest.raises(errors.TenantNotAllowed):
                texts(conn, tenant="default")
    finally:
        drop(server, dsn)
        with psycopg.connect(server, autocommit=True) as conn:
            conn.execute(f"drop role {owner}; drop role {login}".encode())
