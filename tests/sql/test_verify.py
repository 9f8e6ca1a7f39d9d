from __future__ import annotations

import pytest

from tests.sql.calls import Connection, call, consistent
from tests.sql.test_erase import lived

# What a foreign key or trigger would not let pass, and a broken disk or a superuser does.
BROKEN = {
    "a vector in the history is not that of its step": (
        "update memlayer.history set old_embedding = '[1,2,3]' where old_embedding is not null"
    ),
    "a mention refers to what is not there": "delete from memlayer.entity",
    "a reference leads to no memory": "delete from memlayer.memory",
    "a message is of no session": "delete from memlayer.session",
    "the words of a scope are counted, and its memories are not": (
        "insert into memlayer.term_statistic (kind, scope_id, lexeme, memories)"
        " values ('user', 'ann', 'tea', 2)"
    ),
    "the history of the memory is of another scope": "update memlayer.memory set user_id = 'eve'",
    "history says the memory stands, and it does not": "delete from memlayer.memory",
    "history does not end at the current row": "update memlayer.memory set text = 'else'",
    "a derived column is wrong": "update memlayer.memory set hash = md5('else')",
    "a step of the history does not follow from the one before": (
        "delete from memlayer.history where event = 'ADD'"
    ),
    "the vector is not of its model": (
        "update memlayer.memory set embedding = '[1,2,3]', embedding_model = 1"
    ),
    "no memory mentions the entity": "delete from memlayer.mention",
    "an entity of another scope is mentioned": "update memlayer.entity set user_id = 'eve'",
    "the message buffer is not the newest ten": "delete from memlayer.message",
    "the call that changed the memory left no record": "delete from memlayer.change",
}


@pytest.mark.parametrize("problem", BROKEN)
def test_verify_names_what_is_broken(problem: str, conn: Connection) -> None:
    lived(conn, "ann")
    assert consistent(conn)
    conn.execute("set local session_replication_role = replica")
    conn.execute(BROKEN[problem])
    found = {row["problem"] for row in call(conn, "verify", tenant="default")}
    assert problem in found
    assert call(conn, "verify", tenant="other") == []


STEPS = {
    "the history of the memory is of another scope": (
        "update memlayer.history set user_id = 'eve' where version = 1",
    ),
    "a vector in the history is not that of its step": (
        "update memlayer.history set old_embedding = null, old_embedding_model = null",
        "update memlayer.history set old_embedding_model = 999 where old_embedding is not null",
        "update memlayer.history set old_embedding_model = null where old_embedding is not null",
    ),
    "a step of the history does not follow from the one before": (
        'update memlayer.history set new_state = new_state || \'{"text": "else"}\''
        " where version = 1",
        "update memlayer.history set version = version + 1 where version = 2",
        "update memlayer.history set event = 'BASELINE', old_state = null where version = 2"
        " and event = 'UPDATE'",
    ),
    "history does not end at the current row": (
        "delete from memlayer.history",
        "update memlayer.memory set metadata = '{\"a\": 1}'",
        "update memlayer.memory set expires_on = current_date",
        "update memlayer.memory set version = version + 1",
    ),
    "a derived column is wrong": (
        "update memlayer.memory set document = to_tsvector('simple', 'else')",
        "update memlayer.memory set document_length = document_length + 1",
        "update memlayer.memory set dedup_key = md5('else' || id)",
    ),
    "the vector is not of its model": (
        "update memlayer.memory set embedding_model = 999 where embedding is not null",
    ),
    "the vector of an entity is not of its model": (
        "update memlayer.entity set embedding = '[1,2,3]', embedding_model = 1",
    ),
    "a mention refers to what is not there": ("delete from memlayer.memory",),
    "a reference leads to no memory": (
        "update memlayer.link set linked_id = gen_random_uuid()",
        "update memlayer.link set memory_id = gen_random_uuid()",
    ),
    "the message buffer is not the newest ten": (
        "update memlayer.session set last_seq = last_seq + 1",
    ),
}


@pytest.mark.parametrize(
    ("problem", "statement"), [(name, text) for name, texts in STEPS.items() for text in texts]
)
def test_verify_sees_every_way_to_break_it(problem: str, statement: str, conn: Connection) -> None:
    lived(conn, "ann")
    conn.execute("set local session_replication_role = replica")
    assert conn.execute(statement.encode()).rowcount > 0
    assert problem in {row["problem"] for row in call(conn, "verify", tenant="default")}
