"""The language model behind an OpenAI-compatible chat endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memlayer_pg.config import Endpoint
from memlayer_pg.effects import Generated
from memlayer_pg.errors import LLMError
from memlayer_pg.models.client import Client, Conversation
from memlayer_pg.models.dialect import FORMAT, Dialect, negotiate

FAILED = "LLM extraction failed"
MOST_TOKENS = 2**40
"""More than any request has: what an endpoint counts beyond it is nonsense the database need not
keep, and sums of it stay within a bigint."""


class OpenAIChat:
    """Answers messages; asks for a strict JSON schema, for any JSON object where the endpoint
    takes no schema, and for plain text where it takes neither."""

    def __init__(self, endpoint: Endpoint, *, setting: str = "llm", failed: str = FAILED) -> None:
        """`setting`: its name in the configuration; `failed`: how a message of failure begins."""
        self.name = endpoint.model
        self._failed = failed
        self._client = Client(endpoint, setting=setting)
        self._wanted: dict[str, Any] = {
            key: value
            for key in ("temperature", "max_tokens")
            if (value := getattr(endpoint, key)) is not None
        }
        self._extra = dict(endpoint.extra_body)
        self._dialect = Dialect()

    def __repr__(self) -> str:
        return f"OpenAIChat({self._client!r})"

    def generate(
        self, messages: Sequence[dict[str, str]], schema: dict[str, Any] | None = None
    ) -> Generated:
        """The model's answer; LLMError when there is none.

        An answer cut short is an answer: `finish_reason` says so. The text may be empty.
        """
        return self._client.converse(self._talk(messages, schema))

    async def agenerate(
        self, messages: Sequence[dict[str, str]], schema: dict[str, Any] | None = None
    ) -> Generated:
        """`generate`, awaited."""
        return await self._client.aconverse(self._talk(messages, schema))

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        self._client.close()

    async def aclose(self) -> None:
        """`close`, for the connections of the running event loop."""
        await self._client.aclose()

    def _talk(
        self, messages: Sequence[dict[str, str]], schema: dict[str, Any] | None
    ) -> Conversation[Generated]:
        wanted = dict(self._wanted)
        if schema is not None:
            wanted[FORMAT] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": schema},
            }
        required = {"model": self.name, "messages": list(messages)}
        answer, dialect = yield from negotiate(
            "/chat/completions", required, wanted | self._extra, self._dialect
        )
        body = answer.require(LLMError, self._failed)
        self._dialect = dialect
        return generated(body, self.name, self._failed)


def generated(body: Any, model: str, failed: str = FAILED) -> Generated:
    """A chat completion as we use it; LLMError when it holds no answer at all or a refusal."""
    if not isinstance(body, dict):
        raise LLMError(f"{failed}: the answer is not a chat completion")
    if error := body.get("error"):  # some gateways report failures with status 200
        said = error.get("message") if isinstance(error, dict) else error
        raise LLMError(f"{failed}: {said}")
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise LLMError(f"{failed}: the answer has no choices", details={"reason": "no_choices"})
    message = choices[0].get("message")
    message = message if isinstance(message, dict) else {}
    if message.get("refusal"):
        raise LLMError(
            f"{failed}: the model refused",
            details={"reason": "refusal"},
            debug_info={"refusal": str(message["refusal"])[:200]},
        )
    reason = choices[0].get("finish_reason")
    usage = body.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return Generated(
        text=_text(message.get("content")),
        model=model,
        prompt_tokens=count(usage.get("prompt_tokens")),
        completion_tokens=count(usage.get("completion_tokens")),
        finish_reason=reason if isinstance(reason, str) else None,
    )


def count(given: Any) -> int:
    """A number of tokens, `MOST_TOKENS` at most; 0 for anything else."""
    return min(given, MOST_TOKENS) if isinstance(given, int) and given > 0 else 0


def _text(content: Any) -> str:
    """The content of a message: a text, or the texts of its parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, dict) else part for part in content)
        return "".join(part for part in parts if isinstance(part, str))
    return ""
