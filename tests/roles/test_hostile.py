"""What a login tries: settings, objects of its own, words that look like SQL."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from memlayer_pg import errors
from tests.roles.store import Store, answers, texts, vector
from tests.sql.calls import Connection, add, call, count, one

SETTINGS = """
select name, setting, vartype, enumvals from pg_settings
 where context = 'user' and vartype in ('bool', 'enum')
   and name not in ('default_transaction_read_only', 'transaction_read_only',
                    'transaction_deferrable', 'exit_on_error', 'standard_conforming_strings')
 order by name
"""

CONNECTIONS = 24

OTHERS = {
    "memlayer.now": "2001-01-01",
    "memlayer.change_id": "00000000-0000-0000-0000-000000000000",
    "memlayer.recorded": "INSERT",
    "memlayer.tenant": "other",
    "memlayer.search_path": "evil",
    "search_path": "pg_temp, evil, public",
    "DateStyle": "ISO, DMY",
    "IntervalStyle": "iso_8601",
    "TimeZone": "Pacific/Kiritimati",
    "default_text_search_config": "pg_catalog.simple",
    "application_name": "'; drop table memlayer.memory; --",
    "work_mem": "64kB",
    "hnsw.ef_search": "1",
    "hnsw.iterative_scan": "off",
    "extra_float_digits": "3",
    "plpgsql.extra_errors": "all",
}


def test_no_setting_lets_a_login_into_another_tenant(store: Store, app: Connection) -> None:
    tried: list[tuple[str, str]] = list(OTHERS.items())
    for name, setting, kind, values in app.execute(SETTINGS).fetchall():
        choices = values if kind == "enum" else ["on", "off"]
        tried += [(name, value) for value in choices if value != setting]
    assert len(tried) > 50
    expected = answers(app)
    for first in range(CONNECTIONS):  # on each some, far apart in the list
        with store.connected("app") as conn:
            kept = []
            for name, value in tried[first::CONNECTIONS]:
                try:
                    conn.execute("select '[1]'::halfvec, set_config(%s, %s, false)", [name, value])
                except psycopg.Error:  # not to be had on this server
                    continue
                kept.append(f"{name} = {value}")
            with pytest.raises(errors.TenantNotAllowed):
                texts(conn, tenant="other")
            assert answers(conn) == expected, kept


def test_literals_of_our_functions_are_read_in_one_way_only(app: Connection) -> None:
    app.execute("set standard_conforming_strings = off")
    for tenant in ("acme", "other"):
        with pytest.raises(errors.DatabaseError, match="standard_conforming_strings is off"):
            texts(app, tenant=tenant)


def test_objects_of_the_callers_own_change_nothing(store: Store, owner: Connection) -> None:
    login = Identifier(store.login("app"))
    owner.execute(SQL("create schema evil authorization {}").format(login))
    try:
        with store.connected("app") as conn:
            expected = answers(conn)
            for schema in ("evil", "pg_temp"):
                for name in ("memory", "tenant_role", "session", "history", "setting", "model"):
                    conn.execute(
                        f"create table {schema}.{name} (tenant text, role text, user_id text, "
                        "text text)".encode()
                    )
            conn.execute("insert into evil.tenant_role values ('other', session_user)")
            conn.execute("insert into pg_temp.tenant_role values ('other', session_user)")
            for name, args, result, body in (
                ("always", "text, text", "boolean", "return true"),
                ("lower", "text", "text", "return 'evil'"),
                ("now", "", "timestamptz", "return timestamptz '2001-01-01'"),
                ("require_tenant", "text", "void", "return"),
                ("pg_has_role", "name, name, text", "boolean", "return true"),
                ("pg_has_role", "name, oid, text", "boolean", "return true"),
                ("pg_has_role", "name, regrole, text", "boolean", "return true"),
                ("format", "text, text", "text", "return 'true or true'"),
                ("concat_ws", "text, text, text", "text", "return 'true'"),
                ("md5", "text", "text", "return 'x'"),
            ):
                conn.execute(
                    f"create function evil.{name}({args}) returns {result} language plpgsql "
                    f"as $$ begin {body}; end $$".encode()
                )
            conn.execute(
                "create operator evil.= (leftarg = text, rightarg = text, function = evil.always)"
            )
            conn.execute("set search_path = evil, pg_temp, pg_catalog, memlayer, public")
            for tenant in ("other", "default"):
                with pytest.raises(errors.TenantNotAllowed):
                    texts(conn, tenant=tenant)
            assert answers(conn) == expected
            [there] = add(conn, "Ann likes paths", tenant="acme")
            [entry] = call(conn, "history", tenant="acme", id=there)
            assert entry["updated_at"].year > 2001
            call(conn, "delete", tenant="acme", id=there)
            assert one(conn, "select count(*) from evil.memory") == 0
    finally:
        owner.execute("drop schema evil cascade")


PAYLOADS = [
    "' or '1'='1",
    "'; drop table memlayer.memory; --",
    '"; drop table memlayer.memory; --',
    "a') or tenant = 'other' --",
    "$1 or true",
    "%s %I %L",
    "$sql$ or true $sql$",
    "\\' or true --",
    "x' union select text from memlayer.memory --",
    "@ == 1) || true",
    "tenant",
    "m.tenant",
]


@pytest.mark.parametrize("payload", PAYLOADS)
def test_what_a_login_writes_stays_data(app: Connection, owner: Connection, payload: str) -> None:
    # Case B146.
    before = count(owner, "memory")
    spaceless = payload.replace(" ", "_")
    [own] = add(
        app,
        tenant="acme",
        user_id=spaceless,
        facts=[{"text": payload, "entities": [1], "metadata": {payload: {payload: 1}}}],
        entities=[{"name": payload, "type": payload}],
        embeddings=[vector(1)],
        model="toy",
        messages=[{"role": payload, "content": payload, "name": payload}],
        actor=payload,
        idempotency_key=payload,
        request_hash=payload,
    )  # fmt: skip
    who = {"tenant": "acme", "user_id": spaceless}
    for filters in (
        {payload: payload},
        {payload: {"contains": payload}},
        {payload: {"ne": "x"}},
        {"AND": [{payload: {"in": [payload]}}, {payload: "*"}]},
    ):
        try:
            found = [str(row["id"]) for row in call(app, "get_all", **who, filters=filters)]
        except errors.FilterError:
            continue
        assert found in ([own], []), filters
    # Whatever is asked, only what is one's own answers.
    for args in ({"query": payload}, {"query": payload, "entities": [payload]}):
        assert {str(row["id"]) for row in call(app, "search", **who, **args)} <= {own}
    for name in ("user_id", "agent_id", "run_id"):
        ids = {"user_id": None, name: spaceless}
        assert {str(row["id"]) for row in call(app, "get_all", tenant="acme", **ids)} <= {own}
    assert call(app, "get_all", **who, filters={"user_id": "ann"}) == []
    with pytest.raises(errors.TenantNotAllowed):
        call(app, "get_all", tenant=payload, user_id="ann")
    with pytest.raises(errors.FilterError):
        call(app, "search", **who, query="tea", fusion=payload)
    call(app, "delete", tenant="acme", id=own)
    assert count(owner, "memory") == before


def test_the_language_of_a_tenant_is_for_operators_and_stays_a_name(
    store: Store, app: Connection
) -> None:
    with pytest.raises(errors.DatabaseError, match="permission denied"):
        call(app, "set_language", tenant="acme", config="simple")
    with store.connected("admin") as conn:
        for payload in PAYLOADS:
            with pytest.raises(errors.FilterError):
                call(conn, "set_language", tenant="acme", config=payload)
