"""What is asked of mem0 and of memlayer-pg: scripts of calls, each script on a store of its own.

Both sides import this module, so nothing of either is named here, and only the standard library is
used.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

TODAY = datetime.now(UTC).date()
YESTERDAY = TODAY - timedelta(days=1)
TOMORROW = TODAY + timedelta(days=1)
NOBODY = str(uuid.UUID(int=7))
ANN: dict[str, Any] = {"user_id": "ann"}
BOB: dict[str, Any] = {"user_id": "bob"}


@dataclass(frozen=True)
class Ref:
    """A part of what an earlier call of the script gave: `Ref("tea", "results", 0, "id")`."""

    name: str
    path: tuple[Any, ...]


def ref(name: str, *path: Any) -> Any:
    """A part of an earlier result, by default the id of the first memory added."""
    return Ref(name, path or ("results", 0, "id"))


@dataclass(frozen=True)
class Call:
    """A call of a method.

    `llm`: what the language model answers to it (mem0's format); a tuple is a status and a body.
    `name`: for `ref`. `differs`: the row of the table of differences that explains why the two do
    not answer alike. `ties`: results of equal scores are among those it gives, in any order.
    """

    method: str
    args: tuple[Any, ...] = ()
    given: dict[str, Any] = field(default_factory=dict)
    llm: Any = None
    name: str | None = None
    differs: str | None = None
    ties: bool = False

    def __str__(self) -> str:
        shown = [repr(value) for value in self.args]
        shown += [f"{name}={value!r}" for name, value in self.given.items()]
        return f"{self.method}({', '.join(shown)})"[:150]


def call(
    method: str,
    *args: Any,
    llm: Any = None,
    name: str | None = None,
    differs: str | None = None,
    ties: bool = False,
    **given: Any,
) -> Call:
    """A call, its arguments as they are written."""
    return Call(method, args, given, llm, name, differs, ties)


def facts(*texts: Any, **more: Any) -> str:
    """An answer with these facts, as mem0's prompt asks for it."""
    listed = [
        {"id": str(number), "text": text, "attributed_to": "user"}
        if isinstance(text, str)
        else text
        for number, text in enumerate(texts)
    ]
    return json.dumps({"memory": listed, **more})


def said(text: str, *, name: str | None = None, differs: str | None = None, **given: Any) -> Call:
    """Store a text word for word."""
    return call("add", text, infer=False, name=name, differs=differs, **{**ANN, **given})


def everything(differs: str | None = None, **conditions: Any) -> Call:
    """All memories of ann that match."""
    return call("get_all", filters={**ANN, **conditions}, top_k=100, differs=differs)


def found(query: str, differs: str | None = None, **conditions: Any) -> Call:
    """A search within ann's memories that match, however far they are."""
    return call(
        "search", query, filters={**ANN, **conditions}, threshold=0.0, differs=differs, ties=True
    )


def user(text: str) -> dict[str, str]:
    """A message of the user's."""
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, str]:
    """A message of the assistant's."""
    return {"role": "assistant", "content": text}


SCRIPTS: dict[str, list[Call]] = {
    # B013, B020, B024, B145: what nobody may be, and what is no message
    "what add takes": [
        call("add", "x", timestamp="2024-01-01", **ANN, differs="`timestamp` of `add`"),
        call("add", "x"),
        call("add", "x", user_id=None, agent_id=None, run_id=None),
        call("add", "x", user_id=""),
        call("add", "x", user_id="   "),
        call("add", "x", agent_id="two words"),
        call("add", "x", run_id="a\tb"),
        call("add", "x", user_id=True, infer=False, differs="ids of other types"),
        call("add", "x", user_id=1.5, infer=False, differs="ids of other types"),
        call("add", None, **ANN),
        call("add", 5, **ANN),
        call("add", ("x",), **ANN),
        call("add", "x", memory_type="semantic_memory", **ANN),
        call("add", "x", memory_type="", **ANN),
        call("add", "x", expiration_date="soon", **ANN),
        call("add", "x", expiration_date="", **ANN),
        call("add", "x", expiration_date=5, **ANN),
        call("add", "x", expiration_date="2024-01-01T10:00:00", **ANN),
        call("add", "x", expiration_date="20240101", infer=False, **ANN,
             differs="`expiration_date` as text"),
        call("add", "x", filters=ANN),
        call("add", "x", "y", **ANN),
        # in what order
        call("add", None, user_id="two words"),
        call("add", None, user_id="two words", expiration_date="soon"),
        call("add", None, memory_type="x", user_id="two words"),
        call("add", None, memory_type="x", **ANN),
        call("add", ["x"], infer=False, **ANN, differs="a message without a role"),
        call("add", [], infer=False, **ANN),
        call("add", [], llm=facts(), **ANN),
        call("add", "", infer=False, **ANN, differs="a message without text"),
        call("add", "nothing\0here", infer=False, **ANN, differs="NUL and lone surrogates"),
    ],
    # B009, B020: parts, images, numbers as ids
    "word for word": [
        said("Ann drinks tea.", name="tea"),
        call("get", ref("tea")),
        call("get", memory_id=ref("tea")),
        everything(),
        call("add", user("Ann has a cat."), infer=False, **ANN),
        call("add", [user("Ann moved."), assistant("Noted.")], infer=False, **ANN, name="two"),
        call("get", ref("two", "results", 1, "id")),
        call("add", [{"role": "user", "name": "ann", "content": "I run."}], infer=False,
             name="named", **ANN),
        call("get", ref("named")),
        call("add", [{"role": "system", "content": "Be kind."}], infer=False, **ANN),
        call("add", [{"role": "tool", "content": "18 degrees"}], infer=False, **ANN),
        said("Ann drinks tea."),
        said("  padded  "),
        said("Ann knows 東京 and ☕."),
        call("add", "Mine.", infer=False, user_id=7, name="seven"),
        call("get", ref("seven")),
        call("get_all", filters={"user_id": 7}),
        call("get_all", filters={"user_id": "7"}),
        call("add", "Ours.", infer=False, user_id=" ann ", agent_id="helper", run_id="r1",
             name="three"),
        call("get", ref("three")),
        call("add", [user("Look"), {"role": "assistant", "content": None}], infer=False, **ANN),
        call("add", [{"role": "user", "content": [
            {"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}],
             infer=False, **ANN),
        call("add", [{"role": "user", "content": [
            {"type": "text", "text": "A picture"},
            {"type": "image_url", "image_url": {"url": "http://x/y.png"}}]}], infer=False, **ANN),
        call("add", [{"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": "http://x/y.png"}}]}], infer=False, **ANN),
    ],
    # B003: other keys stay
    "metadata": [
        said("One.", metadata={"a": 1, "b": {"c": [1, 2.5, None, True]}}, name="one"),
        call("get", ref("one")),
        said("Two.", metadata={}, name="two"),
        call("get", ref("two")),
        said("Three.", metadata={"user_id": "eve", "actor_id": "eve", "k": "v"}, name="three"),
        call("get", ref("three")),
        said("Four.", metadata={"data": "x", "hash": "y", "k": "v"}, name="four"),
        call("get", ref("four"), differs="`created_at`, `data`, `hash`, `id` in metadata"),
        said("Five.", metadata={"note": "Zürich ☕ 東京"}, name="five"),
        call("get", ref("five")),
        said("Six.", metadata={"when": date(2024, 1, 1)}, differs="metadata that is not JSON"),
        call("update", ref("one"), metadata={"a": 2, "d": "new"}),
        call("get", ref("one")),
        call("update", ref("one"), metadata={"user_id": "eve"}),
        call("get", ref("one")),
        call("update", ref("one"), metadata={"b": None}),
        call("get", ref("one")),
    ],
    # B020, B036, B037, B063, B145: limits, thresholds, queries, scopes
    "what readers take": [
        said("Ann drinks tea."),
        call("get_all"),
        call("get_all", filters={}),
        call("get_all", filters={"category": "x"}),
        call("get_all", user_id="ann"),
        call("get_all", user_id="ann", filters=ANN),
        call("get_all", filters=ANN, limit=1),
        call("get_all", filters=ANN, anything="goes"),
        call("get_all", filters=ANN, top_k="2"),
        call("get_all", filters=ANN, top_k=-1),
        call("get_all", filters=ANN, top_k=True),
        call("get_all", filters=ANN, top_k=2.0),
        call("get_all", filters=ANN, top_k=None, differs="`top_k=None`"),
        call("get_all", filters=ANN, top_k=0, differs="`top_k=0` of `get_all`"),
        call("get_all", filters={"user_id": ""}),
        call("get_all", filters={"user_id": "two words"}),
        call("get_all", filters={"user_id": " ann "}),
        call("get_all", filters={"user_id": None}, differs="`None` as an id in `filters`"),
        call("get_all", filters={"user_id": "nobody"}),
        call("get_all", top_k=-1),
        call("get_all", ANN),
        call("search", "tea"),
        call("search", "tea", filters={}),
        call("search", "tea", user_id="ann"),
        call("search", "tea", agent_id="a", filters=ANN),
        call("search", "tea", filters=ANN, limit=1),
        call("search", "tea", filters=ANN, version="v2"),
        call("search", "tea", filters=ANN, reference_date="2024-01-01",
             differs="`reference_date` of `search`"),
        call("search", "tea", filters=ANN, threshold="high"),
        call("search", "tea", filters=ANN, threshold=1.5),
        call("search", "tea", filters=ANN, threshold=-0.1),
        call("search", "tea", filters=ANN, threshold=None),
        call("search", "tea", filters=ANN, threshold=True,
             differs="`threshold` of True or NaN"),
        call("search", "tea", filters=ANN, threshold=float("nan"),
             differs="`threshold` of True or NaN"),
        call("search", "tea", filters=ANN, top_k=0),
        call("search", "tea", filters=ANN, top_k="1"),
        call("search", "", filters=ANN),
        call("search", "   ", filters=ANN),
        call("search", None, filters=ANN),
        call("search", 5, filters=ANN),
        call("search", "tea", filters={"user_id": "a b"}),
        # in what order
        call("search", "", threshold="high", top_k="1"),
        call("search", "", top_k="1"),
        call("search", ""),
        call("search", "", user_id="ann", threshold=9),
        call("search", "tea", ANN),
    ],
    "a search": [
        said("Ann drinks green tea every morning.", name="tea", metadata={"about": "drinks"}),
        said("Ann rides a red bicycle to work."),
        said("Ann plays the cello in an orchestra."),
        call("search", "Who rides a red bicycle?", filters=ANN),
        call("search", "plays the cello", filters=ANN, top_k=1),
        call("search", query="green tea", filters=ANN, top_k=1, threshold=0.3),
        call("search", "green tea", filters=ANN, top_k=1, explain=True,
             differs="keys of a result"),
        call("search", "zzz qqq", filters=ANN, threshold=0.9),
        call("search", "green tea", filters=ANN, top_k=1, rerank=True),
        call("search", "green tea", filters=BOB),
        call("search", "  green tea  ", filters=ANN, top_k=1),
        call("search", "tea", filters={"user_id": "*"}, differs='`"*"` as an id'),
    ],
    # B049, B050, B054, B055, B057, B058, B060, B062, B063: every operator
    "filters": [
        said("Alpha one.", metadata={"n": 1, "tag": "a", "flag": True, "list": ["x", "y"]}),
        said("Alpha two.", metadata={"n": 2, "tag": "b", "flag": False}),
        said("Alpha three.", metadata={"n": 10, "tag": "c%_"}),
        said("Alpha four.", agent_id="helper", run_id="r1"),
        call("add", "Alpha bob.", infer=False, metadata={"tag": "a"}, **BOB),
        everything(tag="a"),
        everything(tag="nothing"),
        everything(n=1),
        everything(n="1", differs="types in filters"),
        everything(flag=True),
        everything(flag=False),
        everything(tag=["a", "b"]),
        everything(n=[1, 2]),
        everything(tag="*"),
        everything(n={"gt": 1}),
        everything(n={"gte": 2}),
        everything(n={"lt": 10}),
        everything(n={"lte": 2}),
        everything(n={"gte": 1, "lte": 2}),
        everything(n={"eq": 2}),
        everything(tag={"eq": "b"}),
        everything(tag={"ne": "a"}, differs="`ne`, `nin`, `NOT`"),
        everything(tag={"in": ["a", "b"]}),
        everything(tag={"nin": ["a", "b"]}, differs="`ne`, `nin`, `NOT`"),
        everything(tag={"contains": "%"}),
        everything(tag={"icontains": "C"}),
        everything(tag={"contains": "C"}),
        everything(flag={"eq": True}, differs="types in filters"),
        everything(n={"gt": "2024-01-01"}, differs="types in filters"),
        everything(n={"in": 1}, differs="a filter that is not understood"),
        everything(n={"between": [1, 2]}, differs="a filter that is not understood"),
        everything(agent_id="helper"),
        everything(run_id="r1"),
        everything(role="user"),
        call("get_all", filters={"agent_id": "helper"}),
        call("get_all", filters={**ANN, "AND": [{"tag": "a"}]},
             differs="nested `AND`, `OR`, `NOT`"),
        call("get_all", filters={**ANN, "$or": [{"tag": "a"}, {"tag": "b"}]}),
        found("alpha", tag="a"),
        found("alpha", n={"gte": 1, "lte": 2}),
        found("alpha", tag="*"),
        found("alpha", AND=[{"tag": "a"}, {"n": 1}]),
        found("alpha", AND=[{"tag": "a"}, {"tag": "b"}], differs="nested `AND`, `OR`, `NOT`"),
        found("alpha", AND=[]),
        found("alpha", OR=[{"tag": "a"}, {"tag": "b"}]),
        found("alpha", OR=[], differs="a filter that is not understood"),
        found("alpha", AND="x", differs="a filter that is not understood"),
        found("alpha", OR=[{"tag": "a"}, {"n": {"gt": 5}}]),
        found("alpha", NOT=[{"tag": "a"}], differs="`ne`, `nin`, `NOT`"),
        found("alpha", OR=[{"AND": [{"tag": "a"}, {"n": 1}]}, {"tag": "b"}],
              differs="nested `AND`, `OR`, `NOT`"),
        found("alpha", AND=[{"user_id": "bob"}], differs="scope in `AND`"),
        found("alpha", n={"near": 1}, differs="a filter that is not understood"),
        found("alpha", created_at={"gte": "2020-01-01"}, differs="types in filters"),
    ],
    # B046: the day itself still counts
    "expiry": [
        said("Gone.", expiration_date=YESTERDAY.isoformat(), name="gone"),
        said("Last day.", expiration_date=TODAY, name="last"),
        said("Still there.", expiration_date=TOMORROW, name="there"),
        said("For ever.", expiration_date=None),
        said("At noon.", expiration_date=datetime(2999, 5, 1, 23, 30), name="noon"),
        call("get", ref("gone")),
        call("get", ref("noon")),
        everything(),
        call("get_all", filters=ANN, show_expired=True),
        call("search", "gone", filters=ANN, top_k=1),
        call("search", "gone", filters=ANN, show_expired=True, top_k=1),
        call("search", "last day", filters=ANN, top_k=1),
        call("update", ref("gone"), expiration_date=TOMORROW.isoformat()),
        call("get", ref("gone")),
        everything(),
        call("update", ref("there"), expiration_date="2020-01-01"),
        everything(),
        call("update", ref("there"), expiration_date=None),
        call("get", ref("there"), differs="a cleared `expiration_date`"),
        call("update", ref("there"), expiration_date="never"),
        call("update", ref("there"), metadata={"expiration_date": "never"},
             differs="`expiration_date` in metadata"),
    ],
    # B017, B018, B019, B032: unknown ids, wrong texts, what changes nothing
    "changing": [
        said("Ann drinks tea.", metadata={"k": "v"}, name="tea"),
        call("update", ref("tea"), "Ann drinks coffee."),
        call("get", ref("tea")),
        call("update", ref("tea"), data="Ann drinks water."),
        call("update", memory_id=ref("tea"), text="Ann drinks juice.", metadata={"k": "w"}),
        call("get", ref("tea")),
        call("update", ref("tea")),
        call("update", ref("tea"), metadata={}),
        call("update", NOBODY, "x"),
        call("update", NOBODY, metadata={"a": 1}),
        call("update", "no-uuid", "x", differs="ids that are no UUID"),
        call("update", ref("tea"), "", differs="an update with blank text"),
        call("history", ref("tea"), differs="an update that changes nothing"),
        call("get", NOBODY),
        call("get", "no-uuid", differs="ids that are no UUID"),
        call("history", NOBODY),
        call("delete", ref("tea")),
        call("get", ref("tea")),
        call("delete", ref("tea")),
        call("delete", NOBODY),
        call("delete", "no-uuid", differs="ids that are no UUID"),
        call("history", ref("tea"), differs="an update that changes nothing"),
        call("chat", "hello"),
    ],
    # B064: every change has its time
    "history": [
        said("One.", name="one"),
        call("history", ref("one")),
        call("update", ref("one"), "Two."),
        call("history", ref("one")),
        call("delete", ref("one")),
        call("history", ref("one")),
        call("add", [{"role": "user", "name": "ann", "content": "Three."}], infer=False,
             name="named", **ANN),
        call("history", ref("named")),
        call("add", "I eat rice.", llm=facts("Ann eats rice."), name="fact", **ANN),
        call("history", ref("fact"), differs="`history`"),
    ],
    # B002, B145: one scope, and never everything
    "deleting all": [
        said("One.", agent_id="a"),
        said("Two."),
        call("add", "Three.", infer=False, agent_id="a", run_id="r"),
        call("delete_all"),
        call("delete_all", user_id=""),
        call("delete_all", user_id="a b"),
        call("delete_all", user_id="nobody"),
        call("delete_all", user_id="ann", agent_id="a"),
        everything(),
        call("delete_all", "ann"),
        everything(),
        call("get_all", filters={"agent_id": "a"}),
        call("delete_all", agent_id="a", run_id="r"),
        call("get_all", filters={"agent_id": "a"}),
    ],
    # B014, B101, B102, B104, B107, B111, B114, B115: fences, prose, thoughts, other shapes
    "what the language model answers": [
        call("add", "I eat rice.", llm=facts("Ann eats rice."), **ANN, name="rice"),
        call("get", ref("rice")),
        call("add", "Two things.", llm=facts("Ann swims.", "Ann skis."), **ANN),
        call("add", "Nothing.", llm=facts(), **ANN),
        call("add", "Once more.", llm=facts("Ann eats rice."), **ANN),
        call("add", "Twice.", llm=facts("Ann reads.", "Ann reads."), **ANN),
        call("add", "Fenced.", llm=f"```json\n{facts('Ann sings.')}\n```", **ANN),
        call("add", "Chatty.", llm=f"Here it is:\n{facts('Ann cooks.')}\nDone.", **ANN),
        call("add", "Thought.", llm=f"<think>hm</think>{facts('Ann runs.')}", **ANN),
        call("add", "Control.", llm='{"memory": [{"text": "Ann\nhums.\t"}]}', **ANN,
             differs="white space around a fact"),
        call("add", "Null.", llm='{"memory": null}', **ANN),
        call("add", "Empty.", llm="", **ANN, differs="what the language model answers"),
        call("add", "Broken.", llm='{"memory": [', **ANN,
             differs="what the language model answers"),
        call("add", "Prose.", llm="I cannot say.", **ANN,
             differs="what the language model answers"),
        call("add", "A list.", llm='[{"text": "Ann draws."}]', **ANN,
             differs="what the language model answers"),
        call("add", "Texts.", llm='{"memory": ["Ann paints."]}', **ANN,
             differs="what the language model answers"),
        call("add", "A dict.", llm='{"memory": {"text": "Ann jogs."}}', **ANN,
             differs="what the language model answers"),
        call("add", "Blank.", llm='{"memory": [{"text": ""}, {"id": "1"}]}', **ANN),
        call("add", "Strange.", llm=facts({"text": "Ann hikes.", "event": "DELETE", "id": "9"}),
             **ANN, differs="a fact marked DELETE"),
        call("add", "Assistant.", llm=facts({"text": "Ann was told of jazz.",
                                             "attributed_to": "assistant"}), **ANN, name="jazz"),
        call("get", ref("jazz")),
        call("add", "Refused.", llm=(400, {"error": {"message": "bad request"}}), **ANN,
             differs="a language model that fails"),
        call("add", "x", llm=facts("Ann has a dog."), metadata={"k": 1}, expiration_date=TOMORROW,
             agent_id="helper", **ANN, name="dog"),
        call("get", ref("dog")),
        call("add", [user("Hi, I am Ann."), assistant("Hello Ann.")], prompt="Only names.",
             llm=facts("The user is Ann."), **ANN),
        call("add", user("A dict of a message."), llm=facts("Ann sends dictionaries."), **ANN),
        call("add", "For the agent.", agent_id="bot", llm=facts("The bot likes Go."), name="bot"),
        call("get", ref("bot")),
        call("add", "For a run.", run_id="r9", llm=facts("The run is nine."), name="run"),
        call("get", ref("run")),
        call("add", "Twelve.", llm=facts(*[f"Ann owns item {n}." for n in range(12)]), **ANN),
        call("add", "Ann owns item 99.", llm=facts("Ann eats rice."), **ANN, differs="duplicates"),
        call("add", "Past.", llm=facts("Ann fasts."), expiration_date=YESTERDAY, **ANN),
        call("add", "Past.", llm=facts("Ann fasts."), **ANN),
        call("search", "Ann fasts.", filters=ANN, top_k=1, differs="an expired duplicate"),
        call("add", [user(f"Message {n}.") for n in range(13)], run_id="long"),
        call("db.get_last_messages", "run_id=long", differs="message buffer"),
        call("add", "Word for word.", run_id="short", infer=False),
        call("db.get_last_messages", "run_id=short", differs="`infer=False` and the buffer"),
        call("add", 'Not "flat" \\ and \u2028 odd ☕.', llm=facts('Ann says "hi" \\ ☕.'), **ANN),
    ],
    "procedural memory": [
        call("add", [user("Book it."), assistant("Booked.")], agent_id="bot",
             memory_type="procedural_memory", llm="1. Booked it.", name="steps"),
        call("get", ref("steps")),
        call("history", ref("steps")),
        call("add", "x", memory_type="procedural_memory", llm=facts("Ann saw x."), **ANN),
        call("add", "x", memory_type="procedural_memory", agent_id="bot", llm="",
             differs="what the language model answers"),
        call("add", "x", memory_type="procedural_memory", agent_id="bot", metadata={"k": 1},
             prompt="Short.", llm="```\nDone.\n```", name="short"),
        call("get", ref("short")),
        call("get_all", filters={"agent_id": "bot", "memory_type": "procedural_memory"}),
    ],
    "an embedder that fails": [
        said("Ann drinks tea.", name="tea"),
        said("boom", differs="an embedder that fails"),
        call("search", "boom", filters=ANN, differs="an embedder that fails"),
        call("update", ref("tea"), "boom", differs="an embedder that fails"),
        call("get", ref("tea")),
        call("add", "x", llm=facts("Ann swims.", "boom"), **ANN,
             differs="an embedder that fails"),
    ],
    # B038: more than a page
    "paging": [
        *[said(f"Number {number}.") for number in range(25)],
        call("get_all", filters=ANN, differs="order of `get_all`"),
        call("get_all", filters=ANN, top_k=3, differs="order of `get_all`"),
        call("get_all", filters=ANN, top_k=25, differs="order of `get_all`"),
        call("search", "number", filters=ANN, top_k=25, threshold=0.0, ties=True),
    ],
    # B030: nothing is left
    "starting again": [
        said("One.", name="one"),
        call("reset"),
        everything(),
        call("get", ref("one")),
        call("history", ref("one")),
        said("Two."),
        everything(),
        call("project.update", custom_instructions="x"),
        call("project.update", decay=True),
    ],
    "what programs touch": [
        call("add", "I eat rice.", llm=facts("Ann eats rice."), name="rice", **ANN),
        call("db.get_history", NOBODY),
        call("vector_store.get", ref("rice")),
        call("vector_store.get", NOBODY),
        call("vector_store.list", filters=ANN, top_k=10),
        call("vector_store.list", top_k=10),
        call("vector_store.search", "rice", vectors=[0.1] * 64, top_k=1, filters=ANN,
             name="near"),
        call("vector_store.keyword_search", "rice", top_k=1, filters=ANN),
        call("vector_store.insert", vectors=[[0.1] * 64],
             payloads=[{"data": "Ann put this.", "user_id": "ann", "k": 1}], ids=[NOBODY]),
        call("get", NOBODY, differs="a payload without times (`vector_store.insert`)"),
        call("vector_store.delete", NOBODY),
        call("get", NOBODY),
        call("vector_store.delete", NOBODY),
        call("embedding_model.embed", "tea", "search"),
        call("embedding_model.embed", "tea"),
        call("embedding_model.embed_batch", ["tea", "rice"], "add"),
        call("llm.generate_response", [user("Hello?")], llm="Hello!"),
        call("llm.generate_response", messages=[user("JSON?")],
             response_format={"type": "json_object"}, llm='{"a": 1}'),
        call("llm.generate_response", messages=[user("?")], llm=""),
        call("llm.generate_response", messages=[user("?")], llm="No tool needed.",
             tools=[{"type": "function", "function": {"name": "f", "parameters": {}}}],
             differs="`tools` of `llm.generate_response`"),
        call("db.get_last_messages", "user_id=ann"),
        call("db.get_last_messages", "user_id=nobody", 5),
        call("history", ref("rice"), differs="`history`"),
    ],
}  # fmt: skip
"""By name; the order of calls is kept."""


def calls() -> Iterator[tuple[str, int, Call]]:
    """Every call with its place: the script, and which of its calls it is."""
    for script, listed in SCRIPTS.items():
        for number, one in enumerate(listed):
            yield script, number, one
