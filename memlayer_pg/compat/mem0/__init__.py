"""mem0's names: `from memlayer_pg.compat.mem0 import Memory` in place of `from mem0 import Memory`.

The modules stand where mem0's do, so that `from mem0.configs.base import MemoryConfig` is moved by
its first word, too. Besides what `memlayer_pg.Memory` has, a `Memory` from here has the attributes
of mem0's that programs touch: `config`, `llm`, `embedding_model`, `vector_store`, `db`.
"""

from memlayer_pg import __version__
from memlayer_pg.compat.mem0.configs.base import (
    EmbedderConfig,
    LlmConfig,
    MemoryConfig,
    MemoryItem,
    RerankerConfig,
    VectorStoreConfig,
)
from memlayer_pg.compat.mem0.configs.enums import MemoryType
from memlayer_pg.compat.mem0.exceptions import (
    AuthenticationError,
    CacheError,
    ConfigurationError,
    DatabaseError,
    DependencyError,
    EmbeddingError,
    LLMError,
    MemoryCorruptionError,
    MemoryError,
    MemoryNotFoundError,
    MemoryQuotaExceededError,
    NetworkError,
    RateLimitError,
    ValidationError,
    VectorSearchError,
    VectorStoreError,
)
from memlayer_pg.compat.mem0.memory.main import AsyncMemory, Memory

__all__ = [
    "AsyncMemory",
    "AuthenticationError",
    "CacheError",
    "ConfigurationError",
    "DatabaseError",
    "DependencyError",
    "EmbedderConfig",
    "EmbeddingError",
    "LLMError",
    "LlmConfig",
    "Memory",
    "MemoryConfig",
    "MemoryCorruptionError",
    "MemoryError",
    "MemoryItem",
    "MemoryNotFoundError",
    "MemoryQuotaExceededError",
    "MemoryType",
    "NetworkError",
    "RateLimitError",
    "RerankerConfig",
    "ValidationError",
    "VectorSearchError",
    "VectorStoreConfig",
    "VectorStoreError",
    "__version__",
]
