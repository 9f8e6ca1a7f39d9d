from __future__ import annotations

import psycopg
import pytest

from memlayer_pg import errors
from tests.sql.calls import Connection, add, call, consistent, count, one

TWO = {
    "user_id": "ann",
    "facts": [
        {"text": "Ann likes tea", "entities": [1], "attributed_to": "user"},
        {"text": "Ann lives in Rome", "entities": [1, 2]},
    ],
    "embeddings": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
    "model": "toy",
    "entities": [{"name": "Ann", "type": "person"}, {"name": "Rome", "type": "place"}],
    "entity_embeddings": [[0.0, 0.0, 1.0], [0.0, 1.0, 1.0]],
    "messages": [{"role": "user", "content": "I am Ann"}],
    "usage": {"prompt_tokens": 12, "completion_tokens": 3, "embedding_tokens": 4},
}


def test_everything_of_one_add_is_there_and_agrees(conn: Connection) -> None:
    rows = call(conn, "add", **TWO, metadata={"source": "chat"}, llm="gpt", actor="importer")
    assert [(row["fact"], row["text"], row["event"]) for row in rows] == [
        (1, "Ann likes tea", "ADD"),
        (2, "Ann lives in Rome", "ADD"),
    ]
    tables = ("memory", "history", "entity", "mention", "message", "change")
    assert [count(conn, table) for table in tables] == [2, 2, 2, 3, 1, 1]
    [change] = conn.execute(
        "select added, entities, messages, llm, prompt_tokens, completion_tokens, embedding_tokens,"
        " actor from memlayer.change"
    )
    assert change == (2, 2, 1, "gpt", 12, 3, 4, "importer")
    assert call(conn, "get", id=rows[0]["id"])[0]["metadata"] == {"source": "chat"}
    assert call(conn, "verify") == []


def test_a_failing_fact_leaves_nothing_of_the_whole_add(conn: Connection) -> None:
    conn.execute("""
        create function pg_temp.boom() returns trigger language plpgsql as
        $$ begin if new.text like '%boom%' then raise 'boom'; end if; return new; end $$;
        create trigger boom before insert on memlayer.memory
          for each row execute function pg_temp.boom();
    """)
    with pytest.raises(errors.DatabaseError, match="boom"), conn.transaction():
        call(
            conn,
            "add",
            user_id="ann",
            facts=[{"text": "one", "entities": [1]}, {"text": "boom"}, {"text": "three"}],
            entities=[{"name": "One"}],
            messages=[{"role": "user", "content": "x"}],
        )
    tables = ("memory", "history", "entity", "mention", "message", "change", "session")
    assert [count(conn, table) for table in tables] == [0] * len(tables)


def test_an_extracted_fact_stands_once_in_its_exact_scope(conn: Connection) -> None:
    first = add(conn, "Ann likes tea", "Ann likes tea")
    assert first[0] == first[1]
    for _ in range(3):
        [row] = call(conn, "add", user_id="ann", facts=[{"text": "Ann likes tea"}])
        assert (str(row["id"]), row["event"], row["reason"]) == (first[0], "SKIP", "duplicate")
    assert count(conn, "memory") == 1
    for scope in ({"user_id": "bob"}, {"run_id": "r1"}, {"run_id": "r2"}, {"agent_id": "a"}):
        add(conn, "Ann likes tea", **scope)
    assert count(conn, "memory") == 5


def test_what_was_said_verbatim_may_repeat(conn: Connection) -> None:
    fact = {"text": "hello", "role": "user"}
    for _ in range(3):
        call(conn, "add", user_id="ann", facts=[fact, fact])
    summary = {"text": "Step 1", "memory_type": "procedural_memory"}
    call(conn, "add", agent_id="a", facts=[summary, summary])
    assert count(conn, "memory") == 8


def test_a_fact_whose_only_copy_has_expired_comes_back(conn: Connection) -> None:
    [old] = add(conn, "The code is 42", expires_on="2020-01-01")
    assert call(conn, "get_all", user_id="ann") == []
    [row] = call(conn, "add", user_id="ann", facts=[{"text": "The code is 42"}])
    assert (str(row["id"]), row["event"], row["reason"]) == (old, "SKIP", "revived")
    assert [m["text"] for m in call(conn, "get_all", user_id="ann")] == ["The code is 42"]
    assert [h["event"] for h in call(conn, "history", id=old)] == ["ADD", "UPDATE"]
    assert consistent(conn)


def test_facts_of_one_call_keep_their_order_in_a_list_by_time(conn: Connection) -> None:
    add(conn, *"abcdefgh")
    assert [m["text"] for m in call(conn, "get_all", user_id="ann")] == list("hgfedcba")


def test_an_idempotency_key_gives_the_same_answer_and_writes_once(conn: Connection) -> None:
    call_once = {**TWO, "idempotency_key": "k1", "request_hash": "h1"}
    first = call(conn, "add", **call_once)
    assert call(conn, "add", **call_once) == first
    assert (count(conn, "memory"), count(conn, "change"), count(conn, "message")) == (2, 1, 1)
    [context] = call(conn, "recall_context", user_id="ann", idempotency_key="k1", request_hash="h1")
    assert [row["event"] for row in context["replay"]] == ["ADD", "ADD"]
    with pytest.raises(errors.IdempotencyConflict), conn.transaction():
        call(conn, "add", **{**call_once, "request_hash": "h2"})


def test_links_stay_in_the_scope(conn: Connection) -> None:
    [mine] = add(conn, "Ann lives in Rome")
    [other] = add(conn, "Bob lives in Rome", user_id="bob")
    links = [{"id": mine, "kind": "updates"}, {"id": other, "kind": "contradicts"}]
    [row] = call(conn, "add", user_id="ann", facts=[{"text": "Ann lives in Oslo", "links": links}])
    assert conn.execute(
        "select memory_id, linked_id::text, kind from memlayer.link"
    ).fetchall() == [(row["id"], mine, "updates")]


def test_the_first_vector_names_the_model_and_another_is_refused(conn: Connection) -> None:
    add(conn, "one", embeddings=[[1.0, 0.0]], model="small")
    for model, vector in (("small", [1.0, 0.0, 0.0]), ("large", [1.0, 0.0])):
        with (
            pytest.raises(errors.EmbeddingMismatch, match=r"small \(2 dimensions\)"),
            conn.transaction(),
        ):
            add(conn, "two", embeddings=[vector], model=model)
        with pytest.raises(errors.EmbeddingMismatch), conn.transaction():
            call(conn, "search", query="x", embedding=vector, model=model, user_id="ann")
    add(conn, "two", embeddings=[[1.0, 0.0, 0.0]], model="large", tenant="other")
    assert count(conn, "memory") == 2
    with pytest.raises(errors.EmbeddingMismatch, match="no embedding model"), conn.transaction():
        add(conn, "three", embeddings=[[1.0]], tenant="third")


@pytest.mark.parametrize(
    ("args", "kind"),
    [
        ({"user_id": None}, errors.ScopeMissing),
        ({"user_id": "*"}, errors.FilterError),
        ({"user_id": ""}, errors.FilterError),
        ({"user_id": "a b"}, errors.FilterError),
        ({"user_id": "é" * 128}, errors.NotStorable),
        ({"tenant": " "}, errors.FilterError),
        ({"facts": {"text": "x"}}, errors.NotStorable),
        ({"facts": [1]}, errors.NotStorable),
        ({"facts": [{"text": " \n"}]}, errors.NotStorable),
        ({"facts": [{}]}, errors.NotStorable),
        ({"facts": [{"text": "x" * 10485761}]}, errors.NotStorable),
        ({"metadata": {"k": "x" * 1048577}}, errors.NotStorable),
        ({"entities": [{"name": " "}]}, errors.NotStorable),
        ({"entities": [{"name": "é" * 201}]}, errors.NotStorable),
        ({"messages": [{"role": "user"}]}, errors.NotStorable),
        ({"idempotency_key": "k"}, errors.IdempotencyConflict),
    ],
)
def test_bad_input_is_refused_by_its_code_and_stores_nothing(
    conn: Connection, args: dict[str, object], kind: type[errors.DatabaseError]
) -> None:
    given = {"user_id": "ann", "facts": [{"text": "x"}], **args}
    with pytest.raises(kind), conn.transaction():
        call(conn, "add", **given)
    assert (count(conn, "memory"), count(conn, "session"), count(conn, "change")) == (0, 0, 0)


def test_five_megabytes_of_text_are_stored_whole(conn: Connection) -> None:
    text = "word " * 1_000_000
    [memory] = add(conn, text)
    assert call(conn, "get", id=memory)[0]["text"] == text


def test_vectors_stay_in_the_row_at_3072_dimensions_beside_2000_characters(
    conn: Connection,
) -> None:
    words = " ".join(f"word{n}x{n * 7919 % 1009}" for n in range(200))[:2000]
    vector = [((n * 31) % 97 - 48) / 97 for n in range(3072)]
    add(
        conn,
        words,
        embeddings=[vector],
        model="large",
        entities=[{"name": "Ann"}],
        entity_embeddings=[vector],
        facts=[{"text": words, "entities": [1]}],
    )
    for table in ("memory", "entity"):
        # What lies out of line has a chunk of its own; an inline value has none.
        toast = one(
            conn,
            "select reltoastrelid::regclass::text from pg_class where oid = %s::regclass",
            f"memlayer.{table}",
        )
        largest = one(
            conn,
            "select coalesce(max(total), 0) from ("
            f"select sum(length(chunk_data)) total from {toast} group by chunk_id) t",
        )
        assert largest < 6000, f"a vector of {table} was moved out of its row"
        assert one(conn, f"select pg_column_size(embedding) from memlayer.{table}") > 6000


def test_half_precision_vectors_come_back_as_they_were_sent(conn: Connection) -> None:
    add(conn, "x", embeddings=[[0.5, -0.25, 2.0]], model="toy")
    assert one(conn, "select embedding::text from memlayer.memory") == "[0.5,-0.25,2]"


def test_psycopg_reports_the_plain_error_for_a_second_equal_row(conn: Connection) -> None:
    add(conn, "x")
    with pytest.raises(psycopg.errors.UniqueViolation), conn.transaction():
        conn.execute("insert into memlayer.memory (user_id, text) values ('ann', 'x')")
