"""A scripted OpenAI-compatible endpoint, quick enough not to be what is measured.

`python -m benchmarks.endpoint` serves the vectors of invented texts from a process of its own, and
prints its address. The language model answers with the facts that `text.Writer.talk` hid in the
conversation: in our form, or in mem0's when the model is called "mem0".
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.text import Writer
from benchmarks.vectors import Matrix, Vectors

ROOT = Path(__file__).parent.parent
CHARACTERS_A_TOKEN = 4
"""What a token is taken for where prompts are counted: the rule of thumb for English."""

Embed = Callable[[Sequence[str]], Matrix]
Answer = Callable[[dict[str, Any]], str]


class Endpoint:
    """Answers requests, and counts them: `counts` is what GET /counts tells and sets back."""

    def __init__(self, embed: Embed, answer: Answer) -> None:
        self._embed = embed
        self._answer = answer
        self.counts: dict[str, int] = {}
        self.forget()

    def forget(self) -> None:
        self.counts = {"embeddings": 0, "texts": 0, "chats": 0, "prompt_tokens": 0}

    def respond(self, path: str, body: bytes) -> Any:
        """The answer to a request, ready for JSON."""
        if path.endswith("/counts"):
            counts = self.counts
            self.forget()
            return counts
        request = json.loads(body)
        if path.endswith("/embeddings"):
            return self._embeddings(request)
        return self._completion(request)

    def _embeddings(self, request: dict[str, Any]) -> dict[str, Any]:
        texts = request["input"] if isinstance(request["input"], list) else [request["input"]]
        self.counts["embeddings"] += 1
        self.counts["texts"] += len(texts)
        packed = request.get("encoding_format") == "base64"
        vectors = self._embed(texts)
        return {
            "object": "list",
            "model": request["model"],
            "data": [
                {
                    "object": "embedding",
                    "index": place,
                    "embedding": (
                        base64.b64encode(vector.astype("<f4").tobytes()).decode()
                        if packed
                        else vector.tolist()
                    ),
                }
                for place, vector in enumerate(vectors)
            ],
            "usage": {"prompt_tokens": len(texts), "total_tokens": len(texts)},
        }

    def _completion(self, request: dict[str, Any]) -> dict[str, Any]:
        told = "".join(str(message["content"]) for message in request["messages"])
        tokens = (len(told) + _schema(request)) // CHARACTERS_A_TOKEN
        self.counts["chats"] += 1
        self.counts["prompt_tokens"] += tokens
        content = self._answer(request)
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": request["model"],
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": content},
                }
            ],
            "usage": {
                "prompt_tokens": tokens,
                "completion_tokens": len(content) // CHARACTERS_A_TOKEN,
                "total_tokens": tokens + len(content) // CHARACTERS_A_TOKEN,
            },
        }

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, kept open for as long as the client likes."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ", 2)[1].decode()
                length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
                body = await reader.readexactly(int(length[1])) if length else b""
                payload = json.dumps(self.respond(path, body)).encode()
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
                    + str(len(payload)).encode()
                    + b"\r\n\r\n"
                    + payload
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has hung up
        finally:
            writer.close()


def _schema(request: dict[str, Any]) -> int:
    """Characters of the schema that an answer has to follow: it is paid for as well."""
    wanted = request.get("response_format", {})
    return len(json.dumps(wanted)) if "json_schema" in wanted else 0


def extraction(writer: Writer) -> Answer:
    """Answers with the facts that were hidden in a conversation."""

    def answer(request: dict[str, Any]) -> str:
        notes = re.findall(r"note (\S+)/(\d+)\.", str(request["messages"][-1]["content"]))
        facts = writer.told(notes[-1][0], int(notes[-1][1])) if notes else []
        if request["model"] == "mem0":
            rows = [{"text": fact.text, "attributed_to": "user"} for fact in facts]
            return json.dumps({"memory": rows})
        return json.dumps(
            {
                "facts": [
                    {
                        "text": fact.text,
                        "attributed_to": "user",
                        "entities": [{"name": n, "type": t} for n, t in fact.entities],
                        "links": [],
                    }
                    for fact in facts
                ]
            }
        )

    return answer


class Running:
    """An endpoint that runs: `base_url` is what clients are told."""

    def __init__(self, address: str) -> None:
        self.base_url = f"{address}/v1"

    def counts(self) -> dict[str, int]:
        """Requests, texts and prompt tokens since this was asked last."""
        with urllib.request.urlopen(f"{self.base_url}/counts") as answer:
            found: dict[str, int] = json.load(answer)
        return found


@contextmanager
def process(dimensions: int, seed: int, per_user: int) -> Iterator[Running]:
    """The endpoint of invented texts, in a process of its own: its work is not the client's."""
    command = [sys.executable, "-m", "benchmarks.endpoint"]
    with subprocess.Popen(
        [*command, *(str(value) for value in (dimensions, seed, per_user))],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        try:
            yield Running(running.stdout.readline().strip())
        finally:
            running.stdin.close()  # it ends when nobody is there any more


@contextmanager
def thread(embed: Embed) -> Iterator[Running]:
    """An endpoint of this process that embeds as it is told and extracts nothing."""
    endpoint = Endpoint(embed, lambda request: '{"facts": []}')
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(endpoint.serve, "127.0.0.1", 0))
    serving = threading.Thread(target=loop.run_forever, daemon=True)
    serving.start()
    try:
        yield Running(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    finally:
        loop.call_soon_threadsafe(loop.stop)
        serving.join()
        server.close()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


async def _main(dimensions: int, seed: int, per_user: int) -> None:
    vectors = Vectors(dimensions, seed)
    endpoint = Endpoint(vectors.of, extraction(Writer(seed, per_user)))
    server = await asyncio.start_server(endpoint.serve, "127.0.0.1", 0, limit=2**24)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(_main(*(int(value) for value in sys.argv[1:4])))
