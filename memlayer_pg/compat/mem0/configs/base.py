"""mem0's configuration as objects: the same fields, read as `from_config` reads a dictionary."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from memlayer_pg.config import nearest
from memlayer_pg.errors import ConfigError
from memlayer_pg.mem0_config import OLD_INSTRUCTIONS, TOP, UNUSED_TOP


class Fields(dict[str, Any]):
    """The `config` of a section: keys of a dictionary that are attributes as well."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.get(name)

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


@dataclass
class Section:
    """`provider`, and its `config`: a dictionary, or an object with its fields as attributes."""

    provider: str
    config: Any = field(default=None, repr=False)  # holds passwords and keys

    def __post_init__(self) -> None:
        given = {} if self.config is None else self.config
        if not isinstance(given, Mapping) and not hasattr(given, "__dict__"):
            raise ConfigError(f"config: must be a dictionary, not {type(given).__name__}")
        self.config = Fields(given if isinstance(given, Mapping) else vars(given))


@dataclass
class VectorStoreConfig(Section):
    """Where memories are kept: Postgres."""

    provider: str = "pgvector"


@dataclass
class LlmConfig(Section):
    """The language model."""

    provider: str = "openai"


@dataclass
class EmbedderConfig(Section):
    """The model that makes vectors."""

    provider: str = "openai"


@dataclass
class RerankerConfig(Section):
    """The model that puts results in a better order."""

    provider: str = "llm_reranker"


class MemoryConfig:
    """What `Memory(config)` takes; sections may be dictionaries. None: as the environment says.

    `history_db_path` and `version` are kept and not used. `others`: settings of memlayer-pg, which
    may stand beside mem0's, and mem0's old ones. ConfigError for a name that is not known.
    """

    def __init__(
        self,
        *,
        vector_store: Any = None,
        llm: Any = None,
        embedder: Any = None,
        history_db_path: str | None = None,
        reranker: Any = None,
        version: str = "v1.1",
        custom_instructions: str | None = None,
        **others: Any,
    ) -> None:
        for key in others:
            if key not in (*TOP, OLD_INSTRUCTIONS, *UNUSED_TOP):
                raise ConfigError(f"config: unknown key {key!r}{nearest(key, TOP)}")
        given = {"vector_store": vector_store, "llm": llm, "embedder": embedder}
        self._given = {name for name, section in given.items() if section is not None}
        self.vector_store = _section(VectorStoreConfig, vector_store)
        self.llm = _section(LlmConfig, llm)
        self.embedder = _section(EmbedderConfig, embedder)
        self.reranker = None if reranker is None else _section(RerankerConfig, reranker)
        self.history_db_path = history_db_path
        self.version = version
        self.custom_instructions = custom_instructions
        self.others = others

    def __repr__(self) -> str:
        sections = (self.vector_store, self.llm, self.embedder, self.reranker)
        return f"MemoryConfig({', '.join(map(repr, sections))})"

    def model_dump(self) -> dict[str, Any]:
        """The dictionary for these objects."""
        found: dict[str, Any] = dict(self.others)
        for name in ("vector_store", "llm", "embedder", "reranker"):
            section = getattr(self, name)
            touched = name in self._given or name == "reranker" or (section and section.config)
            if section is not None and touched:
                found[name] = (
                    {"provider": section.provider, "config": dict(section.config)}
                    if isinstance(section, Section)
                    else section
                )
        for name in ("history_db_path", "version", "custom_instructions"):
            if getattr(self, name) is not None:
                found[name] = getattr(self, name)
        return found


@dataclass
class MemoryItem:
    """One memory, as an object."""

    id: str
    memory: str
    hash: str | None = None
    metadata: dict[str, Any] | None = None
    score: float | None = None
    created_at: str | None = None
    updated_at: str | None = None

    def model_dump(self) -> dict[str, Any]:
        """It as a dictionary."""
        return asdict(self)


def _section(kind: Callable[..., Section], given: Any) -> Any:
    """A section from a dictionary; an object of another kind (an Endpoint, a reranker) stays."""
    if given is None:
        return kind()
    if isinstance(given, Mapping):
        unknown = [key for key in given if key not in ("provider", "config")]
        if unknown:
            raise ConfigError(
                f"unknown key {unknown[0]!r}{nearest(unknown[0], ('provider', 'config'))}"
            )
        return kind(**given)
    return given
