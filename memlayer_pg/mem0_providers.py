"""The providers that mem0 has and this package does not ship, and what to write in their place."""

from __future__ import annotations

from memlayer_pg.config import nearest
from memlayer_pg.errors import ConfigError

ADDRESSES = {
    "anthropic": "https://api.anthropic.com/v1",
    "azure_openai": "https://RESOURCE.openai.azure.com/openai/v1",
    "azure_openai_structured": "https://RESOURCE.openai.azure.com/openai/v1",
    "deepseek": "https://api.deepseek.com/v1",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/openai",
    "groq": "https://api.groq.com/openai/v1",
    "litellm": "http://localhost:4000/v1",
    "lmstudio": "http://localhost:1234/v1",
    "minimax": "https://api.minimax.io/v1",
    "ollama": "http://localhost:11434/v1",
    "openai_structured": "https://api.openai.com/v1",
    "sarvam": "https://api.sarvam.ai/v1",
    "together": "https://api.together.xyz/v1",
    "vllm": "http://localhost:8000/v1",
    "xai": "https://api.x.ai/v1",
}
"""Where a provider speaks OpenAI's protocol itself."""
OBJECTS = ("aws_bedrock", "fastembed", "huggingface", "langchain", "vertexai")
"""Providers that are asked through a package of their own."""
STORES = (
    "azure_ai_search", "azure_mysql", "baidu", "cassandra", "chroma", "databricks",
    "elasticsearch", "faiss", "langchain", "milvus", "mongodb", "neptune", "opensearch",
    "oracledb", "pgvector", "pinecone", "qdrant", "redis", "s3_vectors", "supabase", "turbopuffer",
    "upstash_vector", "valkey", "vertex_ai_vector_search", "weaviate",
)  # fmt: skip
METHODS = {
    "llm": "generate(messages, *, json_schema=None)",
    "embedder": "embed_documents(texts) and embed_query(text)",
}


def refused(section: str, provider: object) -> ConfigError:
    """The error for a provider that is not shipped; its suggestion says what does the same."""
    message = f"{section}.provider: {provider!r} is not supported, only "
    if section == "vector_store":
        known = provider in STORES
        guess = "" if known else nearest(provider, STORES)
        return ConfigError(
            f"{message}'pgvector'{guess}",
            suggestion="Memories are kept in Postgres: name a database as connection_string, or "
            "leave vector_store out for a server of our own. docs/mem0.md says how to move there.",
        )
    address = ADDRESSES.get(str(provider))
    if address is not None:
        suggestion = (
            f"It speaks OpenAI's protocol: {section} = {{'provider': 'openai', 'config': "
            f"{{'openai_base_url': {address!r}, 'api_key': …, 'model': …}}}}."
        )
    else:
        suggestion = (
            "Any OpenAI-compatible server works: name its address as openai_base_url. Or give an "
            f"object with {METHODS[section]} as {section}= of Memory or from_config."
        )
    known = address is not None or provider in OBJECTS
    guess = "" if known else nearest(provider, ("openai", *ADDRESSES, *OBJECTS))
    return ConfigError(f"{message}'openai'{guess}", suggestion=suggestion)
