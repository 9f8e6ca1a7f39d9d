from __future__ import annotations

from tests.sql.calls import Connection, add, call


def said(*texts: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text} for text in texts]


def buffered(conn: Connection, **scope: str) -> list[str]:
    return [row["content"] for row in call(conn, "messages", **scope)]


def test_the_newest_ten_of_a_large_batch_stay_in_order(conn: Connection) -> None:
    add(conn, messages=said(*(f"m{n}" for n in range(13))))
    assert buffered(conn, user_id="ann") == [f"m{n}" for n in range(3, 13)]
    add(conn, messages=said("n0", "n1", "n2"))
    assert buffered(conn, user_id="ann") == [*(f"m{n}" for n in range(6, 13)), "n0", "n1", "n2"]


def test_a_user_alone_and_a_user_with_an_agent_are_two_buffers(conn: Connection) -> None:
    add(conn, messages=said("alone"))
    add(conn, messages=said("with agent"), agent_id="a")
    add(conn, messages=said("agent"), user_id=None, agent_id="a")
    assert buffered(conn, user_id="ann") == ["alone"]
    assert buffered(conn, user_id="ann", agent_id="a") == ["with agent"]
    assert buffered(conn, agent_id="a") == ["agent"]
    assert buffered(conn, user_id="bob") == []


def test_a_message_keeps_its_speaker_and_its_own_time(conn: Connection) -> None:
    message = {"role": "user", "content": "x", "name": "Ann", "created_at": "2020-05-01T00:00:00Z"}
    add(conn, messages=[message], observed_at="2021-01-01T00:00:00Z")
    [row] = call(conn, "messages", user_id="ann")
    assert (row["name"], row["created_at"].isoformat()) == ("Ann", "2020-05-01T00:00:00+00:00")


def test_the_context_holds_the_buffer_the_alike_and_the_newest(conn: Connection) -> None:
    for n in range(30):
        add(conn, f"fact {n}", embeddings=[[1.0, n / 10]], model="toy", messages=said(f"m{n}"))
    add(conn, "gone", embeddings=[[1.0, 0.0]], model="toy", expires_on="2020-01-01")
    add(conn, "not mine", user_id="bob", embeddings=[[1.0, 0.0]], model="toy")
    [context] = call(
        conn, "recall_context", user_id="ann", embedding=[1.0, 0.0], model="toy", messages=3
    )
    assert [m["content"] for m in context["messages"]] == ["m27", "m28", "m29"]
    texts = [m["text"] for m in context["memories"]]
    assert texts[:10] == [f"fact {n}" for n in range(10)]
    assert sorted(texts[10:]) == sorted(f"fact {n}" for n in range(10, 30))
    assert {m["source"] for m in context["memories"]} == {"similar", "recent"}


def test_an_empty_scope_has_an_empty_context(conn: Connection) -> None:
    [context] = call(conn, "recall_context", user_id="nobody", embedding=[1.0], model="toy")
    assert context == {"messages": None, "memories": None, "replay": None}
