"""`memlayer db roles`, `grant` and `revoke`, and what doctor says of a login."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from memlayer_pg import embedded
from tests.cli.running import Shell
from tests.conftest import lay, named, temporary_folder


@pytest.fixture
def logins(server: str, alone: Shell) -> Iterator[list[str]]:
    """Two logins that may do nothing yet; gone after the test."""
    made = [f"{named(alone.dsn)}_{word}" for word in ("till", "analyst")]
    with psycopg.connect(alone.dsn, autocommit=True) as conn:
        for login in made:
            conn.execute(f"create role {login} login".encode())
    yield made
    with psycopg.connect(server, autocommit=True) as conn:
        for login in made:
            conn.execute(f"drop role {login}".encode())


def looked(shell: Shell, login: str | None = None, code: int = 0) -> dict[str, dict[str, Any]]:
    """What doctor says, run as a login."""
    dsn = make_conninfo(shell.dsn, user=login) if login else shell.dsn
    ran = Shell(dsn, shell.tenant)("doctor", "--offline", "--json")
    assert ran.code == code, ran.out
    return {check["name"]: check for check in ran.json}


def test_a_login_is_granted_what_an_app_may_in_its_tenants_and_it_is_taken_away(
    alone: Shell, logins: list[str]
) -> None:
    till, _ = logins
    alone.well("db", "roles")
    granted = alone.well(
        *("db", "grant", till, "--as", "app", "--tenant", "acme", "--tenant", "berlin", "--json"),
        MEMLAYER_TENANT="",
    ).json
    assert granted == {"login": till, "as": ["app"], "tenants": ["acme", "berlin"]}
    shop = Shell(make_conninfo(alone.dsn, user=till), "acme")
    shop.add("Ann likes tea")
    assert [
        row["memory"] for row in shop.well("list", "--user", "ann", "--json").json["results"]
    ] == ["Ann likes tea"]
    refused = Shell(shop.dsn, "other")("list", "--user", "ann")
    assert refused.code == 1
    assert f"login {till} may not use tenant other" in refused.err
    assert f"hint: An administrator can bind it: memlayer db grant {till}" in refused.err

    shown = alone.well("db", "roles").out
    assert till in shown
    assert "acme, berlin" in shown
    alone.well("db", "revoke", till, "--tenant", "berlin", MEMLAYER_TENANT="")
    # Roles are the cluster's: there may be others.
    listed = {one["login"]: one for one in alone.well("db", "roles", "--json").json["logins"]}
    assert listed[till]["tenants"] == ["acme"]
    taken = alone.well("db", "revoke", till, "--json", MEMLAYER_TENANT="").json
    assert taken == {"login": till, "lost": ["memlayer_app"], "now": None}
    assert shop("list", "--user", "ann").code == 1
    with psycopg.connect(alone.dsn) as conn:
        assert conn.execute("select count(*) from memlayer.tenant_role").fetchone() == (0,)


def test_what_cannot_be_granted_is_refused_with_what_to_do(alone: Shell, logins: list[str]) -> None:
    till, analyst = logins
    alone.well("db", "roles")
    nobody = alone("db", "grant", "nobody_there", "--as", "app", MEMLAYER_TENANT="")
    assert (nobody.code, "create role nobody_there login" in nobody.err) == (1, True)
    bound = alone("db", "grant", till, "--as", "admin", "--tenant", "acme")
    assert (bound.code, "an admin has every tenant" in bound.err) == (2, True)
    both = alone("db", "revoke", till, "--as", "app", "--tenant", "acme")
    assert both.code == 2
    alone.well("db", "grant", till, "--as", "app", MEMLAYER_TENANT="")
    as_till = Shell(make_conninfo(alone.dsn, user=till))
    other = as_till("db", "grant", analyst, "--as", "reader", MEMLAYER_TENANT="")
    assert (other.code, f"role {till} may not grant memlayer_reader" in other.err) == (1, True)
    assert "grant memlayer_reader to" in other.err
    again = as_till("db", "grant", till, "--as", "app", "--tenant", "acme")
    assert (again.code, "may not say which tenants" in again.err) == (1, True)
    apply = as_till("db", "roles")
    assert (apply.code, "does not own schema memlayer" in apply.err) == (1, True)


def test_doctor_says_who_it_runs_as_and_what_that_may_do(alone: Shell, logins: list[str]) -> None:
    till, analyst = logins
    alone.well("db", "roles")
    found = looked(alone)["role"]
    assert found["status"] == "warn"
    assert "is a superuser" in found["said"]
    stranger = looked(alone, till, code=1)["role"]
    assert (stranger["status"], stranger["next_step"]) == (
        "fail",
        f"memlayer db grant {till} --as app",
    )
    alone.well("db", "grant", till, "--as", "app", "--tenant", "acme")
    elsewhere = looked(alone, till, code=1)["role"]
    assert "its tenants: acme, and not default" in elsewhere["said"]
    alone.well("db", "grant", till, "--as", "app", "--tenant", "default")
    app = looked(alone, till)
    assert app["role"]["said"] == f"{till} is app; its tenants: acme, default"
    assert app["schema"]["status"] == "ok"
    assert app["vectors"]["status"] == "warn"
    assert "memlayer_admin" in app["vectors"]["next_step"]
    alone.well("db", "grant", analyst, "--as", "admin", MEMLAYER_TENANT="")
    admin = looked(alone, analyst)
    assert "it has every tenant" in admin["role"]["said"]
    assert admin["vectors"]["status"] == "ok"


def test_doctor_warns_where_anybody_may_plant_what_our_functions_would_run(alone: Shell) -> None:
    assert looked(alone)["schemas"]["status"] == "ok"
    with psycopg.connect(alone.dsn, autocommit=True) as conn:
        conn.execute("grant create on schema public to public")
    found = looked(alone)["schemas"]
    assert found["status"] == "warn"
    with psycopg.connect(alone.dsn, autocommit=True) as conn:
        conn.execute(str(found["next_step"]).encode())
    assert looked(alone)["schemas"]["status"] == "ok"


def test_who_may_not_make_roles_is_told_what_an_administrator_has_to_run() -> None:
    # A cluster of its own: roles are the cluster's, and other tests have made them in theirs.
    with temporary_folder() as folder, embedded.start(Path(folder), version=18) as running:
        dsn = make_conninfo(running.dsn, dbname="postgres")
        with psycopg.connect(dsn, autocommit=True) as conn:
            conn.execute("create role humble login createrole")
            conn.execute("create role owner login")
            conn.execute("create extension if not exists vector")
            conn.execute("grant create on database postgres to owner")
        owner = Shell(make_conninfo(dsn, user="owner"))
        before = owner("db", "roles")
        assert (before.code, "role owner may not create roles" in before.err) == (1, True)
        assert "create role memlayer_app" in before.err
        # Who may make roles needs no schema, and not to own it.
        made = Shell(make_conninfo(dsn, user="humble")).well("db", "roles", "--json").json
        assert made["made"] == ["memlayer_app", "memlayer_reader", "memlayer_admin"]
        assert made["granted"] is False
        lay(owner.dsn)
        with psycopg.connect(dsn, autocommit=True) as conn:
            assert conn.execute(
                "select has_function_privilege('memlayer_app', oid, 'execute') from pg_proc "
                "where oid::regproc::text = 'memlayer.add'"
            ).fetchone() == (True,)
        assert owner.well("db", "roles", "--json").json == {
            "made": [],
            "granted": True,
            "logins": [],
        }
