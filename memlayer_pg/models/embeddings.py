"""The embedder behind an OpenAI-compatible endpoint."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from memlayer_pg.config import Endpoint
from memlayer_pg.effects import Embedded, Purpose
from memlayer_pg.errors import EmbeddingError
from memlayer_pg.models import vectors
from memlayer_pg.models.budget import NARROWEST, WINDOW, batches, estimate, shortened
from memlayer_pg.models.chat import count
from memlayer_pg.models.client import Answer, Client, Conversation
from memlayer_pg.models.dialect import Dialect, negotiate, too_long

log = logging.getLogger("memlayer_pg")

FAILED = "embedding failed"


class OpenAIEmbedder:
    """Turns texts into vectors.

    `name` is the model's name, with "@dimensions" when a number of dimensions is configured:
    vectors of two sizes are two models to the database. Texts longer than `budget.WINDOW` tokens
    are embedded by their beginning; an endpoint that takes less is found out by halving.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self.name = named(endpoint.model, endpoint.dimensions)
        self._client = Client(endpoint, setting="embedder")
        self._dialect = Dialect()
        self._window: float = WINDOW

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({self._client!r})"

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Embedded:
        """One vector for each text, in order; EmbeddingError when that cannot be had.

        `purpose` makes no difference to this kind of model.
        """
        return self._client.converse(self._talk(texts))

    async def aembed(self, texts: Sequence[str], purpose: Purpose) -> Embedded:
        """`embed`, awaited."""
        return await self._client.aconverse(self._talk(texts))

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        self._client.close()

    async def aclose(self) -> None:
        """`close`, for the connections of the running event loop."""
        await self._client.aclose()

    def _talk(self, texts: Sequence[str]) -> Conversation[Embedded]:
        parts: list[list[list[float]]] = []
        tokens = 0
        for batch in batches([shortened(text, self._window) for text in texts]):
            answer = yield from self._ask(batch)
            body = answer.require(EmbeddingError, FAILED)
            if not isinstance(body, dict):
                raise EmbeddingError(f"{FAILED}: the answer is not a list of embeddings")
            if body.get("error") and not body.get("data"):
                raise EmbeddingError(f"{FAILED}: the endpoint reported an error with status 200")
            given = vectors.in_order(body.get("data"), len(batch))
            parts.append(vectors.checked(given, len(batch), self._endpoint.dimensions))
            usage = body.get("usage")
            if isinstance(usage, dict):
                tokens += count(usage.get("prompt_tokens")) or count(usage.get("total_tokens"))
        return Embedded(vectors.joined(parts), self.name, tokens)

    def _ask(self, batch: list[str]) -> Conversation[Answer]:
        """One request; again with half of what is too long, as often as the endpoint says so."""
        window = self._window
        while True:
            wanted = {"encoding_format": "base64", **self._endpoint.extra_body}
            if self._endpoint.dimensions:
                wanted["dimensions"] = self._endpoint.dimensions
            required = {
                "model": self._endpoint.model,
                "input": [shortened(text, window) for text in batch],
            }
            answer, dialect = yield from negotiate("/embeddings", required, wanted, self._dialect)
            if answer.problem is None:
                self._dialect, self._window = dialect, min(window, self._window)
                return answer
            longest = max(map(estimate, required["input"]))
            if longest < 2 * NARROWEST or not too_long(answer):
                return answer
            window = min(window, longest) / 2
            log.info("the embedder takes less text: embedding the first %d tokens", window)


def named(model: str, dimensions: int | None) -> str:
    """The name under which the database knows a model."""
    return f"{model}@{dimensions}" if dimensions else model
