"""The kinds of memories mem0 names; only the last is one that `add` takes."""

from enum import Enum


class MemoryType(Enum):
    """What `memory_type` may be: `MemoryType.PROCEDURAL.value`."""

    SEMANTIC = "semantic_memory"
    EPISODIC = "episodic_memory"
    PROCEDURAL = "procedural_memory"
