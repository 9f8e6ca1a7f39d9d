"""What memlayer_pg waits for, as values; and the two loops that wait.

A flow is a generator: it yields an effect and is sent the answer, so one flow serves `Memory` and
`AsyncMemory`, and a test can answer with a plain function. A MemlayerError raised while an effect
is performed is thrown into the flow at that `yield`, so a flow can catch it (a version conflict).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import GeneratorType
from typing import Any, Literal, TypeVar

from memlayer_pg import observing
from memlayer_pg.errors import EmbeddingError, MemlayerError

T = TypeVar("T")
Row = dict[str, Any]
Purpose = Literal["document", "query"]


@dataclass(frozen=True, slots=True)
class Embed:
    """Turn texts into vectors, in one request; answered by `Embedded`.

    `purpose` matters to models that treat what is stored and what is asked differently.
    """

    texts: tuple[str, ...]
    purpose: Purpose


@dataclass(frozen=True, slots=True)
class Embedded:
    """One vector for each text, in order; the model's name, and the tokens it counted."""

    vectors: list[list[float]]
    model: str
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Generate:
    """Let the language model answer `messages`; answered by `Generated`.

    `schema` is the JSON schema the answer has to follow, None for free text.
    """

    messages: list[dict[str, str]]
    schema: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Generated:
    """The text of the answer, the model's name, the tokens used and why it stopped."""

    text: str
    model: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    finish_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Rerank:
    """Put search results in a better order; answered by those kept, each with `rerank_score`."""

    query: str
    documents: list[Row]
    top_k: int


@dataclass(frozen=True, slots=True)
class Call:
    """Call a function of the schema memlayer with named arguments; answered by its rows.

    An argument that is None is not sent: the function's own default holds.
    """

    function: str
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wait:
    """Let so many seconds pass."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Together:
    """Do a flow with all its calls in one transaction; answered by its result."""

    flow: Generator[Effect, Any, Any]


Effect = Embed | Generate | Rerank | Call | Wait | Together
Flow = Generator[Effect, Any, T]


def embed(texts: Sequence[str], purpose: Purpose) -> Flow[Embedded]:
    """The vectors of `texts`; EmbeddingError unless there is exactly one for each."""
    answer: Embedded = yield Embed(tuple(texts), purpose)
    if len(answer.vectors) != len(texts):
        raise EmbeddingError(
            f"the embedder gave {len(answer.vectors)} vectors for {len(texts)} texts"
        )
    return answer


def generate(messages: list[dict[str, str]], schema: dict[str, Any] | None) -> Flow[Generated]:
    """The language model's answer."""
    answer: Generated = yield Generate(messages, schema)
    return answer


def rerank(query: str, documents: list[Row], top_k: int) -> Flow[list[Row]]:
    """The documents in the reranker's order."""
    answer: list[Row] = yield Rerank(query, documents, top_k)
    return answer


def call(function: str, /, **args: Any) -> Flow[list[Row]]:
    """The rows of one call of a function of the schema memlayer."""
    rows: list[Row] = yield Call(function, args)
    return rows


def run(flow: Flow[T], perform: Callable[[Effect], Any]) -> T:
    """Drive a flow to its end, each effect performed by a blocking function."""
    if not observing.observers:
        return _drive(flow, perform)
    with observing.operation(_name(flow)):
        return _drive(flow, observing.watched(perform))


def _name(flow: Flow[T]) -> str:
    """The operation a flow is: the function that made it."""
    return flow.__name__ if isinstance(flow, GeneratorType) else type(flow).__name__


def _drive(flow: Flow[T], perform: Callable[[Effect], Any]) -> T:
    advance = partial(flow.send, None)
    while True:
        try:
            effect = advance()
        except StopIteration as stop:
            result: T = stop.value
            return result
        try:
            advance = partial(flow.send, perform(effect))
        except MemlayerError as error:
            advance = partial(flow.throw, error)


async def run_async(flow: Flow[T], perform: Callable[[Effect], Awaitable[Any]]) -> T:
    """Drive a flow to its end, each effect performed by a coroutine."""
    if not observing.observers:
        return await _drive_async(flow, perform)
    with observing.operation(_name(flow)):
        return await _drive_async(flow, observing.watched_async(perform))


async def _drive_async(flow: Flow[T], perform: Callable[[Effect], Awaitable[Any]]) -> T:
    advance = partial(flow.send, None)
    while True:
        try:
            effect = advance()
        except StopIteration as stop:
            result: T = stop.value
            return result
        try:
            advance = partial(flow.send, await perform(effect))
        except MemlayerError as error:
            advance = partial(flow.throw, error)
