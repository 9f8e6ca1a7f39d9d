"""The model that travels in a package: no key, no server, no download."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any

import pytest

from memlayer_pg.config import Config
from memlayer_pg.errors import ConfigError
from memlayer_pg.models import embedder_for, local
from memlayer_pg.models.local import LocalEmbedder
from tests.models.ways import both_ways, embed

PACKAGES = [package for package in local.NAMES if find_spec(package) is not None]
each_package = pytest.mark.parametrize("package", PACKAGES)


@pytest.fixture
def embedder(package: str, monkeypatch: pytest.MonkeyPatch) -> LocalEmbedder:
    monkeypatch.setattr(local, "installed", lambda: package)
    return LocalEmbedder()


def near(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_the_local_model_is_what_there_is_without_configuration() -> None:
    assert isinstance(embedder_for(Config()), LocalEmbedder)


@both_ways
@each_package
def test_what_belongs_together_is_near(way: str, embedder: LocalEmbedder) -> None:
    question = embed(embedder, way, "Where does she live?", purpose="query")
    told = embed(embedder, way, "Ann's home is in Rome", "The train was late again")
    assert question.model == told.model == embedder.name
    assert all(isinstance(value, float) for value in told.vectors[0])
    [asked] = question.vectors
    assert near(asked, told.vectors[0]) > near(asked, told.vectors[1])


@each_package
def test_a_name_in_a_query_meets_the_name_that_was_stored(embedder: LocalEmbedder) -> None:
    _, asked = embed(embedder, "sync", "Who is Ann?", "Ann", purpose="query").vectors
    [stored] = embed(embedder, "sync", "Ann").vectors
    assert near(asked, stored) > 0.999


@each_package
def test_any_text_has_a_vector(embedder: LocalEmbedder) -> None:
    texts = ["", " ", "\x00", "🙂", "喜欢茶", "x" * 100_000]
    assert len(embed(embedder, "sync", *texts).vectors) == len(texts)
    assert embed(embedder, "sync").vectors == []


@each_package
def test_threads_get_what_one_alone_gets(embedder: LocalEmbedder) -> None:
    texts = [f"text number {n}" for n in range(8)]
    alone = [embedder.embed([text], "document").vectors[0] for text in texts]
    with ThreadPoolExecutor(4) as pool:
        together = pool.map(lambda text: embedder.embed([text], "document").vectors[0], texts)
    assert list(together) == alone


def test_without_a_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "installed", lambda: None)
    with pytest.raises(ConfigError) as caught:
        embedder_for(Config())
    assert 'pip install "memlayer-pg[local]"' in str(caught.value.suggestion)


FORKED = """
import os, sys
from memlayer_pg.models.local import LocalEmbedder
embedder = LocalEmbedder()
texts = ["a text of several words"] * 8
embedder.embed(texts, "document")
print(os.environ.get("OMP_NUM_THREADS"))
sys.stdout.flush()
child = os.fork()
if child == 0:
    embedder.embed(texts, "document")
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("threads", [None, "1"])
def test_a_forked_child_can_go_on_with_the_model(threads: Any) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    if threads is not None:
        environment["OMP_NUM_THREADS"] = threads
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert run.stdout.split() == [str(threads), "7"]
