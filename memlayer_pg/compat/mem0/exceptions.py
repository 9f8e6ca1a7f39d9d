"""What mem0.exceptions names: our errors of the same meaning, so that an `except` goes on working.

Those of mem0's hosted service are here to be named; nothing raises them.
"""

from memlayer_pg.errors import (
    ConfigError,
    DatabaseError,
    EmbeddingError,
    LLMError,
    MemlayerError,
    MemoryNotFound,
    ValidationError,
)

__all__ = [
    "AuthenticationError",
    "CacheError",
    "ConfigurationError",
    "DatabaseError",
    "DependencyError",
    "EmbeddingError",
    "LLMError",
    "MemoryCorruptionError",
    "MemoryError",
    "MemoryNotFoundError",
    "MemoryQuotaExceededError",
    "NetworkError",
    "RateLimitError",
    "ValidationError",
    "VectorSearchError",
    "VectorStoreError",
]

MemoryError = MemlayerError
ConfigurationError = DependencyError = ConfigError
MemoryNotFoundError = MemoryNotFound
# Memories, their vectors and their history are one database here.
VectorStoreError = VectorSearchError = DatabaseError


class AuthenticationError(MemlayerError):
    """Of mem0's hosted service."""


class RateLimitError(MemlayerError):
    """Of mem0's hosted service."""


class NetworkError(MemlayerError):
    """Of mem0's hosted service."""


class MemoryQuotaExceededError(MemlayerError):
    """Of mem0's hosted service."""


class MemoryCorruptionError(MemlayerError):
    """Of mem0's hosted service."""


class CacheError(MemlayerError):
    """Of mem0's hosted service."""
