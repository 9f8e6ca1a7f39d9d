"""What the vectors of a call cost the client, as base64 and as numbers in JSON."""

from __future__ import annotations

import statistics
import time
from typing import Any

from benchmarks.endpoint import process
from benchmarks.filling import MODEL
from memlayer_pg import Endpoint
from memlayer_pg.models.embeddings import OpenAIEmbedder

CALLS = 40
TEXTS = ["a fact of about twelve words that an extraction has just found"] * 10
"""What an add sends to be embedded: its facts and the names in them."""


def cost(dimensions: int, seed: int) -> dict[str, Any]:
    """Median milliseconds of client CPU for one request, HTTP included, in both forms in turns."""
    with process(dimensions, seed, 10) as endpoint:
        embedders = {
            form: OpenAIEmbedder(
                Endpoint(
                    model=MODEL,
                    base_url=endpoint.base_url,
                    api_key="none",
                    extra_body={"encoding_format": form},
                )
            )
            for form in ("base64", "float")
        }
        times: dict[str, list[float]] = {form: [] for form in embedders}
        for call in range(-3, CALLS):
            for form, embedder in embedders.items():
                begun = time.process_time()
                embedder.embed(TEXTS, "document")
                if call >= 0:
                    times[form].append((time.process_time() - begun) * 1000)
        for embedder in embedders.values():
            embedder.close()
    return {"texts": len(TEXTS)} | {form: statistics.median(took) for form, took in times.items()}
