"""Where mem0 has VectorStoreConfig."""

from memlayer_pg.compat.mem0.configs.base import VectorStoreConfig

__all__ = ["VectorStoreConfig"]
