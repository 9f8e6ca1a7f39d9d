"""What `Memory` and `AsyncMemory` have in common: their parts, and what does not wait."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

import psycopg

from memlayer_pg import handshake
from memlayer_pg.config import Config, Endpoint
from memlayer_pg.effects import Call, Row
from memlayer_pg.errors import ConfigError, DatabaseError
from memlayer_pg.flows import Store
from memlayer_pg.handshake import Known
from memlayer_pg.models import Chat, Embedder, chat_for, embedder_for, reranker_for
from memlayer_pg.pool import public
from memlayer_pg.replica import Replica
from memlayer_pg.retrying import READS

F = TypeVar("F", bound=Callable[..., Any])

log = logging.getLogger("memlayer_pg")


class Core:
    """The parts a memory is wired from.

    `reranker`: an object with `rerank(query, documents, top_k)` (`models.rerank`), or None.
    """

    def __init__(
        self,
        config: Config | Mapping[str, Any] | None = None,
        *,
        dsn: str | None = None,
        read_dsn: str | None = None,
        tenant: str | None = None,
        embedder: Any = None,
        llm: Any = None,
        reranker: Any = None,
        custom_instructions: str | None = None,
        data_dir: Path | str | None = None,
        pool: Any = None,
    ) -> None:
        """Wire the parts; nothing is connected to, started or asked before it is needed.

        `config`: a Config, or mem0's dictionary; None reads the environment (`Config.from_env`).
        The others go before what it says. `embedder`, `llm` and `reranker`: an Endpoint, or an
        object of your own (`memlayer_pg.models.adapters` and `.rerank` say what it needs).
        `pool`: connections of yours in place of ours and of `dsn`: a psycopg_pool pool or a
        SQLAlchemy engine (async ones for AsyncMemory), which is left for you to close.
        ConfigError for what cannot be used.
        """
        if config is None:
            config = Config.from_env()
        elif isinstance(config, Mapping):
            config = Config.from_mem0(config)
        elif not isinstance(config, Config):
            raise ConfigError(
                f"config: must be a Config or a dictionary, not {type(config).__name__}"
            )
        self._settings = config.with_(
            dsn=dsn,
            read_dsn=read_dsn,
            tenant=tenant,
            embedder=embedder if isinstance(embedder, Endpoint) else None,
            llm=llm if isinstance(llm, Endpoint) else None,
            reranker=reranker,
            custom_instructions=custom_instructions,
            data_dir=data_dir,
        )
        self._embedder: Embedder = embedder_for(
            self._settings, None if isinstance(embedder, Endpoint) else embedder
        )
        self._chat: Chat | None = chat_for(
            self._settings, None if isinstance(llm, Endpoint) else llm
        )
        self.reranker: Any = reranker_for(self._settings)
        self._known: dict[tuple[Any, ...], Known] = {}
        self._replica = (
            Replica(self._settings.read_your_writes) if self._settings.read_dsn else None
        )
        self._server: Any = None
        self._starting = threading.Lock()
        self._lent = pool
        self._wire()

    def _wire(self) -> None:
        """Make what differs between the two: the pools."""
        raise NotImplementedError

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any], **objects: Any) -> Self:
        """A memory with the settings of a mem0 configuration; `objects`: embedder, llm, reranker.

        ConfigError for a key that is not known, with the nearest that is.
        """
        return cls(Config.from_mem0(config_dict), **objects)

    @classmethod
    def from_env(cls, **objects: Any) -> Self:
        """A memory with the settings of the environment; `objects`: embedder, llm, reranker."""
        return cls(Config.from_env(), **objects)

    @property
    def config(self) -> Config:
        """The settings."""
        return self._settings

    @property
    def embedding_model(self) -> Embedder:
        """What makes vectors."""
        return self._embedder

    @property
    def llm(self) -> Chat | None:
        """What draws facts; None: messages are stored word for word."""
        return self._chat

    @property
    def location(self) -> str:
        """Where the memories are kept: the database without its password, or the folder."""
        if self._lent is not None:
            return f"what {type(self._lent).__name__} connects to"
        if self._settings.dsn is not None:
            return public(self._settings.dsn)
        from memlayer_pg import embedded

        return str(self._settings.data_dir or embedded.default_data_dir())

    def __repr__(self) -> str:
        try:
            location = self.location
        except ConfigError:
            location = "a dsn that cannot be read"
        return f"{type(self).__name__}(tenant={self._settings.tenant!r}, location={location!r})"

    def chat(self, query: object) -> None:
        """Not there, as in mem0: NotImplementedError."""
        raise NotImplementedError("Chat function not implemented yet.")

    @property
    def _store(self) -> Store:
        return Store(
            tenant=self._settings.tenant,
            instructions=self._settings.custom_instructions,
            extracts=self._chat is not None,
            reranks=self.reranker is not None,
            context=self._settings.context,
        )

    def _dsn(self) -> str:
        """The database to connect to; without a dsn, that of a server of our own, which is started
        and whose schema is brought up to date."""
        if (dsn := self._known_dsn()) is not None:
            return dsn
        with self._starting:
            if self._server is None:
                from memlayer_pg import embedded, schema

                server = embedded.start(self._settings.data_dir)
                schema.ensure(server.dsn)
                log.info("memories are kept by a Postgres of our own in %s", server.data_dir)
                self._server = server
            started: str = self._server.dsn
            return started

    def _known_dsn(self) -> str | None:
        """The database to connect to, when nothing has to be started for it."""
        if self._lent is not None:
            return ""
        server = self._server
        return self._settings.dsn if server is None else server.dsn

    def _revived(self) -> str | None:
        """The database of our own server, when it was gone and is started again; else None."""
        with self._starting:
            if self._server is None or not self._server.revive():
                return None
            log.warning("the Postgres of our own was gone and is started again")
            dsn: str = self._server.dsn
            return dsn

    def _may_have_written(self, call: Call) -> None:
        """Let reads of ours wait until the replica has it."""
        if self._replica is not None and call.function not in READS:
            self._replica.wrote()

    def _stop_server(self) -> None:
        with self._starting:
            server, self._server = self._server, None
        if server is not None:
            server.stop()

    def _database(self, info: psycopg.ConnectionInfo) -> tuple[Any, ...]:
        """What tells one database from another."""
        return info.host, info.hostaddr, info.port, info.dbname

    def _greeted(self, info: psycopg.ConnectionInfo, rows: list[Row]) -> Known:
        """Remember what the schema of this database is; SchemaError when it will not do."""
        known = self._known[self._database(info)] = handshake.read(rows, public(info.dsn))
        return known

    def _unknown(self, info: psycopg.ConnectionInfo, error: DatabaseError) -> Exception:
        return handshake.missing(error, public(info.dsn))


def described_by(method: Callable[..., Any]) -> Callable[[F], F]:
    """Gives an awaitable method the docstring of the blocking one."""

    def describe(awaitable: F) -> F:
        awaitable.__doc__ = method.__doc__
        return awaitable

    return describe
