"""Workloads B, B2 and C: one large scope, alone and among a million rows of others; many users."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import psycopg
from pgvector import HalfVector

from benchmarks import contenders, filling, measure
from benchmarks.contenders import TOP_K, Contender, Measured
from benchmarks.cpu import ServerCpu
from benchmarks.endpoint import Running, process
from benchmarks.filling import MODEL, connect
from benchmarks.options import Options
from benchmarks.place import Place, lay, one
from benchmarks.progress import bar, console
from benchmarks.script import Script
from benchmarks.text import Writer
from benchmarks.vectors import Vectors
from memlayer_pg import schema

Results = dict[str, list[dict[str, Any]]]

SCOPE = "scope"
"""The user whose scope is large."""
WRITER = "writer"
"""A user to whom memories are added: the scope itself stays as it is."""
QUESTIONS = 50
"""How many answers recall is measured on."""
EACH = 1000
"""Memories of each of the many users."""
FEW = 10
"""Users of the small store that the growth of the large one is measured against."""
ACTIVE = 20
"""Of the many users, how many ask. Their rows were read before, as are those of users at work: else
the disk would be measured, for all rows are more than this machine keeps in memory."""
MEMORY = "6GB"
"""maintenance_work_mem while an HNSW index is built."""


class Store:
    """A database with our tables, the plain table and the best layout, filled once."""

    def __init__(
        self, options: Options, place: Place, vectors: Vectors, workload: str,
        users: Sequence[str], scope: int, until: ExitStack,
    ) -> None:  # fmt: skip
        self._options = options
        self.place = place
        self.vectors = vectors
        self.workload = workload
        self.users = users
        self.scope = scope
        self.memories = len(users) * EACH + scope
        self.writer = Writer(options.seed, EACH)
        self.endpoint: Running = until.enter_context(
            process(vectors.dimensions, options.seed, EACH)
        )
        shape = [schema.digest("".join((schema.SQL / f).read_text() for f in schema.load_order()))]
        shape += [str(value) for value in (options.seed, vectors.dimensions, len(users), scope)]
        digest = hashlib.md5(":".join(shape).encode()).hexdigest()[:8]
        self.name = f"benchmark_{workload.lower()}_{digest}"
        self.dsn = place.known(self.name) or self._filled()

    def _filled(self) -> str:
        dsn = self.place.create(self.name)
        lay(dsn)
        stores: list[filling.Store] = [
            filling.Ours(dsn, self.vectors),
            filling.Plain(dsn, self.vectors),
            filling.Plain(dsn, self.vectors, "halfvec"),
        ]
        with bar(f"{self.workload}: filling", self.memories) as done:
            filling.fill(stores, self.writer, self.vectors, self._order(), done)
        for store in stores:
            store.finish()
        with psycopg.connect(dsn) as conn:
            conn.execute("create table public.filled ()")
        return dsn

    def _order(self) -> Iterator[tuple[str, int]]:
        """The users in turns, and between them their share of the large scope."""
        begin = 0
        for place in range(EACH):
            for user in self.users:
                yield user, place
            end = self.scope * (place + 1) // EACH
            for number in range(begin, end):
                yield SCOPE, number
            begin = end

    def measured(self, *which: Contender) -> list[Measured]:
        return [Measured(contender, ServerCpu(self.place.postmaster)) for contender in which]

    def ours(self, name: str = "ours") -> contenders.Ours:
        return contenders.Ours(self.dsn, self.endpoint, self.writer, name)

    def plain(self) -> contenders.Plain:
        return contenders.Plain(self.dsn, self.vectors)

    def best(self) -> contenders.Best:
        return contenders.Best(self.dsn, self.vectors, "best layout")

    def about(self, per_user: int) -> dict[str, Any]:
        return {"workload": self.workload, "memories": self.memories, "per_user": per_user}

    def turns(
        self,
        measured: list[Measured],
        users: Sequence[str],
        per_user: int,
        operation: str = "search",
    ) -> list[measure.Row]:
        """An operation as one of these users, in turns."""
        script = Script(self.writer, users)
        with bar(f"{self.workload}: {operation}", 1) as done:
            batches = measure.in_turns(
                measured,
                operation,
                lambda calls: script.take(operation, calls),
                self._options.effort,
            )
            done(1)
        return measure.rows(batches, **self.about(per_user), operation=operation, clients=1)

    def drop(self) -> None:
        if self._options.keep is None:
            self.place.drop(self.name)


class Few(contenders.Ours):
    """Ours in the small store: each of the many users is played by one of its few."""

    def __init__(self, store: Store) -> None:
        super().__init__(store.dsn, store.endpoint, store.writer, "ours, 10 users")
        self._users = store.users

    def _search(self, user: str, question: str) -> contenders.Call:
        number = zlib.crc32(user.encode())
        player = self._users[number % len(self._users)]
        return super()._search(player, self._writer.question(player, number))


class Bare(contenders.Plain):
    """The query that an HNSW index answers, with nothing to narrow it."""

    def _search(self, user: str, question: str) -> contenders.Call:
        vector = HalfVector(self._vectors.of([question])[0])
        return self._rows(f"select id from best order by embedding <=> %b limit {TOP_K}", [vector])

    def can(self, operation: str) -> bool:
        return operation == "search"


def large_scope(store: Store, *, hnsw: bool) -> Results:
    """Search in the large scope: exactly, and where there is one with an index; and how much of
    what an exact search finds ours does."""
    _without_index(store)
    truth = _exact(store)
    ours = store.ours()
    exact = store.measured(ours, store.plain(), store.best())
    found: Results = {
        "speed": store.turns(exact, [SCOPE], store.scope),
        "recall": [_recall(store, truth, "ours")],
    }
    writers = store.measured(ours, contenders.Written(store.dsn, store.vectors))
    found["speed"] += store.turns(writers, [WRITER], store.scope, "add")
    writers[-1].close()
    for contender in exact:
        contender.close()
    if hnsw:
        indexed = _build(store)
        with_index = store.measured(Bare(store.dsn, store.vectors, "bare HNSW"))
        if indexed:
            with_index += store.measured(store.ours("ours, ANN"))
            found["recall"].append(_recall(store, truth, "ours, ANN"))
            # What the index costs those who write, whoever they are.
            found["speed"] += store.turns(with_index[1:], [WRITER], store.scope, "add")
        found["speed"] += store.turns(with_index, [SCOPE], store.scope)
        for contender in with_index:
            contender.close()
    return found


def among_others(store: Store, *, hnsw: bool) -> Results:
    """Search in the large scope among the rows of others, in full and with our index. The index is
    left where the store is kept, for it takes long to make."""
    truth = _exact(store)
    exact = store.measured(store.ours(), store.plain(), store.best())
    with _read_in_full(store):
        found: Results = {
            "speed": store.turns(exact, [SCOPE], store.scope),
            "recall": [_recall(store, truth, "ours")],
        }
    for contender in exact:
        contender.close()
    if hnsw:
        console.print(f"{store.workload}: building our ANN index, which takes long")
        with psycopg.connect(store.dsn, autocommit=True) as conn:
            conn.execute(f"set maintenance_work_mem = '{MEMORY}'")
            conn.execute("select memlayer.create_ann_index()")
        [indexed] = store.measured(store.ours("ours, ANN"))
        found["speed"] += store.turns([indexed], [SCOPE], store.scope)
        found["speed"] += store.turns([indexed], [WRITER], store.scope, "add")
        found["recall"].append(_recall(store, truth, "ours, ANN"))
        indexed.close()
    return found


@contextmanager
def _read_in_full(store: Store) -> Iterator[None]:
    """As if there was no vector index."""
    with psycopg.connect(store.dsn, autocommit=True) as conn:
        conn.execute(
            "insert into memlayer.setting (tenant, defaults) "
            """values ('default', '{"exact_threshold": 999999999}') """
            "on conflict (tenant) do update set defaults = excluded.defaults"
        )
        yield
        conn.execute("delete from memlayer.setting")


def _without_index(store: Store) -> None:
    """Take down the indexes that an earlier run has left in a store that was kept."""
    with psycopg.connect(store.dsn) as conn:
        made = conn.execute(
            "select indexrelid::regclass::text from pg_index join pg_class c on c.oid = indexrelid "
            "join pg_am a on a.oid = c.relam where a.amname = 'hnsw'"
        ).fetchall()
        for (index,) in made:
            conn.execute(f"drop index {index}")


def _questions(store: Store) -> list[HalfVector]:
    texts = [store.writer.question(SCOPE, number) for number in range(QUESTIONS)]
    return [HalfVector(vector) for vector in store.vectors.of(texts)]


def _exact(store: Store) -> list[set[Any]]:
    """The nearest memories of the scope for each question, by looking at all of them."""
    with connect(store.dsn) as conn:
        conn.execute("set enable_indexscan = off")
        return [
            {
                id_
                for (id_,) in conn.execute(
                    "select id from best where user_id = %s order by embedding <=> %s limit %s",
                    [SCOPE, vector, TOP_K],
                )
            }
            for vector in _questions(store)
        ]


def _recall(store: Store, truth: list[set[Any]], contender: str) -> dict[str, Any]:
    """How many of the nearest our search finds by the vector alone, and whether it ever comes back
    with fewer rows than there are."""
    shares, short = [], 0
    with connect(store.dsn) as conn:
        for vector, wanted in zip(_questions(store), truth, strict=True):
            rows = conn.execute(
                "select id from memlayer.search(p_embedding => %s, p_model => %s, p_user_id => %s, "
                "p_top_k => %s, p_threshold => 0)",
                [vector, MODEL, SCOPE, TOP_K],
            ).fetchall()
            shares.append(len(wanted & {id_ for (id_,) in rows}) / max(len(wanted), 1))
            short += len(rows) < len(wanted)
    return {
        **store.about(store.scope),
        "contender": contender,
        "recall": sum(shares) / len(shares),
        "too_few_rows": short,
    }


def _build(store: Store) -> bool:
    """Index the best layout, and our table where the schema has a function for it."""
    with psycopg.connect(store.dsn, autocommit=True) as conn:
        conn.execute(f"set maintenance_work_mem = '{MEMORY}'")
        console.print(f"{store.workload}: building the bare HNSW index, which takes a while")
        conn.execute("create index if not exists best_hnsw on best "
                     "using hnsw (embedding halfvec_cosine_ops)")  # fmt: skip
        if one(conn, "select to_regproc('memlayer.create_ann_index') is null"):
            return False
        console.print(f"{store.workload}: building our ANN index")
        conn.execute("select memlayer.create_ann_index()")
        return True


def run(options: Options, place: Place, vectors: Vectors) -> Results:
    """The workloads that were asked for."""
    found: Results = {"speed": [], "recall": []}
    scope = options.scaled(options.scope)
    with ExitStack() as until:
        if "B" in options.workloads:
            store = Store(options, place, vectors, "B", [], scope, until)
            _gather(found, large_scope(store, hnsw=options.hnsw))
            store.drop()
        if "C" in options.workloads:
            many = [f"user{n}" for n in range(options.scaled(options.many_users))]
            small = Store(options, place, vectors, "few", many[:FEW], 0, until)
            large = Store(options, place, vectors, "C", many, scope, until)
            pair = [
                *small.measured(Few(small)),
                *large.measured(large.ours(), large.plain(), large.best()),
            ]
            active = many[:: max(len(many) // ACTIVE, 1)]
            once = [{"user": user, "question": large.writer.question(user, 0)} for user in active]
            for contender in pair:
                contender.run("search", once, 1)
            found["speed"] += large.turns(pair, active, EACH)
            for contender in pair:
                contender.close()
            large.workload = "B2"
            _gather(found, among_others(large, hnsw=options.hnsw))
            small.drop()
            large.drop()
    return found


def _gather(found: Results, more: Results) -> None:
    for kind, rows in more.items():
        found[kind] += rows
