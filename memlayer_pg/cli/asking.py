"""What `memlayer doctor` asks the models: one tiny request each."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

from memlayer_pg.cli.checks import Check
from memlayer_pg.config import Config, Endpoint
from memlayer_pg.errors import MemlayerError

SECONDS = 20.0
"""An endpoint that takes longer for a handful of words is not well."""

NO_LLM = "Set OPENAI_API_KEY, or MEMLAYER_LLM_BASE_URL and MEMLAYER_LLM_MODEL."


def embedder(config: Config, *, offline: bool) -> Check:
    """Whether a text becomes a vector."""
    from memlayer_pg.models import embedder_for

    try:
        with closing(embedder_for(replace(config, embedder=_brisk(config.embedder)))) as found:
            if offline:
                return Check("embedder", "ok", f"{found.name}, not asked")
            [vector] = found.embed(["Is anybody there?"], "query").vectors
    except MemlayerError as error:
        return Check("embedder", "fail", error.message, error.suggestion)
    return Check("embedder", "ok", f"{found.name} answers with {len(vector)} dimensions")


def chat(config: Config, *, offline: bool) -> Check:
    """Whether the language model says something."""
    from memlayer_pg.models import chat_for

    if config.llm is None:
        said = "none is configured: messages are stored word for word, no facts are drawn from them"
        return Check("llm", "warn", said, NO_LLM)
    try:
        found = chat_for(replace(config, llm=_brisk(config.llm)))
        assert found is not None
        with closing(found):
            if offline:
                return Check("llm", "ok", f"{found.name}, not asked")
            question = {"role": "user", "content": "Answer with one word: ready"}
            answer = found.generate([question])
    except MemlayerError as error:
        return Check("llm", "fail", error.message, error.suggestion)
    if not answer.text.strip():
        return Check("llm", "fail", f"{found.name} answers with nothing", "Try another model.")
    return Check("llm", "ok", f"{found.name} answers")


def reranker(config: Config, *, offline: bool) -> Check | None:
    """Whether a result is given a score; None when no reranker is configured."""
    from memlayer_pg.models import reranker_for

    if not isinstance(config.reranker, Endpoint):
        return None
    try:
        with closing(reranker_for(replace(config, reranker=_brisk(config.reranker)))) as found:
            if offline:
                return Check("reranker", "ok", f"{found.name}, not asked")
            found.rerank("Is anybody there?", [{"memory": "Somebody is there."}], 1)
    except MemlayerError as error:
        return Check("reranker", "fail", error.message, error.suggestion)
    return Check("reranker", "ok", f"{found.name} answers with scores")


def _brisk(endpoint: Endpoint | None) -> Endpoint | None:
    """The endpoint, asked once and not for long."""
    if endpoint is None:
        return None
    return replace(endpoint, timeout=min(endpoint.timeout, SECONDS), max_retries=0)
