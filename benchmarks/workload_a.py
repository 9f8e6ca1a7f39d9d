"""Workload A: many users with few, some and many memories each, and every operation."""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from benchmarks import bare, contenders, filling, measure
from benchmarks.contenders import Contender, Measured
from benchmarks.cpu import ServerCpu
from benchmarks.endpoint import Running, process
from benchmarks.mem0_peer import Mem0
from benchmarks.options import Options
from benchmarks.place import Place, lay
from benchmarks.progress import bar
from benchmarks.script import CLIENTS_MATTER, COUNTED, OPERATIONS, Script
from benchmarks.text import Writer
from benchmarks.timing import Batch
from benchmarks.vectors import Vectors
from benchmarks.wire import Wire

Results = dict[str, list[dict[str, Any]]]


class Run:
    """One size of the workload in a database of its own."""

    def __init__(
        self, options: Options, place: Place, vectors: Vectors, per_user: int, until: ExitStack
    ) -> None:
        self._options = options
        self._place = place
        self._vectors = vectors
        self._until = until
        self._writer = Writer(options.seed, per_user)
        self.users = [f"user{n}" for n in range(options.scaled(options.users))]
        self._largest = per_user == max(options.per_user)
        # These are there to be forgotten, all at once.
        self._doomed = [f"doomed{n}" for n in range(options.repeat_delete_all * self._largest)]
        self._name = f"benchmark_a_{per_user}"
        self._dsn = place.create(self._name)
        self._endpoint: Running = until.enter_context(
            process(vectors.dimensions, options.seed, per_user)
        )
        self._script = Script(self._writer, self.users)
        self._about = {
            "workload": "A",
            "per_user": per_user,
            "memories": len(self.users) * per_user,
        }
        self.mem0: Mem0 | None = None

    def results(self) -> Results:
        """Fill the database, measure, and drop it."""
        self._fill()
        found: Results = {"speed": [], "counts": [], "sizes": self._sizes()}
        measured = [Measured(one, ServerCpu(self._place.postmaster)) for one in self._contenders()]
        effort = self._options.effort
        todo = [
            (operation, clients)
            for operation in OPERATIONS
            for clients in self._options.clients
            if clients == 1 or operation in CLIENTS_MATTER
        ]
        with bar(f"A, {self._about['per_user']} a user: measuring", len(todo)) as done:
            for operation, clients in todo:
                batches = measure.in_turns(
                    measured,
                    operation,
                    lambda calls, operation=operation: self._script.take(operation, calls),  # type: ignore[misc]
                    effort,
                    clients,
                )
                found["speed"] += measure.rows(
                    batches, **self._about, operation=operation, clients=clients
                )
                done(1)
        if self._doomed:
            found["speed"] += self._delete_all(measured)
        if self._largest:
            found["counts"] = self._counts()
        for one in measured:
            one.close()
        self._place.drop(self._name)
        return found

    def _fill(self) -> None:
        lay(self._dsn)
        stores: list[filling.Store] = [
            filling.Ours(self._dsn, self._vectors),
            filling.Plain(self._dsn, self._vectors),
            filling.Plain(self._dsn, self._vectors, "halfvec"),
        ]
        if self._options.mem0_python is not None:
            self.mem0 = self._mem0(self._dsn, "timed")
            stores.append(
                filling.Mem0(self._dsn, self.mem0.history, self._vectors, self.mem0.lemmatise)
            )
        wanted = list(filling.order([*self.users, *self._doomed], self._writer.per_user))
        with bar(f"A, {self._writer.per_user} a user: filling", len(wanted)) as done:
            filling.fill(stores, self._writer, self._vectors, wanted, done)
        for store in stores:
            store.finish()
        if self._doomed:
            bare.lay(self._dsn)

    def _mem0(self, url: str, folder: str) -> Mem0:
        assert self._options.mem0_python is not None
        return Mem0(
            self._options.mem0_python,
            url,
            self._endpoint,
            self._folder / folder,
            dimensions=self._vectors.dimensions,
            seed=self._options.seed,
            per_user=self._writer.per_user,
            spacy_model=self._options.spacy_model,
        )

    @property
    def _folder(self) -> Path:
        return self._place.folder / "mem0" / self._name

    def _contenders(self) -> list[Contender]:
        found: list[Contender] = [
            contenders.Ours(self._dsn, self._endpoint, self._writer),
            contenders.Written(self._dsn, self._vectors),
            contenders.Best(self._dsn, self._vectors, "best layout"),
        ]
        return found + ([self.mem0] if self.mem0 is not None else [])

    def _delete_all(self, measured: list[Measured]) -> list[measure.Row]:
        """Forget a user at a time; mem0, which takes minutes for it, only one."""
        spent: dict[str, Batch] = {}
        with bar("A: forgetting everything of a user", len(self._doomed) * len(measured)) as done:
            for number, user in enumerate(self._doomed):
                for one in measured:
                    if one.can("delete_all") and (number == 0 or one.name != "mem0"):
                        batch = one.run("delete_all", [{"user": user}], 1)
                        spent.setdefault(one.name, Batch()).extend(batch)
                    done(1)
        return measure.rows(spent, **self._about, operation="delete_all", clients=1)

    def _counts(self) -> list[measure.Row]:
        """What a call makes others do; with connections that go through a wire that counts."""
        found = []
        with Wire(self._dsn) as wire:
            counted: list[Contender] = [contenders.Ours(wire.url, self._endpoint, self._writer)]
            if self.mem0 is not None:
                counted.append(self._mem0(wire.url, "counted"))
            with bar("A: counting", len(counted) * len(COUNTED)) as done:
                for one in counted:
                    with closing(one):
                        for operation in COUNTED:
                            found.append(
                                measure.count(
                                    one, wire, self._dsn, self._endpoint, self._script, operation
                                )
                            )
                            done(1)
        return found

    def _sizes(self) -> list[dict[str, Any]]:
        """Bytes on disk for each memory, everything counted that stores it."""
        memories = (len(self.users) + len(self._doomed)) * self._writer.per_user
        tables = {"plain": ("public", "plain", "plain_history"), "best layout": ("public", "best")}
        found = {
            "ours": filling.bytes_on_disk(self._dsn, "memlayer"),
            **{name: filling.bytes_on_disk(self._dsn, *given) for name, given in tables.items()},
        }
        if self.mem0 is not None:
            found["mem0"] = (
                filling.bytes_on_disk(self._dsn, "public", "mem0", "mem0_entities")
                + self.mem0.history.stat().st_size
            )
        return [
            {**self._about, "contender": name, "bytes_per_memory": size / memories}
            for name, size in found.items()
        ]


def run(options: Options, place: Place, vectors: Vectors) -> tuple[Results, str | None]:
    """All sizes; and what mem0 was: its version, and whether it used spaCy."""
    found: Results = {"speed": [], "counts": [], "sizes": []}
    peer = None
    for per_user in options.per_user:
        with ExitStack() as until:
            one = Run(options, place, vectors, per_user, until)
            for kind, rows in one.results().items():
                found[kind] += rows
            if one.mem0 is not None:
                peer = f"mem0ai {one.mem0.version}, {'with' if one.mem0.spacy else 'without'} spaCy"
    return found, peer
