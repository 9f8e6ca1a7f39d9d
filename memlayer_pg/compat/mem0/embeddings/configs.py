"""Where mem0 has EmbedderConfig."""

from memlayer_pg.compat.mem0.configs.base import EmbedderConfig

__all__ = ["EmbedderConfig"]
