"""A scripted OpenAI-compatible server on the loopback interface.

Tests talk to it with the real client over real HTTP, so what they prove is what a program gets.

    with Endpoint() as server:
        server.reply('{"facts": []}')            # the next answer; the last one repeats
        server.chat = lambda request: "…"        # or computed from the request's JSON
        …
        server.requests[-1].json["messages"]

It is an HTTP proxy too: a request for another host is recorded, and answered as its own.
"""

from __future__ import annotations

import base64
import json
import math
import re
import struct
import threading
import zlib
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import urlsplit

Scripted = Any
"""A text (the content of the answer), a dict (its whole body), or (status, body[, headers])."""


@dataclass(frozen=True)
class Recorded:
    """A request as it arrived: header names are lower case; `host` is the one it was meant for."""

    path: str
    headers: Mapping[str, str]
    json: dict[str, Any]
    host: str = ""


@dataclass
class Endpoint:
    """`dimensions`: size of the vectors, unless a request names one. `delay`: seconds before every
    answer. `chat` and `embeddings` answer a request's JSON; None from `embeddings` means the usual
    vectors."""

    dimensions: int = 64
    delay: float = 0.0
    model: str = "scripted-model"
    chat: Callable[[dict[str, Any]], Scripted] | None = None
    embeddings: Callable[[dict[str, Any]], Scripted] | None = None
    requests: list[Recorded] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._replies: deque[Scripted] = deque()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.endpoint = self
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.close_connections()
        self._server.server_close()
        self._thread.join()

    @property
    def address(self) -> str:
        """Scheme, host and port."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def base_url(self) -> str:
        return f"{self.address}/v1"

    @property
    def connected(self) -> int:
        """How many connections clients keep open."""
        return len(self._server._open)

    @property
    def chats(self) -> list[dict[str, Any]]:
        """The JSON of the chat requests so far."""
        return [r.json for r in self.requests if r.path.endswith("/chat/completions")]

    @property
    def prompts(self) -> list[str]:
        """Everything the language model was told, one text a request."""
        return ["\n\n".join(m["content"] for m in chat["messages"]) for chat in self.chats]

    @property
    def embedded(self) -> list[list[str]]:
        """The texts of the embedding requests so far."""
        inputs = [r.json["input"] for r in self.requests if r.path.endswith("/embeddings")]
        return [[texts] if isinstance(texts, str) else texts for texts in inputs]

    def reply(self, *answers: Scripted) -> None:
        """What the next chat requests are answered with; the last stays for all that follow."""
        self._replies = deque(answers)

    def facts(self, *texts: str | dict[str, Any]) -> None:
        """Answer with these facts; a text stands for a fact that names and links nothing."""
        facts = [
            {"attributed_to": "user", "entities": [], "links": []}
            | ({"text": text} if isinstance(text, str) else text)
            for text in texts
        ]
        self.reply(json.dumps({"facts": facts}))

    def embed(self, text: str, dimensions: int | None = None) -> list[float]:
        """The vector of a text: its words, hashed; texts that share words are near.

        The last dimension is the same for all, so that no vector is zero.
        """
        size = dimensions or self.dimensions
        vector = [0.0] * size
        vector[-1] = 0.1
        for word in re.findall(r"[\u3040-\u30ff\u4e00-\u9fff]|\w+", text.lower()):
            vector[zlib.crc32(word.encode("utf-8", "replace")) % size] += 1.0
        length = math.sqrt(sum(value * value for value in vector))
        # as 32-bit floats, so that both transports give the same
        return [struct.unpack("<f", struct.pack("<f", value / length))[0] for value in vector]

    def answer(self, path: str, request: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
        """Status, body and headers for a request."""
        if path.endswith("/chat/completions"):
            return self._completion(self._scripted(request), request)
        if path.endswith("/embeddings"):
            scripted = self.embeddings(request) if self.embeddings else None
            if scripted is None:
                scripted = self._vectors(request)
            return _complete(scripted)
        return 404, {"error": {"message": f"no such path: {path}", "type": "not_found"}}, {}

    def _scripted(self, request: dict[str, Any]) -> Scripted:
        if self.chat is not None:
            return self.chat(request)
        if not self._replies:
            return '{"facts": []}'
        return self._replies.popleft() if len(self._replies) > 1 else self._replies[0]

    def _completion(
        self, scripted: Scripted, request: dict[str, Any]
    ) -> tuple[int, Any, dict[str, str]]:
        if scripted is not None and not isinstance(scripted, str):
            return _complete(scripted)
        return 200, completion(scripted, model=str(request.get("model") or self.model)), {}

    def _vectors(self, request: dict[str, Any]) -> dict[str, Any]:
        texts = request["input"] if isinstance(request["input"], list) else [request["input"]]
        vectors = [self.embed(text, request.get("dimensions")) for text in texts]
        packed = request.get("encoding_format") == "base64"
        return embeddings([pack(vector) if packed else vector for vector in vectors])


def completion(
    content: Any,
    *,
    finish_reason: str | None = "stop",
    model: str = "scripted-model",
    **message: Any,
) -> dict[str, Any]:
    """The body of a chat completion."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [
            {
                "index": 0,
                "finish_reason": finish_reason,
                "message": {"role": "assistant", "content": content, **message},
            }
        ],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }


def embeddings(vectors: list[Any]) -> dict[str, Any]:
    """The body of an answer with these vectors."""
    return {
        "object": "list",
        "model": "scripted-embedder",
        "data": [
            {"object": "embedding", "index": index, "embedding": vector}
            for index, vector in enumerate(vectors)
        ],
        "usage": {"prompt_tokens": len(vectors), "total_tokens": len(vectors)},
    }


def pack(vector: list[float]) -> str:
    """base64 of 32-bit floats, as OpenAI sends them."""
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def refusal(status: int, message: str, **error: Any) -> tuple[int, dict[str, Any]]:
    """An error in OpenAI's shape."""
    return status, {"error": {"message": message, "type": "invalid_request_error", **error}}


def _complete(scripted: Scripted) -> tuple[int, Any, dict[str, str]]:
    if isinstance(scripted, tuple):
        status, body, *headers = scripted
        return status, body, headers[0] if headers else {}
    return 200, scripted, {}


class _Server(ThreadingHTTPServer):
    endpoint: Endpoint
    daemon_threads = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._open: set[Any] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def close_connections(self) -> None:
        """End the connections that clients keep open, so that no thread waits on one."""
        for request in list(self._open):
            super().shutdown_request(request)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        target = urlsplit(self.path)
        request = json.loads(body or b"{}")
        endpoint = self.server.endpoint
        headers = {name.lower(): value for name, value in self.headers.items()}
        host = target.netloc or headers.get("host", "")
        endpoint.requests.append(Recorded(target.path, headers, request, host))
        if endpoint.delay:
            threading.Event().wait(endpoint.delay)
        status, answer, extra = endpoint.answer(target.path, request)
        payload = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **extra}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def handle(self) -> None:
        try:
            super().handle()
        except (OSError, ValueError):
            return  # the client or the test has closed the connection

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: tests read `requests`."""
