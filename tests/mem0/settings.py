"""One configuration, as mem0 takes it, for both sides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.endpoint import Endpoint


def config(url: str, collection: str, endpoint: Endpoint, history: Path) -> dict[str, Any]:
    """A store in the database `url`, and models that the scripted endpoint plays."""
    shared = {"model": "scripted", "api_key": "none", "openai_base_url": endpoint.base_url}
    return {
        "vector_store": {
            "provider": "pgvector",
            "config": {
                "connection_string": url,
                "collection_name": collection,
                "embedding_model_dims": endpoint.dimensions,
                "hnsw": False,
            },
        },
        "llm": {"provider": "openai", "config": dict(shared)},
        "embedder": {
            "provider": "openai",
            "config": {"embedding_dims": endpoint.dimensions, **shared},
        },
        "history_db_path": str(history),
    }
