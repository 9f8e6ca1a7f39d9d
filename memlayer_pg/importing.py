"""What import_memories does, without waiting for any of it: check, perhaps embed, write in batches.

A batch is one statement, which is the transaction. What stands already is found by its id and left
as it is, so a run that was interrupted is taken up by running it again. Links go last: the memory
that one refers to may come later in the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from memlayer_pg import checks, context, entities
from memlayer_pg.effects import Flow, call, embed
from memlayer_pg.entities import Entities
from memlayer_pg.errors import DatabaseError, EmbeddingMismatch
from memlayer_pg.flows import Store
from memlayer_pg.importing_rows import Named, Placed, Ready, Scope, packed, ready

T = TypeVar("T")

BATCH = 1000
"""Memories that are written by one statement."""
BATCH_BYTES = 16 * 1024 * 1024
"""Their size, from which on they are fewer."""

Rows = Iterable[Mapping[str, Any] | Placed]
Progress = Callable[[int, int | None], None]
"""Told how many memories are done and how many there are, None when nobody knows."""


def import_memories(
    store: Store,
    rows: Rows,
    *,
    user_id: object,
    agent_id: object,
    run_id: object,
    model: object,
    embeds: bool,
    dry_run: bool,
    on_progress: Progress | None,
    actor: object = None,
) -> Flow[dict[str, Any]]:
    """Store ready memories; the result counts them, and names those that are in conflict."""
    ids = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
    label = checks.actor(actor)
    scope = checks.Scope(**{name: checks.scope_id(name, value) for name, value in ids.items()})
    label = checks.actor(actor)
    total = len(rows) if isinstance(rows, Sequence) else None
    tally = Tally(dry_run)
    for batch in ahead(batches(ready(rows, checks.optional_text("model", model), scope))):
        tokens = 0
        if embeds and not dry_run:
            batch, tokens = yield from _embedded(store, batch)
        try:
            answer = yield from call(
                "import_memories",
                p_tenant=store.tenant,
                **_arguments(batch, tally.left_over),
                p_dry_run=dry_run or None,
                p_actor=label,
                p_usage={"embedding_tokens": tokens} if tokens else None,
            )
        except DatabaseError as error:
            error.message = f"{batch[0].where} to {batch[-1].where}: {error.message}"
            error.args = (error.message,)
            raise
        tally.count(batch, [row["outcome"] for row in answer])
        if on_progress is not None:
            on_progress(tally.seen, total)
    result = tally.result()
    if not dry_run:
        result |= {"links": 0, "links_left_out": 0}
        for begin in range(0, len(tally.links), BATCH):
            links = tally.links[begin : begin + BATCH]
            [stored] = yield from call("import_links", p_tenant=store.tenant, p_links=links)
            result["links"] += stored["linked"]
            result["links_left_out"] += stored["left_out"]
    return result


def batches(rows: Iterable[Ready]) -> Iterator[list[Ready]]:
    """Rows in the lists that are written together: vectors of one model, and no id twice."""
    batch: list[Ready] = []
    ids: set[str] = set()
    size = 0
    model: str | None = None
    for row in rows:
        id_ = row.fields["id"]
        another = row.model is not None and model is not None and row.model != model
        if batch and (
            len(batch) == BATCH or size + row.size > BATCH_BYTES or another or id_ in ids
        ):
            yield batch
            batch, ids, size, model = [], set(), 0, None
        batch.append(row)
        ids.add(id_)
        size += row.size
        model = row.model or model
    if batch:
        yield batch


def ahead(items: Iterator[T]) -> Iterator[T]:
    """The same items, each read while the one before it is worked on."""
    end = object()
    with ThreadPoolExecutor(1, thread_name_prefix="memlayer-import") as thread:
        coming = thread.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = thread.submit(next, items, end)
            yield item  # type: ignore[misc]


@dataclass
class Tally:
    """What became of the memories so far.

    `left_over`: vectors of entities that came with a memory which was not stored, for the next one
    that names them.
    """

    dry_run: bool
    seen: int = 0
    counts: dict[str, int] = field(
        default_factory=lambda: {"added": 0, "known": 0, "duplicate": 0, "pending": 0}
    )
    conflicts: list[dict[str, str]] = field(default_factory=list)
    links: list[dict[str, str]] = field(default_factory=list)
    left_over: dict[tuple[Scope, str], bytes] = field(default_factory=dict)
    _ids: dict[str, str] = field(default_factory=dict)
    _facts: set[tuple[Scope, str]] = field(default_factory=set)

    def count(self, batch: list[Ready], outcomes: list[str]) -> None:
        """Note what became of a batch."""
        for row, outcome in zip(standing(batch), outcomes, strict=True):
            id_ = row.fields["id"]
            if self.dry_run and outcome == "added":
                outcome = self._among_themselves(row)
            if outcome == "conflict":
                self.conflicts.append({"where": row.where, "id": id_})
            else:
                self.counts[outcome] += 1
            if outcome == "added" and row.embedding is None:
                self.counts["pending"] += 1
            if outcome in ("added", "known"):
                self.links += [
                    {"memory_id": id_, "linked_id": linked, "kind": kind}
                    for linked, kind in row.links
                ]
            else:
                for named in row.entities or ():
                    if named.embedding is not None:
                        self.left_over[row.scope, named.name] = named.embedding
        self.seen += len(batch)

    def _among_themselves(self, row: Ready) -> str:
        """What became of it if the file had been stored up to here."""
        id_, text = row.fields["id"], row.fields["text"]
        if id_ in self._ids:
            return "known" if self._ids[id_] == text else "conflict"
        self._ids[id_] = text
        if row.is_fact:
            if (row.scope, text) in self._facts:
                return "duplicate"
            self._facts.add((row.scope, text))
        return "added"

    def result(self) -> dict[str, Any]:
        """The counts, and the memories in conflict."""
        counts = dict(self.counts)
        return {
            "added": counts["added"],
            "known": counts["known"],
            "duplicates": counts["duplicate"],
            "conflicts": self.conflicts,
            "pending": counts["pending"],
        }


def standing(batch: list[Ready]) -> list[Ready]:
    """Those that are not only the history of what was deleted."""
    return [row for row in batch if not row.is_gone]


def _embedded(store: Store, batch: list[Ready]) -> Flow[tuple[list[Ready], int]]:
    """A batch whose texts and names all have vectors, in one request, and the tokens it took."""
    named = [_named(row) for row in batch]
    wanting = [row for row in batch if row.embedding is None and not row.is_gone]
    texts = [
        context.embedded(store, row.fields["text"], row.fields.get("context")) for row in wanting
    ]
    names = list(dict.fromkeys(e.name for found in named for e in found if e.embedding is None))
    if not texts and not names:
        return batch, 0
    answer = yield from embed([*texts, *names], "document")
    vectors = [packed("a vector of the embedder", vector) for vector in answer.vectors]
    of_text = iter(vectors)
    of_name = dict(zip(names, vectors[len(texts) :], strict=True))
    done = []
    for row, found in zip(batch, named, strict=True):
        if row.has_vectors and row.model not in (None, answer.model):
            raise EmbeddingMismatch(
                f"{row.where} is embedded with {row.model}, the embedder is {answer.model}",
                hint="Configure the embedder the memories were made with.",
            )
        if row.is_gone:
            done.append(row)
            continue
        done.append(
            replace(
                row,
                model=answer.model,
                embedding=row.embedding or next(of_text),
                entities=tuple(replace(e, embedding=e.embedding or of_name[e.name]) for e in found),
            )
        )
    return done, answer.tokens


def _named(row: Ready) -> tuple[Named, ...]:
    """The entities of a memory; where it does not say and waits for its vector, those in its text,
    as embed_pending takes them."""
    if row.entities is not None or row.embedding is not None or row.is_gone:
        return row.entities or ()
    found = Entities()
    found.places(entities.named(row.fields["text"]))
    return tuple(Named(item["name"], item["type"]) for item in found.rows)


def _arguments(batch: list[Ready], left_over: dict[tuple[Scope, str], bytes]) -> dict[str, Any]:
    """The batch as arguments of memlayer.import_memories: each entity once, numbered from 1."""
    vectors = {
        (row.scope, named.name): named.embedding
        for row in reversed(batch)
        for named in row.entities or ()
        if named.embedding is not None
    }
    places: dict[Named, int] = {}
    memories = []
    stand = standing(batch)
    for row in stand:
        mentioned = []
        for named in row.entities or ():
            key = row.scope, named.name
            vector = vectors.get(key) or left_over.get(key)
            entity = replace(named, embedding=vector)
            mentioned.append(places.setdefault(entity, len(places) + 1))
        memories.append({**row.fields, "entities": mentioned} if mentioned else row.fields)
    models = [row.model for row in batch if row.model is not None]
    return {
        "p_memories": memories,
        "p_embeddings": [row.embedding for row in stand],
        "p_model": models[0] if models else None,
        "p_entities": [{"name": named.name, "type": named.type} for named in places],
        "p_entity_embeddings": [named.embedding for named in places],
        "p_history": [version for row in batch for version in row.past],
    }
