"""HTTP to one OpenAI-compatible endpoint, blocking or awaited, through the `openai` package.

What is said is a *conversation*: a generator that yields a `Request` and is sent an `Answer`. It
holds all decisions (what to ask, what to ask again in another way) and waits for nothing, so
`Client.converse` and `Client.aconverse` are the only two places that differ.

`openai` is imported when the first request is made: it takes half a second that a program which
only reads memories need not spend.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from memlayer_pg import typed
from memlayer_pg.config import Endpoint
from memlayer_pg.errors import ConfigError, ModelError

if TYPE_CHECKING:
    import openai

T = TypeVar("T")

OPENAI = "https://api.openai.com/v1"
NO_KEY = "no-key"
"""Sent to a `base_url` for which no key was given: the header must hold something."""
SHORTEST = 6
"""Characters from which a key or header is looked for in messages: less is no secret, but part of
many words."""


@dataclass(frozen=True, slots=True)
class Request:
    """A JSON body to post to a path below the base URL."""

    path: str
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: the parsed JSON, or why there is none.

    `status` is the HTTP status, None when there was no answer. `problem` says in one line what
    went wrong, without the key; `error` is the client's own exception.
    """

    body: Any
    status: int | None = 200
    problem: str | None = None
    error: Exception | None = None

    def require(self, kind: type[ModelError], failed: str) -> Any:
        """The body; `kind` with the message "`failed`: …" when there was a problem."""
        if self.problem is not None:
            raise kind(f"{failed}: {self.problem}", details=self._details()) from self.error
        return self.body

    def _details(self) -> dict[str, Any]:
        return {"status": self.status} if self.status is not None else {}


Conversation = Generator[Request, Answer, T]


class Client:
    """One endpoint; safe to share between threads and, for `aconverse`, between tasks.

    Connections are made on first use, anew in a forked child and in another event loop, because
    neither can go on with the sockets of the old one.
    """

    def __init__(self, endpoint: Endpoint, *, setting: str) -> None:
        self.base_url, self._key = address(endpoint, setting)
        self._endpoint = endpoint
        self._blocking: dict[int, openai.OpenAI] = {}
        self._awaited: WeakKeyDictionary[asyncio.AbstractEventLoop, openai.AsyncOpenAI] = (
            WeakKeyDictionary()
        )

    def __repr__(self) -> str:
        return f"Client({self._endpoint.model!r} at {_shown(self.base_url)!r})"

    def converse(self, talk: Conversation[T]) -> T:
        """Run a conversation to its end, blocking."""
        try:
            request = next(talk)
            while True:
                request = talk.send(self._post(request))
        except StopIteration as stop:
            result: T = stop.value
            return result

    async def aconverse(self, talk: Conversation[T]) -> T:
        """Run a conversation to its end in the running event loop."""
        try:
            request = next(talk)
            while True:
                request = talk.send(await self._apost(request))
        except StopIteration as stop:
            result: T = stop.value
            return result

    def close(self) -> None:
        """Close the blocking connections; a client that was given stays open, it is not ours."""
        client = self._blocking.pop(os.getpid(), None)
        if client is not None and self._endpoint.http_client is None:
            client.close()

    async def aclose(self) -> None:
        """Close the connections of the running event loop, and the blocking ones."""
        self.close()
        client = self._awaited.pop(asyncio.get_running_loop(), None)
        if client is not None and self._endpoint.http_client is None:
            await client.close()

    def _post(self, request: Request) -> Answer:
        from openai import OpenAIError

        try:
            text = self._client().post(request.path, cast_to=str, body=request.body)
        except OpenAIError as error:
            return self._failed(error, request)
        return self._answered(text, request)

    async def _apost(self, request: Request) -> Answer:
        from openai import OpenAIError

        try:
            text = await self._aclient().post(request.path, cast_to=str, body=request.body)
        except OpenAIError as error:
            return self._failed(error, request)
        return self._answered(text, request)

    def _client(self) -> openai.OpenAI:
        client = self._blocking.get(os.getpid())
        if client is None:
            import openai

            http = self._endpoint.http_client or openai.DefaultHttpxClient(
                proxy=self._endpoint.proxy, event_hooks={"response": [_give_up_on_quota]}
            )
            made = self._made(openai.OpenAI, http)
            client = self._blocking.setdefault(os.getpid(), made)
            if client is not made and self._endpoint.http_client is None:
                made.close()
        return client

    def _aclient(self) -> openai.AsyncOpenAI:
        loop = asyncio.get_running_loop()
        client = self._awaited.get(loop)
        if client is None:
            import openai

            http = self._endpoint.http_client or openai.DefaultAsyncHttpxClient(
                proxy=self._endpoint.proxy, event_hooks={"response": [_agive_up_on_quota]}
            )
            client = self._awaited[loop] = self._made(openai.AsyncOpenAI, http)
        return client

    def _made(self, kind: type[T], http: Any) -> T:
        """A client of `openai` that takes nothing from the environment."""
        headers = {"Authorization": f"Bearer {self._key}", **self._endpoint.headers}
        try:
            made: Any = kind(  # the two classes have the same arguments but no common signature
                api_key=self._key,
                base_url=self.base_url,
                timeout=self._endpoint.timeout,
                max_retries=self._endpoint.max_retries,
                default_headers=headers,
                http_client=http,
            )  # type: ignore[call-arg]
        except TypeError as error:
            raise ConfigError(
                f"http_client: cannot be used for {kind.__name__}: {error}",
                suggestion="Memory needs a Client of httpx, AsyncMemory an AsyncClient.",
            ) from error
        if not self.base_url.startswith(OPENAI):
            made.organization = made.project = None  # of OPENAI_ORG_ID: not for other hosts
        result: T = made
        return result

    def _answered(self, text: str, request: Request) -> Answer:
        try:
            body = json.loads(text)
            if isinstance(body, dict) and body.get("error"):
                body = json.loads(self._masked(text))
            return Answer(body)
        except ValueError as error:
            return Answer(
                None, problem=f"{self._url(request)} answered what is not JSON", error=error
            )

    def _failed(self, error: Exception, request: Request) -> Answer:
        status = getattr(error, "status_code", None)
        body = getattr(error, "body", None)
        said = body.get("message") if isinstance(body, dict) else None
        said = str(said or getattr(error, "message", error))
        if status is None:
            reason = f" ({error.__cause__})" if error.__cause__ and str(error.__cause__) else ""
            problem = f"no answer from {self._url(request)}: {said}{reason}"
        else:
            problem = f"{self._url(request)} answered {status}: {said}"
        return Answer(body, status, self._masked(problem), error)

    def _masked(self, text: str) -> str:
        """A text without the key and the headers, where somebody quotes them."""
        for secret in (self._key, *self._endpoint.headers.values()):
            if secret != NO_KEY and len(secret) >= SHORTEST:
                text = text.replace(secret, "***")
        return text

    def _url(self, request: Request) -> str:
        return f"{_shown(self.base_url)}{request.path}"


def address(endpoint: Endpoint, setting: str) -> tuple[str, str]:
    """The base URL (no slash at its end) and the key for an endpoint.

    What the endpoint says wins over OPENAI_BASE_URL and OPENAI_API_KEY. The key of the environment
    is for the address of the environment: an address given in the program gets the key given
    there, or none. White space around a key is none of it. ConfigError when there is neither key
    nor address, or the key cannot be sent.
    """
    key = (endpoint.api_key or "").strip()
    if not key and not endpoint.base_url:
        key = os.environ.get("OPENAI_API_KEY", "").strip()
    if not typed.sendable(key):
        raise ConfigError(f"{setting}: api_key must hold printable ASCII characters only")
    if endpoint.base_url:
        return endpoint.base_url.rstrip("/"), key or NO_KEY
    base_url = os.environ.get("OPENAI_BASE_URL", "").strip()
    if not key and not base_url:
        raise ConfigError(
            f"{setting}: neither api_key nor base_url is set for {endpoint.model!r}",
            suggestion="Set OPENAI_API_KEY, or give api_key or base_url.",
        )
    return (base_url or OPENAI).rstrip("/"), key or NO_KEY


def _shown(url: str) -> str:
    """A URL without the name, password and query that may stand in it."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()


def _spent(status: int, content: bytes) -> bool:
    return status == 429 and b"insufficient_quota" in content


# An account without credit answers 429 like one that is merely busy; waiting will not help, and
# openai's client heeds this header.


def _give_up_on_quota(response: Any) -> None:
    if response.status_code == 429 and _spent(429, response.read()):
        response.headers["x-should-retry"] = "false"


async def _agive_up_on_quota(response: Any) -> None:
    if response.status_code == 429 and _spent(429, await response.aread()):
        response.headers["x-should-retry"] = "false"
