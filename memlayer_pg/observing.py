"""Who is told of what the package does: operations, and what each of them waits for.

Nobody is by default, and then nothing is spent on it. `otel.instrument` and `logs.log_operations`
bring observers of their own; `observe` takes any other.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any, Protocol


class Observer(Protocol):
    """Is told when something begins, by entering a context, and when it ends, by leaving it.

    An error that ends it goes through the context. A context must not suppress it, and an observer
    must not raise errors of its own.
    """

    def operation(self, name: str) -> AbstractContextManager[Any]:
        """The context of a whole operation: "add", "search", …"""

    def step(self, effect: Any) -> AbstractContextManager[Callable[[Any], None]]:
        """The context of one thing that an operation waits for, an effect of `effects`.

        What the context gives is called with the answer: `Embedded`, `Generated`, rows.
        """


observers: list[Observer] = []
"""Those who are told, in the order in which they came."""


def observe(observer: Observer) -> None:
    """Have an observer told of every operation of this process from now on."""
    observers.append(observer)


def unobserve(observer: Observer) -> None:
    """Tell an observer nothing any more; ValueError when it was told nothing."""
    observers.remove(observer)


def operation(name: str) -> ExitStack:
    """The contexts of all observers for an operation, entered."""
    stack = ExitStack()
    for observer in observers:
        stack.enter_context(observer.operation(name))
    return stack


def watched(perform: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The blocking function that performs effects, with observers told of each."""

    def performed(effect: Any) -> Any:
        with ExitStack() as stack:
            told = [stack.enter_context(observer.step(effect)) for observer in observers]
            answer = perform(effect)
            for tell in told:
                tell(answer)
            return answer

    return performed


def watched_async(perform: Callable[[Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
    """`watched`, awaited."""

    async def performed(effect: Any) -> Any:
        with ExitStack() as stack:
            told = [stack.enter_context(observer.step(effect)) for observer in observers]
            answer = await perform(effect)
            for tell in told:
                tell(answer)
            return answer

    return performed
