"""LangChain's chat history and retriever over memories."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("langchain_core")

from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.runnables.history import RunnableWithMessageHistory

from memlayer_pg import AsyncMemory, Config, InputError, Memory, ScopeMissing
from memlayer_pg.integrations.langchain import MemlayerChatMessageHistory, MemlayerRetriever
from tests.endpoint import Endpoint

SAID: list[BaseMessage] = [
    SystemMessage("You plan journeys."),
    HumanMessage("I never fly.", id="m1", name="Ann"),
    AIMessage("", tool_calls=[{"name": "trains", "args": {"to": "Porto"}, "id": "c1"}]),
    ToolMessage("9:30, 11:30", tool_call_id="c1"),
    AIMessage([{"type": "text", "text": "There is one at 9:30."}], usage_metadata=None),
    HumanMessage("I never fly.", id="m1", name="Ann"),
]


def test_the_messages_come_back_whole_and_in_order(memory: Memory) -> None:
    history = MemlayerChatMessageHistory("s1", memory, user_id="ann")
    history.add_messages(SAID[:2])
    history.add_messages(SAID[2:])
    history.add_messages([])
    assert history.messages == SAID
    again = MemlayerChatMessageHistory("s1", memory, user_id="ann")
    again.add_user_message("Thanks")
    assert [message.content for message in again.messages][-2:] == ["I never fly.", "Thanks"]


def test_the_methods_that_are_awaited_do_the_same(config: Config) -> None:
    async def talk(memory: Memory | AsyncMemory) -> None:
        history = MemlayerChatMessageHistory("s1", memory)
        await history.aadd_messages(SAID)
        assert await history.aget_messages() == SAID
        await history.aclear()
        assert await history.aget_messages() == []

    async def both() -> None:
        async with AsyncMemory(config) as memory:
            await talk(memory)
            with pytest.raises(InputError, match="awaited"):
                MemlayerChatMessageHistory("s1", memory).clear()
        with Memory(config) as blocking:
            await talk(blocking)

    asyncio.run(both())


def test_conversations_and_users_have_messages_of_their_own(memory: Memory) -> None:
    histories = [
        MemlayerChatMessageHistory(session, memory, user_id=user)
        for session in ("s1", "s2")
        for user in ("ann", "bob")
    ]
    for number, history in enumerate(histories):
        history.add_user_message(str(number))
    histories[0].clear()
    assert [[m.content for m in history.messages] for history in histories] == [
        [],
        ["1"],
        ["2"],
        ["3"],
    ]


def test_more_messages_than_a_page_come_back_in_order(memory: Memory) -> None:
    history = MemlayerChatMessageHistory("s1", memory, embed=False)
    history.add_messages([HumanMessage(str(number)) for number in range(1203)])
    assert [message.content for message in history.messages] == [str(n) for n in range(1203)]


def test_what_was_said_is_found_and_nothing_else_of_the_scope_is_a_message(
    memory: Memory,
) -> None:
    history = MemlayerChatMessageHistory("s1", memory, user_id="ann")
    history.add_messages(SAID)
    memory.add("Ann likes oolong", user_id="ann", run_id="s1", infer=False)
    best = memory.search("when is the train", filters={"user_id": "ann"})["results"][0]
    assert best["memory"] == "There is one at 9:30."
    history.clear()
    left = memory.get_all(filters={"run_id": "s1"})["results"]
    assert [item["memory"] for item in left] == ["Ann likes oolong"]


def test_without_embedding_no_embedder_is_asked(memory: Memory, endpoint: Endpoint) -> None:
    MemlayerChatMessageHistory("s1", memory, embed=False).add_messages(SAID)
    assert endpoint.requests == []
    assert memory.embed_pending() == {"embedded": 6, "pending": 0}


def test_a_history_needs_a_session(memory: Memory) -> None:
    with pytest.raises(ScopeMissing):
        MemlayerChatMessageHistory("", memory)


# It goes on working, and is what programs have.
@pytest.mark.filterwarnings("ignore:RunnableWithMessageHistory is deprecated")
def test_a_chain_goes_on_where_it_was_left(memory: Memory) -> None:
    chain = RunnableWithMessageHistory(
        FakeListChatModel(responses=["Hello Ann", "You are Ann"]),
        lambda session_id: MemlayerChatMessageHistory(session_id, memory),
    )
    settings: Any = {"configurable": {"session_id": "s1"}}
    chain.invoke([HumanMessage("I am Ann")], settings)
    chain.invoke([HumanMessage("Who am I?")], settings)
    history = MemlayerChatMessageHistory("s1", memory)
    assert [message.content for message in history.messages] == [
        "I am Ann",
        "Hello Ann",
        "Who am I?",
        "You are Ann",
    ]


def test_a_retriever_gives_memories_as_documents(config: Config) -> None:
    with Memory(config) as memory:
        for text in ("Ann drinks oolong tea", "Ann lives in Porto"):
            memory.add(text, user_id="ann", metadata={"topic": text[-3:]}, infer=False)
        retriever = MemlayerRetriever(memory=memory, filters={"user_id": "ann"}, k=1)
        [found] = retriever.invoke("oolong tea")
        assert isinstance(found, Document)
        assert found.page_content == "Ann drinks oolong tea"
        assert (found.metadata["topic"], found.metadata["id"]) == ("tea", found.id)
        assert 0 < found.metadata["score"] <= 1
        strict = MemlayerRetriever(
            memory=memory, filters={"user_id": "ann"}, search_kwargs={"threshold": 1.0}
        )
        assert strict.invoke("something else") == []

    async def awaited() -> list[Document]:
        async with AsyncMemory(config) as memory:
            retriever = MemlayerRetriever(memory=memory, filters={"user_id": "ann"}, k=1)
            return await retriever.ainvoke("oolong tea")

    assert asyncio.run(awaited()) == [found]
