"""Where mem0 has LlmConfig."""

from memlayer_pg.compat.mem0.configs.base import LlmConfig

__all__ = ["LlmConfig"]
