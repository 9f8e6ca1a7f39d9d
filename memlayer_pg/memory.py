"""`Memory`: the methods, a line or two each; `driving` performs what their flows ask for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

from memlayer_pg import (
    batch,
    checks,
    feed,
    flows,
    importing,
    pending,
    reembedding,
    reverting,
    updating,
    writing,
)
from memlayer_pg.checks import THRESHOLD, TOP_K, UNSET, Unset
from memlayer_pg.driving import Driver
from memlayer_pg.moving import flow as moving
from memlayer_pg.writing import Prepared

Messages = str | dict[str, Any] | list[dict[str, Any]]


class Memory(Driver):
    """Long-term memory for agents, in Postgres; may be shared by threads and survives a fork.

    Every method takes `connection=`: a psycopg Connection, or a SQLAlchemy Connection or Session on
    postgresql+psycopg, to read and write in its transaction, which is left for you to commit. Those
    that write take `actor=`: whom the history shall name beside the login, at most 255 bytes.
    """

    def add(
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
    ) -> dict[str, Any]:
        """Remember what was said: `{"results": [{"id", "memory", "event": "ADD"}, …]}`.

        `user_id`, `agent_id`, `run_id`: whose memories these are; at least one, else
        ValidationError. `metadata`: kept with each memory. `timestamp`: when it was said; None is
        now. `expiration_date`: the last day (UTC) on which the memories are shown; None is for
        ever. `infer`: False stores the messages word for word, and each result has `actor_id` and
        `role`. `memory_type`: "procedural_memory", with an agent_id, stores one record of what the
        agent did. `prompt`: goes in place of the configured custom_instructions.
        `idempotency_key`: the same request sent again stores nothing and returns the same.

        Facts that were remembered already stand in `skipped`: `[{"id", "memory", "reason"}]`, a key
        that is there only when it is not empty. All of it is stored, or nothing.
        """
        return self._run(
            writing.add(
                self._store,
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
            ),
            connection,
        )

    def prepare_add(
        self, messages: Messages, *, connection: Any = None, **arguments: Any
    ) -> Prepared:
        """Do the part of an add that asks the models; `arguments` are those of `add`.

        `apply` writes it: so a transaction of yours need not stay open while models are at work.
        """
        return self._run(writing.prepare_add(self._store, messages, **arguments), connection)

    def prepare_update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: date | str | Unset | None = UNSET,
        data: str | None = None,
        *,
        expected_version: int | None = None,
        actor: str | None = None,
        connection: Any = None,
    ) -> Prepared:
        """Do the part of an update that asks the model; `apply` writes it, in your transaction."""
        return self._run(
            updating.prepare_update(
                self._store,
                memory_id,
                text=text,
                metadata=metadata,
                expiration_date=expiration_date,
                data=data,
                expected_version=expected_version,
                actor=actor,
            ),
            connection,
        )

    def apply(self, prepared: Prepared, *, connection: Any = None) -> dict[str, Any]:
        """Write what was prepared: what `add` or `update` would have returned. No model is asked.

        VersionConflict when the memory was changed since prepare_update read it.
        """
        return self._run(writing.apply(prepared), connection)

    def add_many(
        self,
        conversations: Iterable[Mapping[str, Any]],
        *,
        concurrency: int = 4,
        on_progress: Callable[[int, int], None] | None = None,
        **common: Any,
    ) -> list[dict[str, Any]]:
        """Add several conversations at once, each in a transaction of its own.

        A conversation is a dictionary of arguments of `add`; `common` holds for those that do not
        say otherwise. `concurrency`: how many at the same time. `on_progress`: called with how many
        are done and how many there are. The results come in the order of the conversations, for one
        that failed `{"error": exception}`.
        """
        jobs = batch.arguments(conversations, common, inspect.signature(self.add).parameters)
        at_once = checks.at_least_one("concurrency", concurrency)
        return batch.add_many(self.add, jobs, at_once, on_progress)

    def search(
        self,
        query: str,
        *,
        top_k: int = TOP_K,
        filters: Mapping[str, Any] | None = None,
        threshold: float = THRESHOLD,
        rerank: bool = False,
        explain: bool = False,
        reference_date: date | str | None = None,
        show_expired: bool = False,
        fusion: str | None = None,
        include_superseded: bool = True,
        demote_superseded: bool = True,
        recency_half_life: float | None = None,
        fallback: str | None = None,
        as_of: datetime | str | None = None,
        connection: Any = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """The memories that best answer a query, best first: `{"results": […]}`, each with a score.

        `filters`: a dictionary with at least one of user_id, agent_id and run_id, and any further
        conditions, which never reach beyond those ids. `top_k`: how many at most. `threshold`: the
        least cosine similarity, 0 to 1. `rerank`: in the reranker's order, each with
        `rerank_score`; when it fails the order stays and `rerank_error` beside `results` says why.
        `explain`: add `score_details`, whose parts sum to the score. `reference_date`: a day (UTC)
        to look back from: what was stored by then and had not expired; None is now.
        `show_expired`: find expired ones too. `fusion`: "additive" is mem0's formula.
        `include_superseded`: also find what a newer memory updates or contradicts (its id stands in
        `superseded_by`); it ranks below the newer one unless `demote_superseded` is False.
        `recency_half_life`: days after which age halves what recency adds to the score; None leaves
        age out. `fallback`: "keyword" searches by words alone while the embedder fails. `as_of`: a
        moment (UTC where it names no zone): the memories as they stood then, deleted ones too,
        scored as then; it goes without `reference_date`, and is HistoryTooShort where retention
        took that history away. Other keywords are let pass, as mem0 does.
        """
        return self._read(
            flows.search(
                self._store,
                query,
                top_k=top_k,
                filters=filters,
                threshold=threshold,
                rerank_=rerank,
                explain=explain,
                reference_date=reference_date,
                show_expired=show_expired,
                fusion=fusion,
                include_superseded=include_superseded,
                demote_superseded=demote_superseded,
                recency_half_life=recency_half_life,
                fallback=fallback,
                as_of=as_of,
                extra=kwargs,
            ),
            connection,
        )

    def keyword_search(
        self,
        query: str,
        *,
        top_k: int = TOP_K,
        filters: Mapping[str, Any] | None = None,
        show_expired: bool = False,
        connection: Any = None,
    ) -> dict[str, Any]:
        """`search` by words and names alone: no embedder is asked, no threshold applies."""
        return self._read(
            flows.keyword_search(
                self._store, query, top_k=top_k, filters=filters, show_expired=show_expired
            ),
            connection,
        )

    def similar_to(
        self, memory_id: str, *, top_k: int = TOP_K, connection: Any = None
    ) -> dict[str, Any]:
        """The memories nearest to this one in its scope, as `search` gives them."""
        return self._read(flows.similar_to(self._store, memory_id, top_k=top_k), connection)

    def get(self, memory_id: str, *, connection: Any = None) -> dict[str, Any] | None:
        """One memory, expired or not; None when there is none of this id."""
        return self._read(flows.get(self._store, memory_id), connection)

    def get_all(
        self,
        *,
        filters: Mapping[str, Any] | None = None,
        top_k: int = TOP_K,
        show_expired: bool = False,
        after: str | None = None,
        with_total: bool = False,
        reference_date: date | str | None = None,
        as_of: datetime | str | None = None,
        connection: Any = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """The memories of a scope, newest first: `{"results": […]}`.

        `filters`, `top_k`, `show_expired`, `reference_date`, `as_of`: as in `search`. When there
        are more, the result has `next`, to be given as `after` for the next page. `with_total`: add
        `total`, how many there are in all. Other keywords are let pass, as mem0 does.
        """
        return self._read(
            flows.get_all(
                self._store,
                filters=filters,
                top_k=top_k,
                show_expired=show_expired,
                after=after,
                with_total=with_total,
                reference_date=reference_date,
                as_of=as_of,
                extra=kwargs,
            ),
            connection,
        )

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: date | str | Unset | None = UNSET,
        data: str | None = None,
        *,
        expected_version: int | None = None,
        actor: str | None = None,
        connection: Any = None,
    ) -> dict[str, Any]:
        """Change a memory: `{"message": "Memory updated successfully!"}`.

        `text`: its new wording, embedded only when it is another. `metadata`: merged key by key.
        `expiration_date`: None takes it away, left out leaves it. `data`: an old name of text.
        `expected_version`: change it only while it is at this version, else VersionConflict;
        without one, that is raised when others were faster a hundred times. MemoryNotFound, a
        ValueError, when there is none of this id.
        """
        return self._run(
            updating.update(
                self._store,
                memory_id,
                text=text,
                metadata=metadata,
                expiration_date=expiration_date,
                data=data,
                expected_version=expected_version,
                actor=actor,
            ),
            connection,
        )

    def embed_pending(
        self,
        *,
        limit: int | None = None,
        on_progress: Callable[[int, int], None] | None = None,
        actor: str | None = None,
    ) -> dict[str, int]:
        """Give memories that wait for a vector theirs: `{"embedded": n, "pending": left}`.

        A memory waits when plain SQL stored it, or changed its text, without a vector; until then
        words alone find it. `limit`: how many at most; None is all. `on_progress`: called with how
        many are done and how many there are. Each is written by itself, so what was done stays when
        the embedder fails or the call is interrupted; one that others go on changing is left.
        """
        flow = pending.embed_pending(self._store, limit=limit, on_progress=on_progress, actor=actor)
        return self._run(flow, None)

    def reembed(
        self,
        *,
        dry_run: bool = False,
        rate: float | None = None,
        on_progress: Callable[[int, int], None] | None = None,
        actor: str | None = None,
    ) -> dict[str, Any]:
        """Embed all memories and entities anew, with the embedder of this object, and change to it.

        Searches and writers stay with the model in use until all vectors are there; then one
        transaction changes the tenant to the other model, and whoever has the old one configured
        gets EmbeddingMismatch, which names both. A call that failed or was killed goes on where it
        was when it is made again. `dry_run`: only count. `rate`: requests a minute at most; None
        is no limit. `on_progress`: called with how many texts are embedded and of how many. Needs
        the role memlayer_admin.

        `{"model", "dimensions"}`: of before; `next_model`: of an unfinished call; `memories`,
        `entities`; `remaining`, `characters`, `tokens` (estimated), `requests`: what was to be
        embedded; `embedded`, `embedding_tokens`: what was; `cut_over`: whether the model changed;
        `pending`: memories that wait for a vector. EmbeddingMismatch when another model is on its
        way or that before is still kept; DatabaseError when a transaction that is older than the
        re-embedding does not end for a minute.
        """
        flow = reembedding.reembed(
            self._store,
            self.embedding_model.name,
            dry_run=bool(dry_run),
            rate=rate,
            on_progress=on_progress,
            actor=actor,
        )
        return self._run(flow, None)

    def reembed_rollback(self, *, actor: str | None = None) -> dict[str, Any]:
        """Go back to the model before `reembed`, or give up one that is unfinished.

        `{"model", "memories", "dropped", "pending"}`: the model in use now, memories that were
        given their old vector, vectors that were dropped, and memories stored or changed since,
        which wait for one (`embed_pending`, with the old embedder). The other model's vectors are
        kept in turn. Needs memlayer_admin. InputError when there is nothing to go back to.
        """
        return self._run(reembedding.roll_back(self._store, actor=actor), None)

    def reembed_finish(self) -> dict[str, Any]:
        """Drop the vectors of the model before, after which there is no going back to it.

        `{"model", "dimensions", "dropped", "model_id"}`: of which, and how many; the model is None
        when none were kept. Needs memlayer_admin. EmbeddingMismatch before the cut-over.
        """
        return self._run(reembedding.finish(self._store), None)

    def import_memories(
        self,
        rows: importing.Rows,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        model: str | None = None,
        embed: bool = False,
        dry_run: bool = False,
        on_progress: importing.Progress | None = None,
        actor: str | None = None,
        connection: Any = None,
    ) -> dict[str, Any]:
        """Store ready memories: dictionaries as `get_all` gives them or `memlayer export` writes.

        `rows`: read ahead by a thread. `user_id`, `agent_id`, `run_id`: of those that name nobody.
        `model`: the name of the model of vectors that do not say theirs. `embed`: let the embedder
        make what vectors are missing; else those memories wait for `embed_pending`. `dry_run`:
        write nothing. `on_progress`: called with how many are done and of how many (None: unknown).

        A thousand are one transaction, so that what was stored stays when the rest fails: import
        all of it again, and nothing is stored twice. The result counts `added`, `known` (the id
        stands with this text and scope), `duplicates` (the scope has the fact) and `pending`, and
        names those in `conflicts`, whose id stands with another text or scope and is left so.
        InputError or NotStorable names a memory that is wrong, EmbeddingMismatch a vector of
        another size or model.
        """
        flow = importing.import_memories(
            self._store,
            rows,
            user_id=user_id,
            agent_id=agent_id,
            run_id=run_id,
            model=model,
            embeds=embed,
            dry_run=dry_run,
            on_progress=on_progress,
            actor=actor,
        )
        return self._run(flow, connection)

    def import_mem0(
        self,
        vector_dsn: str | None = None,
        *,
        collection: str = "mem0",
        history_db: str | Path | None = None,
        dump: importing.Rows | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        model: str | None = None,
        embed: bool = False,
        dry_run: bool = False,
        on_progress: importing.Progress | None = None,
        actor: str | None = None,
        connection: Any = None,
    ) -> dict[str, Any]:
        """Move in from mem0: memories with ids, times, vectors and entities, history, messages.

        `vector_dsn`: the database of mem0's pgvector store, which is only read. `collection`: its
        table. `history_db`: mem0's SQLite file. `dump`: in place of these, memories as mem0's
        get_all gives them from any other store. `user_id`, `agent_id`, `run_id`: whose those are
        that name nobody. `model`: the name of the model of mem0's vectors; without it the embedder
        is asked for a few texts, and the vectors are taken if they are equal. `embed`: let the
        embedder make those that are missing or not taken. `dry_run`: write nothing and report.
        `on_progress`: called with how many memories are done and of how many, the comparison
        counted; None: unknown.

        Whatever stands here already is left as it is: an interrupted move is taken up by calling
        again. The report has the counts of `import_memories`, `memories`, `left_out`, `vectors`,
        `messages`, `defects` (what was wrong in mem0's store, how often, and what was done) and, of
        tables that were moved, `verification`: every memory compared with mem0's row, checksums,
        and how far searches by vector agree. InputError when there is no such collection or file.
        """
        flow = moving.import_mem0(
            self._store,
            vector_dsn=vector_dsn,
            collection=collection,
            history_db=history_db,
            dump_=dump,
            user_id=user_id,
            agent_id=agent_id,
            run_id=run_id,
            model=model,
            embeds=embed,
            dry_run=dry_run,
            on_progress=on_progress,
            actor=actor,
        )
        return self._run(flow, connection)

    def delete(
        self,
        memory_id: str,
        *,
        expected_version: int | None = None,
        actor: str | None = None,
        connection: Any = None,
    ) -> dict[str, Any]:
        """Forget one memory, not its history; MemoryNotFound, a ValueError, when there is none.

        `expected_version`: only while it is at this version, else VersionConflict.
        """
        flow = flows.delete(self._store, memory_id, expected_version=expected_version, actor=actor)
        return self._run(flow, connection)

    def delete_all(
        self,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        *,
        filters: Mapping[str, Any] | None = None,
        actor: str | None = None,
        connection: Any = None,
    ) -> dict[str, Any]:
        """Forget every memory that carries at least these ids, and matches `filters` if given.

        ScopeMissing, a ValueError, when no id is given: `reset` is for that.
        """
        return self._run(
            flows.delete_all(self._store, user_id, agent_id, run_id, filters, actor), connection
        )

    def erase(
        self,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        *,
        actor: str | None = None,
        connection: Any = None,
    ) -> dict[str, Any]:
        """Erase for good whatever carries at least these ids, and give the receipt.

        Memories, their history, messages, entities, and the ids, results and idempotency keys in
        the records of calls go, in one transaction: nothing can be restored or undone. The receipt
        has the count of each, `scope_digest`, and neither content nor ids; it stays in the table
        `receipt`. Needs the role memlayer_admin. ScopeMissing when no id is given.
        """
        return self._run(flows.erase(self._store, user_id, agent_id, run_id, actor), connection)

    def restore(
        self,
        memory_id: str,
        *,
        version: int | None = None,
        as_of: datetime | date | str | float | None = None,
        expected_version: int | None = None,
        actor: str | None = None,
        connection: Any = None,
    ) -> dict[str, Any]:
        """Make a memory what it was: its words, metadata, expiry, vector and the names in it.

        `version`, or `as_of`: a version its history shows, or a moment. One that was deleted stands
        again under its own id, and needs neither. No model is asked. The result is the memory as
        `get_all` gives it, and `event`: "UPDATE", "ADD" for one that was deleted, None where
        nothing had to change; `pending`: it waits for a vector, see embed_pending, for the one it
        had was of a model no longer in use.
        MemoryNotFound when there was no such memory, version or moment; HistoryTooShort when its
        history was cut off after it; VersionConflict when it is not at `expected_version`.
        """
        flow = reverting.restore(
            self._store,
            memory_id,
            version=version,
            as_of=as_of,
            expected_version=expected_version,
            actor=actor,
        )
        return self._run(flow, connection)

    def undo(
        self,
        change_id: str,
        *,
        force: bool = False,
        actor: str | None = None,
        connection: Any = None,
    ) -> dict[str, Any]:
        """Reverse what one call did to memories: `{"results": [{"id", "memory", "outcome", …}]}`.

        What it added goes, what it changed or deleted is as it was. `outcome`: "undone"; "changed
        since" for a memory that others wrote to after the call, which is left as it is unless
        `force`; "as before" where nothing is left to undo. `event`: "ADD", "UPDATE" or "DELETE" in
        its history, None where it was left. An undo is a change and can be undone. MemoryNotFound
        when there is no such change; HistoryTooShort when its history is not complete.
        """
        flow = reverting.undo(self._store, change_id, force=force, actor=actor)
        return self._run(flow, connection)

    def changes(
        self,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        *,
        top_k: int = TOP_K,
        after: str | None = None,
        connection: Any = None,
    ) -> dict[str, Any]:
        """The calls that wrote, newest first: `{"results": [{"id", "operation", …}]}`.

        Of memories that carry these ids, or of the whole tenant. `id` is what `undo` takes.
        `top_k`: how many at most. When there are more, the result has `next`, to be given as
        `after`.
        """
        flow = reverting.changes(self._store, user_id, agent_id, run_id, top_k=top_k, after=after)
        return self._run(flow, connection)

    def history(self, memory_id: str, *, connection: Any = None) -> list[dict[str, Any]]:
        """What happened to one memory, oldest first, also when it is gone; [] for an unknown id."""
        return self._read(flows.history(self._store, memory_id), connection)

    def belongs_to(
        self,
        memory_id: str,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        *,
        connection: Any = None,
    ) -> bool:
        """Whether this memory, also one that was deleted, carries at least these ids.

        To be asked before an id that a user sent is given to `get`, `update`, `delete`, `history`
        or `restore`. False for an unknown id, and for one that was another scope's before.
        ScopeMissing, a ValueError, when no id of a scope is given.
        """
        flow = flows.belongs_to(self._store, memory_id, user_id, agent_id, run_id)
        return self._read(flow, connection)

    def changes_since(
        self, cursor: str | None = None, limit: int = feed.LIMIT, *, connection: Any = None
    ) -> dict[str, Any]:
        """The changes of all memories after a cursor: `{"results": […], "cursor": "…"}`.

        `cursor`: where to go on from, of the page before or of one change; None is the beginning.
        `limit`: how many at most. Each change comes once, those of one memory in order, and none
        is passed over: a change waits for the transactions that were open when it was made. An
        empty page has the cursor it was asked with. FilterError, a ValueError, for what is none.
        """
        return self._run(feed.changes_since(self._store, cursor, limit), connection)

    def messages(
        self,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        *,
        connection: Any = None,
    ) -> list[dict[str, Any]]:
        """The newest ten messages added with exactly this combination of ids, oldest first."""
        return self._run(flows.messages(self._store, user_id, agent_id, run_id), connection)

    def scopes(
        self,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        *,
        connection: Any = None,
    ) -> list[dict[str, Any]]:
        """Every user, agent and run that has memories, with how many; ids narrow it to theirs."""
        return self._read(flows.scopes(self._store, user_id, agent_id, run_id), connection)

    def metadata_values(
        self,
        key: str,
        *,
        filters: Mapping[str, Any] | None = None,
        show_expired: bool = False,
        connection: Any = None,
    ) -> list[dict[str, Any]]:
        """The values a key of metadata has: `[{"value", "memories"}]`, the most frequent first.

        `key`: one at the top of metadata; a list or an object counts as a whole. `filters`,
        `show_expired`: as in `get_all`. `memories`: how many have the value.
        """
        flow = flows.metadata_values(self._store, key, filters=filters, show_expired=show_expired)
        return self._read(flow, connection)

    def reset(self, *, actor: str | None = None, connection: Any = None) -> None:
        """Forget everything of this tenant: memories, history, messages, entities."""
        self._run(flows.reset(self._store, actor), connection)
