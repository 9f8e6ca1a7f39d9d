"""The retrieval benchmark: who finds the memories that answer a question."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any

import psycopg

from benchmarks import filling, machine, sets
from benchmarks.embeddings import Cache
from benchmarks.endpoint import Running, thread
from benchmarks.filling import connect
from benchmarks.mem0_peer import Mem0
from benchmarks.place import Place, lay, one, started
from benchmarks.progress import bar
from benchmarks.sets import Question, RetrievalSet, ndcg, recall
from memlayer_pg import Config, Endpoint, Memory

K = 10
MEM0_BATCH = 50
CONVERSATION = "conversation"
"""The tenant of what was stored as a conversation."""

# Of whole sets, by plain Python: what another implementation came to with the same embedder.
REFERENCE: dict[str, dict[str, float]] = {
    "locomo_obs": {"dense": 0.680, "BM25": 0.702, "best hybrid": 0.764, "target": 0.76},
    "locomo": {"dense": 0.494, "BM25": 0.637, "best hybrid": 0.684, "target": 0.68},
    "memdaily_zh": {"dense": 0.819, "BM25": 0.831, "best hybrid": 0.878, "target": 0.87},
}

Finder = Callable[[Question], list[str]]


@dataclass(frozen=True)
class QualityOptions:
    """`data`: a folder of sets. `names`: only these; `limit`: only so many questions of each.

    `cache`: where vectors are kept; `vectors`: a folder with vectors that were made elsewhere.
    """

    data: Path
    results: Path
    cache: Path
    names: tuple[str, ...] = ()
    limit: int | None = None
    vectors: Path | None = None
    postgres: int | None = None
    mem0_python: str | None = None
    spacy_model: str | None = None


def run(options: QualityOptions) -> dict[str, Any]:
    """recall@10 and nDCG@10 of everybody on every set, ready for JSON."""
    results: dict[str, Any] = {"about": machine.about(), "quality": []}
    cache = Cache(options.cache)
    results["about"]["embedder"] = cache.model
    found = sets.read(options.data, options.names, options.limit)
    with started(None, options.postgres) as place, thread(cache.of) as endpoint:
        results["about"]["postgres"] = place.settings()
        for given in found:
            if options.vectors is not None:
                cache.take_over(options.vectors, given)
            cache.prepare(given)
            with ExitStack() as until:
                results["quality"] += _measure(options, given, cache, place, endpoint, until)
            cache.save()
    return results


def _measure(
    options: QualityOptions,
    given: RetrievalSet,
    cache: Cache,
    place: Place,
    endpoint: Running,
    until: ExitStack,
) -> list[dict[str, Any]]:
    """Everybody's results on one set."""
    dsn = place.create(f"quality_{given.name}")
    lay(dsn)
    memory = until.enter_context(_memory(dsn, cache, endpoint))
    with bar(f"{given.name}: storing", len(given.docs)) as done:
        for doc in given.docs:
            memory.add(
                [{"role": "user", "content": doc.text}],
                user_id=doc.scope,
                timestamp=doc.timestamp,
                metadata={"doc": doc.id},
                infer=False,
            )
            done(1)
    conn = until.enter_context(closing(connect(dsn)))
    finders = _ours(memory)
    if given.is_conversation:
        talk = until.enter_context(_memory(dsn, cache, endpoint, CONVERSATION))
        _converse(talk, given)
        finders["ours, as a conversation"] = _searching(talk)
    conn.execute("analyze")
    dimensions = len(cache.question(given.questions[0].text))
    finders["dense leg"] = _dense(conn, cache, dimensions)
    rows = [
        _row(given, name, [finder(q) for q in _shown(given, name)])
        for name, finder in finders.items()
    ]
    if options.mem0_python is not None:
        rows.append(_mem0(options, given, dsn, endpoint, dimensions))
    return rows


def _memory(dsn: str, cache: Cache, endpoint: Running, tenant: str = filling.TENANT) -> Memory:
    return Memory(
        Config(
            dsn=dsn,
            tenant=tenant,
            llm=None,
            embedder=Endpoint(model=cache.model, base_url=endpoint.base_url, api_key="none"),
        )
    )


def _converse(memory: Memory, given: RetrievalSet) -> None:
    """Store a set as what it is: messages of two speakers, session by session."""
    with bar(f"{given.name}: storing as a conversation", len(given.docs)) as done:
        for (scope, _), said in groupby(given.docs, lambda doc: (doc.scope, doc.session)):
            run: str | None = None
            for doc in said:
                run = run or doc.id
                memory.add(
                    [{"role": "user", "content": doc.text, "name": doc.speaker}],
                    user_id=scope,
                    run_id=run,
                    timestamp=doc.timestamp,
                    metadata={"doc": doc.id},
                    infer=False,
                )
                done(1)


def _searching(memory: Memory, **given: Any) -> Finder:
    def find(question: Question) -> list[str]:
        return _docs(
            memory.search(question.text, top_k=K, filters={"user_id": question.scope}, **given)
        )

    return find


def _ours(memory: Memory) -> dict[str, Finder]:
    def keyword(question: Question) -> list[str]:
        return _docs(
            memory.keyword_search(question.text, top_k=K, filters={"user_id": question.scope})
        )

    return {
        "ours": _searching(memory),
        "ours, additive": _searching(memory, fusion="additive"),
        "keyword leg": keyword,
    }


def _docs(found: dict[str, Any]) -> list[str]:
    return [result["metadata"]["doc"] for result in found["results"]]


def _dense(conn: psycopg.Connection[Any], cache: Cache, dimensions: int) -> Finder:
    """The nearest vectors of the texts themselves, whatever else is stored with them."""
    conn.execute(f"create temporary table doc (id text, scope text, v vector({dimensions}))")
    rows = conn.execute(
        "select metadata ->> 'doc', user_id, text from memlayer.memory where tenant = %s",
        [filling.TENANT],
    ).fetchall()
    vectors = cache.of([text for _, _, text in rows])
    for (id_, scope, _), vector in zip(rows, vectors, strict=True):
        conn.execute("insert into doc values (%s, %s, %s)", [id_, scope, vector])

    def find(question: Question) -> list[str]:
        found = conn.execute(
            "select id from doc where scope = %s order by v <=> %s, id limit %s",
            [question.scope, cache.question(question.text), K],
        )
        return [id_ for (id_,) in found]

    return find


def _mem0(
    options: QualityOptions, given: RetrievalSet, dsn: str, endpoint: Running, dimensions: int
) -> dict[str, Any]:
    """mem0's search over the same texts, stored word for word."""
    assert options.mem0_python is not None
    with (
        tempfile.TemporaryDirectory() as folder,
        psycopg.connect(dsn) as conn,
        Mem0(
            options.mem0_python,
            dsn,
            endpoint,
            Path(folder),
            dimensions=dimensions,
            spacy_model=options.spacy_model,
        ) as mem0,
    ):
        with bar(f"{given.name}: storing with mem0", len(given.docs)) as done:
            for batch in _batches(given.docs, MEM0_BATCH):
                memories = [
                    {"user": doc.scope, "text": doc.text, "metadata": {"doc": doc.id}}
                    for doc in batch
                ]
                mem0.ask(do="store", memories=memories)
                done(len(batch))
        assert one(conn, "select count(*) from mem0") == len(given.docs)
        found: list[list[str]] = []
        with bar(f"{given.name}: mem0", len(given.questions)) as done:
            for asked in _batches(given.questions, MEM0_BATCH):
                questions = [{"user": q.scope, "question": q.text} for q in asked]
                answer = mem0.ask(do="find", questions=questions, top_k=K, key="doc")
                found += answer["found"]
                done(len(asked))
        return _row(given, "mem0", found)


def _batches(items: Sequence[Any], size: int) -> Iterable[Sequence[Any]]:
    return (items[begin : begin + size] for begin in range(0, len(items), size))


def _shown(given: RetrievalSet, name: str) -> Iterable[Question]:
    with bar(f"{given.name}: {name}", len(given.questions)) as done:
        for question in given.questions:
            yield question
            done(1)


def _row(given: RetrievalSet, name: str, found: list[list[str]]) -> dict[str, Any]:
    pairs = list(zip(found, given.questions, strict=True))
    return {
        "set": given.name,
        "memories": len(given.docs),
        "questions": len(pairs),
        "contender": name,
        "recall": fmean(recall(ids, asked.relevant, K) for ids, asked in pairs),
        "ndcg": fmean(ndcg(ids, asked.relevant, K) for ids, asked in pairs),
    }
