"""The two classes are one interface, and it is mem0's with more in it."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from typing import Any

import pytest

from memlayer_pg import (
    AsyncMemory,
    Memory,
    feed,
    flows,
    handshake,
    pending,
    reverting,
    schema,
    updating,
    writing,
)

METHODS = sorted(
    name
    for name, member in vars(Memory).items()
    if inspect.isfunction(member) and not name.startswith("_") and name != "close"
)

# mem0ai 2.2.1, by name: (parameters that may be positional, keywords with their defaults)
MEM0: dict[str, tuple[list[str], dict[str, Any]]] = {
    "add": (
        ["messages"],
        {"user_id": None, "agent_id": None, "run_id": None, "metadata": None, "timestamp": None,
         "expiration_date": None, "infer": True, "memory_type": None, "prompt": None},
    ),
    "get": (["memory_id"], {}),
    "get_all": ([], {"filters": None, "top_k": 20, "show_expired": False}),
    "search": (
        ["query"],
        {"top_k": 20, "filters": None, "threshold": 0.1, "rerank": False, "explain": False,
         "reference_date": None, "show_expired": False},
    ),
    "update": (["memory_id", "text", "metadata", "expiration_date", "data"], {}),
    "delete": (["memory_id"], {}),
    "delete_all": (["user_id", "agent_id", "run_id"], {}),
    "history": (["memory_id"], {}),
    "reset": ([], {}),
}  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_the_same_awaited(name: str) -> None:
    blocking, awaited = getattr(Memory, name), getattr(AsyncMemory, name)
    assert inspect.iscoroutinefunction(awaited)
    assert inspect.signature(blocking) == inspect.signature(awaited)
    assert inspect.getdoc(blocking) == inspect.getdoc(awaited)
    assert inspect.getdoc(blocking)
    commits = name in ("add_many", "embed_pending") or name.startswith("reembed")  # as they go
    assert commits != ("connection" in inspect.signature(blocking).parameters)


def test_neither_has_a_method_that_the_other_has_not() -> None:
    def names(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    assert names(AsyncMemory) - names(Memory) == {"aclose"}
    assert names(Memory) <= names(AsyncMemory)


@pytest.mark.parametrize("name", MEM0)
def test_a_method_takes_what_mem0s_takes(name: str) -> None:
    positional, keywords = MEM0[name]
    parameters = inspect.signature(getattr(Memory, name)).parameters
    kinds = inspect.Parameter
    found = [
        key
        for key, parameter in parameters.items()
        if parameter.kind == kinds.POSITIONAL_OR_KEYWORD and key != "self"
    ]
    assert found == positional
    only = {key: p.default for key, p in parameters.items() if p.kind == kinds.KEYWORD_ONLY}
    assert {key: only[key] for key in keywords} == keywords
    # Whatever is ours alone can be left out.
    assert all(only[key] is not kinds.empty for key in only.keys() - keywords.keys())
    open_ended = any(p.kind == kinds.VAR_KEYWORD for p in parameters.values())
    assert open_ended == (name in ("get_all", "search"))


def test_both_are_made_from_mem0s_dictionary_without_waiting() -> None:
    config = {"vector_store": {"provider": "pgvector", "config": {"connection_string": "host=h"}}}
    given: dict[str, Any] = {"embedder": _Embedder(), "llm": _Model()}
    for kind in (Memory, AsyncMemory):
        for memory in (kind.from_config(config, **given), kind(config, **given)):
            assert memory.location == "host=h"
            memory.close()


def test_the_package_is_imported_without_what_it_may_not_need() -> None:
    code = "import sys, memlayer_pg; print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    heavy = {"openai", "alembic", "sqlalchemy", "click", "rich", "psycopg", "asyncio", "numpy"}
    assert heavy & set(loaded.split()) == set()
    code = "import sys; from memlayer_pg import Memory; print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    heavy = {"openai", "alembic", "sqlalchemy", "click", "rich", "numpy", "httpx"}
    assert heavy & set(loaded.split()) == set()


def test_python_calls_only_functions_and_parameters_that_are_there(conn: Any) -> None:
    there = dict(
        conn.execute(
            "select p.proname, p.proargnames from pg_proc p"
            " where p.pronamespace = 'memlayer'::regnamespace"
        ).fetchall()
    )
    called = {}
    for module in (flows, writing, updating, pending, reverting, feed, handshake):
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in ("call", "Call")
                and isinstance(node.args[0], ast.Constant)
            ):
                name = node.args[0].value
                called[name] = {keyword.arg for keyword in node.keywords if keyword.arg}
                assert called[name] <= set(there[name] or []), name
    files = {path.removeprefix("api/").removesuffix(".sql") for path in schema.load_order()
             if path.startswith("api/")}  # fmt: skip
    methods = {*METHODS, "recall_context", "pending", "handshake"}
    assert called.keys() - {"handshake"} <= files | {"add", "update"}
    assert called.keys() <= methods


class _Embedder:
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, 2.0] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, 2.0]


class _Model:
    def generate(self, messages: Any, *, json_schema: Any = None) -> str:
        return '{"facts": []}'
