"""`Memory` and `AsyncMemory` with the attributes that mem0's have."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from datetime import date, datetime
from typing import Any, Self

import memlayer_pg
from memlayer_pg.compat.mem0 import adapters, views
from memlayer_pg.compat.mem0.configs.base import MemoryConfig
from memlayer_pg.config import Config
from memlayer_pg.core import Core
from memlayer_pg.memory import Messages
from memlayer_pg.models import chat_for, embedder_for
from memlayer_pg.models.adapters import GivenChat
from memlayer_pg.writing import PROCEDURAL


class Attributes(Core):
    """What mem0's memories have beside their methods."""

    def __init__(
        self, config: MemoryConfig | Config | Mapping[str, Any] | None = None, **objects: Any
    ) -> None:
        """`config`: mem0's objects or dictionary; None reads the environment, as does a section
        that is left out. `objects`: as for `memlayer_pg.Memory`."""
        if isinstance(config, Mapping):
            config = MemoryConfig(**config)
        self._mem0 = config if isinstance(config, MemoryConfig) else MemoryConfig()
        given = config.model_dump() if isinstance(config, MemoryConfig) else config
        super().__init__(given, **objects)
        self._put: dict[str, Any] = {}
        self._describe()

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any], **objects: Any) -> Self:
        """A memory with the settings of a mem0 configuration; `objects`: embedder, llm, reranker.

        ConfigError for a key that is not known, with the nearest that is.
        """
        return cls(config_dict, **objects)

    def _describe(self) -> None:
        """Say in mem0's objects what holds where nothing was given."""
        self._mem0.vector_store.config["collection_name"] = self._settings.tenant
        self._mem0.custom_instructions = self._settings.custom_instructions

    @property
    def config(self) -> MemoryConfig:  # type: ignore[override]
        """mem0's configuration objects."""
        return self._mem0

    @property
    def llm(self) -> Any:
        """The language model: `generate_response(messages)`. May be set to one of your own."""
        return self._put.get("llm") or adapters.LLM(self._chat, self._settings.llm)

    @llm.setter
    def llm(self, given: Any) -> None:
        self._put["llm"] = given
        asked = adapters.GivenLLM(given) if hasattr(given, "generate_response") else given
        self._chat = chat_for(self._settings, asked)

    @property
    def embedding_model(self) -> Any:
        """What makes vectors: `embed(text)`. May be set to one of your own."""
        return self._put.get("embedder") or adapters.EmbeddingModel(
            self._embedder, self._settings.embedder
        )

    @embedding_model.setter
    def embedding_model(self, given: Any) -> None:
        self._put["embedder"] = given
        theirs = hasattr(given, "embed") and not hasattr(given, "embed_documents")
        self._embedder = embedder_for(
            self._settings, adapters.GivenEmbedder(given) if theirs else given
        )

    @property
    def custom_instructions(self) -> str | None:
        """What is added to the extraction prompt."""
        return self._settings.custom_instructions

    @custom_instructions.setter
    def custom_instructions(self, given: str | None) -> None:
        self._settings = replace(self._settings, custom_instructions=given)
        self._describe()

    @property
    def collection_name(self) -> str:
        """The tenant."""
        return self._settings.tenant

    @property
    def api_version(self) -> str:
        """The `version` of the configuration, which changes nothing."""
        return self._mem0.version

    @property
    def vector_store(self) -> views.VectorStore:
        """The memories as rows: `get`, `list`, `search`, `insert`, `update`, `delete`."""
        return views.VectorStore(self._blocking(), self._settings.tenant, self._embedder.name)

    @property
    def db(self) -> views.Db:
        """The history: `get_history`, `get_last_messages`."""
        return views.Db(self._blocking())

    def _blocking(self) -> memlayer_pg.Memory:
        """A memory that the views can wait for."""
        raise NotImplementedError


class Memory(Attributes, memlayer_pg.Memory):
    __doc__ = memlayer_pg.Memory.__doc__

    @property
    def project(self) -> views.Project:
        """Not supported, as in mem0."""
        return views.Project()

    def _blocking(self) -> memlayer_pg.Memory:
        return self


class AsyncMemory(Attributes, memlayer_pg.AsyncMemory):
    __doc__ = memlayer_pg.AsyncMemory.__doc__

    _beside: memlayer_pg.Memory | None = None

    async def add(
        self,
        messages: Messages,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        timestamp: datetime | date | str | float | None = None,
        expiration_date: date | str | None = None,
        infer: bool = True,
        memory_type: str | None = None,
        prompt: str | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
        connection: Any = None,
        llm: Any = None,
    ) -> dict[str, Any]:
        """As `memlayer_pg.AsyncMemory.add`.

        `llm`: a chat model of LangChain's, which writes a procedural memory in place of ours.
        """
        asked = self
        if llm is not None and memory_type == PROCEDURAL and agent_id is not None:
            await asyncio.to_thread(self._dsn)  # a server of our own is started by this one
            asked = copy(self)
            asked._chat = GivenChat(adapters.LangChainChat(llm))
        return await memlayer_pg.AsyncMemory.add(
            asked,
            messages,
            user_id=user_id,
            agent_id=agent_id,
            run_id=run_id,
            metadata=metadata,
            timestamp=timestamp,
            expiration_date=expiration_date,
            infer=infer,
            memory_type=memory_type,
            prompt=prompt,
            idempotency_key=idempotency_key,
            actor=actor,
            connection=connection,
        )

    @property
    def project(self) -> views.AsyncProject:
        """Not supported, as in mem0."""
        return views.AsyncProject()

    def _blocking(self) -> memlayer_pg.Memory:
        """One of the same settings and models, made when it is first asked for."""
        if self._beside is None:
            self._beside = memlayer_pg.Memory(
                self._settings.with_(dsn=self._dsn()), embedder=self._embedder, llm=self._chat
            )
        return self._beside

    def close(self) -> None:
        self._close_beside()
        super().close()

    async def aclose(self) -> None:
        self._close_beside()
        await super().aclose()

    def _close_beside(self) -> None:
        beside, self._beside = self._beside, None
        if beside is not None:
            beside.close()

    close.__doc__ = memlayer_pg.AsyncMemory.close.__doc__
    aclose.__doc__ = memlayer_pg.AsyncMemory.aclose.__doc__
