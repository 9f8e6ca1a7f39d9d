from __future__ import annotations

import pytest

from tests.sql.calls import Connection, call, consistent
from tests.sql.test_erase import lived

# What a foreign key or trigger would not let pass, and a broken disk or a superuser does.
BROKEN = {
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
