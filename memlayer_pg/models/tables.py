"""The tables of the schema memlayer. Written by migrations/mapping.py."""

from __future__ import annotations

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import (
    REAL,
    BigInteger,
    Boolean,
    Column,
    Date,
    DateTime,
    Double,
    ForeignKeyConstraint,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import INET, INTERVAL, JSONB, REGCONFIG, TSVECTOR

from memlayer_pg.models.catalog import XID8, metadata

change = Table(
    "change",
    metadata,
    Column(
        "tenant", Text, nullable=False, comment="The customer or application the row belongs to."
    ),
    Column("id", Uuid, nullable=False, comment="Named by the history rows the call wrote."),
    Column(
        "operation",
        Text,
        nullable=False,
        comment="add, procedural, update, delete, delete_all, restore, undo, reset, …",
    ),
    Column("user_id", Text, nullable=True, comment="User the call named or the memory belongs to."),
    Column(
        "agent_id", Text, nullable=True, comment="Agent the call named or the memory belongs to."
    ),
    Column("run_id", Text, nullable=True, comment="Run the call named or the memory belongs to."),
    Column(
        "idempotency_key",
        Text,
        nullable=True,
        comment=(
            "The caller's name for this call: calling again with it returns the stored result."
        ),
    ),
    Column(
        "request_hash",
        Text,
        nullable=True,
        comment=(
            "Hash of the input the key was used with; another input under the same "
            "key is refused (ML008)."
        ),
    ),
    Column(
        "result",
        JSONB,
        nullable=True,
        comment="The rows the call returned; kept only with an idempotency key.",
    ),
    Column("actor", Text, nullable=True, comment="A label the caller chose for whoever acted."),
    Column("added", Integer, nullable=False, comment="Memories added."),
    Column("updated", Integer, nullable=False, comment="Memories updated."),
    Column("deleted", Integer, nullable=False, comment="Memories deleted."),
    Column(
        "skipped",
        Integer,
        nullable=False,
        comment="Facts not stored because the scope already had them.",
    ),
    Column("entities", Integer, nullable=False, comment="Entities added."),
    Column("messages", Integer, nullable=False, comment="Messages buffered."),
    Column(
        "llm",
        Text,
        nullable=True,
        comment="Chat model that extracted the facts; null for verbatim storage.",
    ),
    Column(
        "embedding_model",
        BigInteger,
        nullable=True,
        comment="Embedding model of the vectors that were stored.",
    ),
    Column(
        "prompt_tokens",
        BigInteger,
        nullable=True,
        comment="Tokens sent to the chat model, as it reported them.",
    ),
    Column(
        "completion_tokens",
        BigInteger,
        nullable=True,
        comment="Tokens the chat model answered with.",
    ),
    Column(
        "embedding_tokens", BigInteger, nullable=True, comment="Tokens sent to the embedding model."
    ),
    Column("transaction_id", XID8, nullable=False, comment="The transaction that wrote."),
    Column(
        "database_role", Text, nullable=False, comment="The role that had logged in (session_user)."
    ),
    Column("application_name", Text, nullable=False, comment="application_name of the connection."),
    Column(
        "client_address",
        INET,
        nullable=True,
        comment="Address of the client; null over a Unix socket.",
    ),
    Column("recorded_at", DateTime(timezone=True), nullable=False, comment="When it happened."),
    Column("undoes", Uuid, nullable=True, comment="Of an undo: the call it reversed."),
    PrimaryKeyConstraint("tenant", "id", name="change_pkey"),
    Index(
        "change_idempotency_key",
        "tenant",
        "idempotency_key",
        unique=True,
        postgresql_where=text("idempotency_key IS NOT NULL"),
    ),
    Index(
        "change_recorded_idx",
        "tenant",
        "recorded_at",
        "id",
    ),
    comment=(
        "One row a call that wrote: what it did, for whom, with which models "
        "and tokens, by which database role."
    ),
)

deployment = Table(
    "deployment",
    metadata,
    Column("revision", Text, nullable=False, comment="Revision id, ml0001 and up; ids sort."),
    Column(
        "breaking",
        Boolean,
        nullable=False,
        comment=("Whether clients written for an older revision must refuse to work on this one."),
    ),
    Column(
        "applied_at",
        DateTime(timezone=True),
        nullable=False,
        comment="When the revision was applied.",
    ),
    Column("applied_by", Text, nullable=False, comment="The database role that applied it."),
    PrimaryKeyConstraint("revision", name="deployment_pkey"),
    comment=(
        "One row an applied revision: how a client tells whether this schema is"
        " the one it was written for."
    ),
)

entity = Table(
    "entity",
    metadata,
    Column(
        "tenant", Text, nullable=False, comment="The customer or application the row belongs to."
    ),
    Column("id", Uuid, nullable=False, comment="Referred to by mentions."),
    Column("user_id", Text, nullable=True, comment="User of the exact scope."),
    Column("agent_id", Text, nullable=True, comment="Agent of the exact scope."),
    Column("run_id", Text, nullable=True, comment="Run of the exact scope."),
    Column("name", Text, nullable=False, comment="The name as first written."),
    Column(
        "folded_name",
        Text,
        nullable=False,
        comment="The name by which it is recognised (memlayer.fold).",
    ),
    Column(
        "type",
        Text,
        nullable=True,
        comment=("person, place, organization, …, as the extraction said; null when unknown."),
    ),
    Column("embedding", HALFVEC, nullable=True, comment="Vector of the name."),
    Column("embedding_model", BigInteger, nullable=True, comment="The model the vector is of."),
    Column(
        "created_at", DateTime(timezone=True), nullable=False, comment="When it was first named."
    ),
    PrimaryKeyConstraint("tenant", "id", name="entity_pkey"),
    Index(
        "entity_agent_idx",
        "tenant",
        "agent_id",
        "folded_name",
        postgresql_where=text("agent_id IS NOT NULL"),
    ),
    Index(
        "entity_name_key",
        "tenant",
        text("COALESCE(user_id, ''::text)"),
        text("COALESCE(agent_id, ''::text)"),
        text("COALESCE(run_id, ''::text)"),
        "folded_name",
        unique=True,
    ),
    Index(
        "entity_run_idx",
        "tenant",
        "run_id",
        "folded_name",
        postgresql_where=text("run_id IS NOT NULL"),
    ),
    Index(
        "entity_user_idx",
        "tenant",
        "user_id",
        "folded_name",
        postgresql_where=text("user_id IS NOT NULL"),
    ),
    comment="One row a person, place or thing named in one exact scope.",
)

former_link = Table(
    "former_link",
    metadata,
    Column(
        "tenant", Text, nullable=False, comment="The customer or application the row belongs to."
    ),
    Column("memory_id", Uuid, nullable=False, comment="The newer memory."),
    Column("linked_id", Uuid, nullable=False, comment="The older memory it referred to."),
    Column("kind", Text, nullable=False, comment="related, updates or contradicts."),
    Column(
        "created_at",
        DateTime(timezone=True),
        nullable=False,
        comment="When the reference was stored.",
    ),
    Column(
        "ended_at",
        DateTime(timezone=True),
        nullable=False,
        comment="When it was deleted, with one of the memories or by itself.",
    ),
    PrimaryKeyConstraint(
        "tenant", "linked_id", "memory_id", "kind", "ended_at", name="former_link_pkey"
    ),
    Index(
        "former_link_memory_idx",
        "tenant",
        "memory_id",
    ),
    comment=(
        "One row a reference that stands no more: the history of memlayer.link,"
        " written by a trigger. It outlives the memories."
    ),
)

history = Table(
    "history",
    metadata,
    Column(
        "tenant", Text, nullable=False, comment="The customer or application the row belongs to."
    ),
    Column("memory_id", Uuid, nullable=False, comment="The memory that changed."),
    Column(
        "version",
        Integer,
        nullable=False,
        comment="The version the change made; a deletion makes one too.",
    ),
    Column("id", Uuid, nullable=False, comment="Names the row."),
    Column("seq", BigInteger, nullable=False, comment="Order in which rows were written."),
    Column(
        "event",
        Text,
        nullable=False,
        comment=("ADD, UPDATE, DELETE; BASELINE stands for older rows that retention took away."),
    ),
    Column(
        "old_state",
        JSONB,
        nullable=True,
        comment="The memory before (memlayer.memory_state); null for ADD.",
    ),
    Column("new_state", JSONB, nullable=True, comment="The memory after; null for DELETE."),
    Column(
        "old_embedding",
        HALFVEC,
        nullable=True,
        comment=(
            "The vector before, where the change replaced or removed it; null where it stayed."
        ),
    ),
    Column("old_embedding_model", BigInteger, nullable=True, comment="The model of old_embedding."),
    Column("user_id", Text, nullable=True, comment="User of the memory."),
    Column("agent_id", Text, nullable=True, comment="Agent of the memory."),
    Column("run_id", Text, nullable=True, comment="Run of the memory."),
    Column(
        "change_id",
        Uuid,
        nullable=True,
        comment="The call that changed it; null for a plain SQL statement.",
    ),
    Column("transaction_id", XID8, nullable=False, comment="The transaction that changed it."),
    Column(
        "database_role", Text, nullable=False, comment="The role that had logged in (session_user)."
    ),
    Column("application_name", Text, nullable=False, comment="application_name of the connection."),
    Column(
        "client_address",
        INET,
        nullable=True,
        comment="Address of the client; null over a Unix socket.",
    ),
    Column("recorded_at", DateTime(timezone=True), nullable=False, comment="When it happened."),
    Column(
        "old_mentions",
        JSONB,
        nullable=True,
        comment=(
            'Whom and what the memory named before, as [{"name", "type"}], where '
            "the change deleted it or set another text or vector; null where that "
            "stayed."
        ),
    ),
    Column(
        "old_links",
        JSONB,
        nullable=True,
        comment=(
            "The references from and to a memory that was deleted, as "
            '[{"memory_id", "linked_id", "kind", "created_at"}]; null without any.'
        ),
    ),
    Column(
        "feed_position",
        BigInteger,
        nullable=False,
        comment=(
            "Place in the change feed, before seq (memlayer.feed_position); 0 for "
            "what was written before there was a feed."
        ),
    ),
    PrimaryKeyConstraint("tenant", "memory_id", "version", name="history_pkey"),
    Index(
        "history_agent_idx",
        "tenant",
        "agent_id",
        "recorded_at",
        postgresql_where=text(
            "(event = ANY (ARRAY['DELETE'::text, 'BASELINE'::text])) AND agent_id IS NOT NULL"
        ),
    ),
    Index(
        "history_change_idx",
        "tenant",
        "change_id",
        postgresql_where=text("change_id IS NOT NULL"),
    ),
    Index(
        "history_feed_key",
        "tenant",
        "feed_position",
        "seq",
        unique=True,
    ),
    Index(
        "history_run_idx",
        "tenant",
        "run_id",
        "recorded_at",
        postgresql_where=text(
            "(event = ANY (ARRAY['DELETE'::text, 'BASELINE'::text])) AND run_id IS NOT NULL"
        ),
    ),
    Index(
        "history_user_idx",
        "tenant",
        "user_id",
        "recorded_at",
        postgresql_where=text(
            "(event = ANY (ARRAY['DELETE'::text, 'BASELINE'::text])) AND user_id IS NOT NULL"
        ),
    ),
    comment=(
        "One row a change of one memory, written by a trigger. Replaying a "
        "memory's rows by version gives its current row; it outlives the "
        "memory."
    ),
)

incarnation = Table(
    "incarnation",
    metadata,
    Column(
        "number",
        Integer,
        nullable=False,
        comment="Counts the clusters in which the store has lived, from 1.",
    ),
    Column(
        "server_started",
        DateTime(timezone=True),
        nullable=False,
        comment=(
            "When the server that wrote was started: while that is the same, so is the cluster."
        ),
    ),
    Column(
        "id",
        Uuid,
        nullable=False,
        comment=(
            "Tells rows apart that were written at once, so that no writer waits for another."
        ),
    ),
    Column(
        "system_identifier",
        BigInteger,
        nullable=False,
        comment="The cluster, as initdb named it; a physical copy has the same.",
    ),
    Column(
        "first_seen_at",
        DateTime(timezone=True),
        nullable=False,
        comment="When the first write of that run was made.",
    ),
    PrimaryKeyConstraint("number", "server_started", "id", name="incarnation_pkey"),
    comment=(
        "One row (or, where several wrote at once, a few) a run of the server "
        "that wrote. Transaction numbers start anew in another cluster: each "
        "cluster the store was restored into is an incarnation, and changes of "
        "an older one count as committed."
    ),
)

link = Table(
    "link",
    metadata,
    Column(
        "tenant", Text, nullable=False, comment="The customer or application the row belongs to."
    ),
    Column("memory_id", Uuid, nullable=False, comment="The newer memory."),
    Column("linked_id", Uuid, nullable=False, comment="The older memory it refers to."),
    Column(
        "kind",
        Text,
        nullable=False,
        comment="related, updates (the older no longer holds) or contradicts.",
    ),
    Column(
        "created_at",
        DateTime(timezone=True),
        nullable=False,
        comment="When the reference was stored.",
    ),
    PrimaryKeyConstraint("tenant", "memory_id", "linked_id", "kind", name="link_pkey"),
    ForeignKeyConstraint(
        ["tenant", "linked_id"],
        ["memlayer.memory.tenant", "memlayer.memory.id"],
        name="link_linked_fkey",
        ondelete="CASCADE",
    ),
    ForeignKeyConstraint(
        ["tenant", "memory_id"],
        ["memlayer.memory.tenant", "memlayer.memory.id"],
        name="link_memory_fkey",
        ondelete="CASCADE",
    ),
    Index(
        "link_linked_idx",
        "tenant",
        "linked_id",
    ),
    Index(
        "link_superseding_idx",
        "tenant",
        "linked_id",
        "memory_id",
        postgresql_where=text("kind <> 'related'::text"),
    ),
    comment="One row a reference of a newer memory to an older one.",
)

memory = Table(
    "memory",
    metadata,
    Column(
        "tenant", Text, nullable=False, comment="The customer or application the row belongs to."
    ),
    Column("id", Uuid, nullable=False, comment="Names the memory for ever; kept by restore."),
    Column("user_id", Text, nullable=True, comment="The user it is about; never changes."),
    Column("agent_id", Text, nullable=True, comment="The agent it belongs to; never changes."),
    Column("run_id", Text, nullable=True, comment="The run it came from; never changes."),
    Column("text", Text, nullable=False, comment="The fact, in the language it was said in."),
    Column(
        "context",
        Text,
        nullable=True,
        comment="The preceding message: indexed with the text, never shown.",
    ),
    Column("hash", Text, nullable=False, comment="md5 of the text (derived)."),
    Column(
        "dedup_key",
        Text,
        nullable=True,
        comment=(
            "md5 of the text of an extracted fact; null for verbatim and procedural"
            " memories, which may repeat (derived)."
        ),
    ),
    Column(
        "document",
        TSVECTOR,
        nullable=False,
        comment="The words of text and context, for keyword search (derived).",
    ),
    Column(
        "document_length",
        Integer,
        nullable=False,
        comment=(
            "How many words the document has, repeats included: the length in BM25 (derived)."
        ),
    ),
    Column(
        "embedding",
        HALFVEC,
        nullable=True,
        comment="Vector of the text; null while it waits to be embedded.",
    ),
    Column("embedding_model", BigInteger, nullable=True, comment="The model the vector is of."),
    Column("metadata", JSONB, nullable=False, comment="The caller's own keys."),
    Column(
        "memory_type",
        Text,
        nullable=True,
        comment="procedural_memory for an agent's work log, else null.",
    ),
    Column(
        "role",
        Text,
        nullable=True,
        comment="Role of the message a verbatim memory was; null for extracted facts.",
    ),
    Column("actor_id", Text, nullable=True, comment="Name of the speaker of a verbatim memory."),
    Column(
        "attributed_to",
        Text,
        nullable=True,
        comment="Whom an extracted fact came from: user or assistant.",
    ),
    Column("expires_on", Date, nullable=True, comment="The last day (UTC) on which it is found."),
    Column(
        "observed_at",
        DateTime(timezone=True),
        nullable=False,
        comment=("When it was said or seen, as far as the caller told; else when it was stored."),
    ),
    Column(
        "version",
        Integer,
        nullable=False,
        comment="Counts its changes, from 1; history has one row a version (derived).",
    ),
    Column(
        "created_at", DateTime(timezone=True), nullable=False, comment="When it was first stored."
    ),
    Column(
        "updated_at",
        DateTime(timezone=True),
        nullable=False,
        comment="When it last changed (derived).",
    ),
    PrimaryKeyConstraint("tenant", "id", name="memory_pkey"),
    Index(
        "memory_agent_idx",
        "tenant",
        "agent_id",
        text("created_at DESC"),
        "id",
        postgresql_where=text("agent_id IS NOT NULL"),
    ),
    Index(
        "memory_context_idx",
        "tenant",
        text("md5(context)"),
        postgresql_where=text("context IS NOT NULL"),
    ),
    Index(
        "memory_dedup_key",
        "tenant",
        text("COALESCE(user_id, ''::text)"),
        text("COALESCE(agent_id, ''::text)"),
        text("COALESCE(run_id, ''::text)"),
        "dedup_key",
        unique=True,
        postgresql_where=text("dedup_key IS NOT NULL"),
    ),
    Index(
        "memory_document_idx",
        "document",
        postgresql_using="gin",
    ),
    Index(
        "memory_expires_idx",
        "tenant",
        "expires_on",
        "id",
        postgresql_where=text("expires_on IS NOT NULL"),
    ),
    Index(
        "memory_metadata_idx",
        "metadata",
        postgresql_using="gin",
        postgresql_ops={"metadata": "jsonb_path_ops"},
    ),
    Index(
        "memory_pending_idx",
        "tenant",
        "id",
        postgresql_where=text("embedding IS NULL"),
    ),
    Index(
        "memory_run_idx",
        "tenant",
        "run_id",
        text("created_at DESC"),
        "id",
        postgresql_where=text("run_id IS NOT NULL"),
    ),
    Index(
        "memory_user_idx",
        "tenant",
        "user_id",
        text("created_at DESC"),
        "id",
        postgresql_where=text("user_id IS NOT NULL"),
    ),
    comment=(
        "One row a remembered fact, as it stands now. Triggers derive columns "
        "and write history whoever writes."
    ),
)

mention = Table(
    "mention",
    metadata,
    Column(
        "tenant", Text, nullable=False, comment="The customer or application the row belongs to."
    ),
    Column("memory_id", Uuid, nullable=False, comment="The memory."),
    Column("entity_id", Uuid, nullable=False, comment="The entity it names."),
    PrimaryKeyConstraint("tenant", "memory_id", "entity_id", name="mention_pkey"),
    ForeignKeyConstraint(
        ["tenant", "entity_id"],
        ["memlayer.entity.tenant", "memlayer.entity.id"],
        name="mention_entity_fkey",
        ondelete="CASCADE",
    ),
    ForeignKeyConstraint(
        ["tenant", "memory_id"],
        ["memlayer.memory.tenant", "memlayer.memory.id"],
        name="mention_memory_fkey",
        ondelete="CASCADE",
    ),
    Index(
        "mention_entity_idx",
        "tenant",
        "entity_id",
        "memory_id",
    ),
    comment="One row a memory and an entity it names.",
)

message = Table(
    "message",
    metadata,
    Column(
        "tenant", Text, nullable=False, comment="The customer or application the row belongs to."
    ),
    Column("session_id", Uuid, nullable=False, comment="The session it was said in."),
    Column(
        "seq",
        BigInteger,
        nullable=False,
        comment="Place in the session, from 1, without a gap when written.",
    ),
    Column("role", Text, nullable=False, comment="Who spoke: user, assistant, system, tool, …"),
    Column("content", Text, nullable=False, comment="What was said."),
    Column(
        "name", Text, nullable=True, comment="The speaker's name, where the message carried one."
    ),
    Column(
        "created_at",
        DateTime(timezone=True),
        nullable=False,
        comment="When it was said, as far as the caller told; else when it was stored.",
    ),
    PrimaryKeyConstraint("tenant", "session_id", "seq", name="message_pkey"),
    ForeignKeyConstraint(
        ["tenant", "session_id"],
        ["memlayer.session.tenant", "memlayer.session.id"],
        name="message_session_fkey",
        ondelete="CASCADE",
    ),
    comment=(
        "The ring buffer: the newest ten messages of each session, by sequence and never by time."
    ),
)

model = Table(
    "model",
    metadata,
    Column(
        "tenant", Text, nullable=False, comment="The customer or application the row belongs to."
    ),
    Column(
        "id",
        BigInteger,
        nullable=False,
        comment=("Number of the model, unique in the database: partial vector indexes name it."),
    ),
    Column("name", Text, nullable=False, comment="What the embedder calls itself."),
    Column("dimensions", Integer, nullable=False, comment="Length of its vectors, 1 to 4,000."),
    Column(
        "calibration",
        REAL,
        nullable=True,
        comment=(
            "Usual cosine similarity of two unrelated texts under this model; null "
            "before there are eight memories."
        ),
    ),
    Column(
        "sample",
        Integer,
        nullable=False,
        comment="How many memories calibration was estimated from; with 64 it is final.",
    ),
    Column(
        "state",
        Text,
        nullable=False,
        comment=(
            "active: new vectors must be of it; next: being filled by a "
            "re-embedding; retired: kept for history."
        ),
    ),
    Column(
        "created_at",
        DateTime(timezone=True),
        nullable=False,
        comment="When the tenant first used it.",
    ),
    Column(
        "calibrations",
        JSONB,
        nullable=False,
        comment=(
            'Every estimate of calibration there was, at most 57: [{"at", '
            '"calibration"}], oldest first. A search as of a moment takes that of '
            "then."
        ),
    ),
    Column(
        "replaced_by",
        BigInteger,
        nullable=True,
        comment=(
            "Of the active model: the next one, while memories are re-embedded. Who"
            " stores vectors then holds memlayer.hold_model."
        ),
    ),
    Column(
        "replaces",
        BigInteger,
        nullable=True,
        comment=(
            "Of the active model: the one before, while its vectors are kept in "
            "other_vector; memlayer.reembed_finish drops them."
        ),
    ),
    Column(
        "closing",
        XID8,
        nullable=True,
        comment=(
            "Of the active model: the transaction of the first try to cut over. "
            "Those before it may not know of replaced_by and are waited for."
        ),
    ),
    PrimaryKeyConstraint("tenant", "id", name="model_pkey"),
    UniqueConstraint("tenant", "name", "dimensions", name="model_name_key"),
    Index(
        "model_active_key",
        "tenant",
        "state",
        unique=True,
        postgresql_where=text("state = ANY (ARRAY['active'::text, 'next'::text])"),
    ),
    comment=("One row an embedding model of a tenant. Vectors of two models are never compared."),
)

other_vector = Table(
    "other_vector",
    metadata,
    Column(
        "tenant", Text, nullable=False, comment="The customer or application the row belongs to."
    ),
    Column("model", BigInteger, nullable=False, comment="The model the vector is of."),
    Column(
        "id", Uuid, nullable=False, comment="The memory or entity the vector is of; it may be gone."
    ),
    Column("is_entity", Boolean, nullable=False, comment="Whether it is an entity."),
    Column(
        "basis",
        Text,
        nullable=False,
        comment=(
            "Digest of what was embedded (memlayer.vector_basis): of another text "
            "or name the vector serves no more."
        ),
    ),
    Column(
        "embedding",
        HALFVEC,
        nullable=True,
        comment=("The vector; null where the model gives the name of an entity no direction."),
    ),
    PrimaryKeyConstraint("tenant", "model", "id", name="other_vector_pkey"),
    comment=(
        "Vectors under a model that is not the tenant's active one: of the next"
        " model while memories are re-embedded, of the one before until "
        "memlayer.reembed_finish. No search reads them."
    ),
)

receipt = Table(
    "receipt",
    metadata,
    Column(
        "tenant", Text, nullable=False, comment="The customer or application the row belongs to."
    ),
    Column("id", Uuid, nullable=False, comment="Names the receipt."),
    Column(
        "scope_digest",
        Text,
        nullable=False,
        comment=(
            "memlayer.scope_digest of the ids that were given: whoever knows them "
            "can ask whether they were erased."
        ),
    ),
    Column(
        "memories",
        BigInteger,
        nullable=True,
        comment="Memories that stood until then; null only while the erasure runs.",
    ),
    Column(
        "history",
        BigInteger,
        nullable=True,
        comment="Rows of history, those of memories deleted earlier too.",
    ),
    Column("messages", BigInteger, nullable=True, comment="Buffered messages."),
    Column("sessions", BigInteger, nullable=True, comment="Exact combinations of ids."),
    Column("entities", BigInteger, nullable=True, comment="Persons, places and things."),
    Column("mentions", BigInteger, nullable=True, comment="Mentions of them."),
    Column(
        "links",
        BigInteger,
        nullable=True,
        comment="References from and to the memories, ended ones too.",
    ),
    Column(
        "changes",
        BigInteger,
        nullable=True,
        comment=(
            "Records of calls from which ids, keys and results were taken; the bare counts stay."
        ),
    ),
    Column(
        "actor",
        Text,
        nullable=True,
        comment=(
            "A label the caller chose for whoever acted; left out where it is one of the ids."
        ),
    ),
    Column("transaction_id", XID8, nullable=False, comment="The transaction that erased."),
    Column(
        "database_role", Text, nullable=False, comment="The role that had logged in (session_user)."
    ),
    Column("application_name", Text, nullable=False, comment="application_name of the connection."),
    Column(
        "client_address",
        INET,
        nullable=True,
        comment="Address of the client; null over a Unix socket.",
    ),
    Column("recorded_at", DateTime(timezone=True), nullable=False, comment="When it happened."),
    PrimaryKeyConstraint("tenant", "id", name="receipt_pkey"),
    Index(
        "receipt_scope_idx",
        "tenant",
        "scope_digest",
    ),
    comment=(
        "One row an erasure (memlayer.erase): that it was done, when, by whom, "
        "and how much went. Nothing of what was erased, and no id in the clear."
    ),
)

scope_statistic = Table(
    "scope_statistic",
    metadata,
    Column(
        "tenant", Text, nullable=False, comment="The customer or application the row belongs to."
    ),
    Column("kind", Text, nullable=False, comment="user, agent or run."),
    Column("scope_id", Text, nullable=False, comment="Its id."),
    Column(
        "memories",
        BigInteger,
        nullable=False,
        comment="How many memories it had that had not expired.",
    ),
    Column("average_length", Double, nullable=False, comment="Average document_length of them."),
    Column(
        "refreshed_at", DateTime(timezone=True), nullable=False, comment="When this was counted."
    ),
    PrimaryKeyConstraint("tenant", "kind", "scope_id", name="scope_statistic_pkey"),
    comment=(
        "One row a user, agent or run with more memories than are searched "
        "exactly: what BM25 needs to know of it, as of the last "
        "memlayer.refresh_statistics."
    ),
)

session = Table(
    "session",
    metadata,
    Column(
        "tenant", Text, nullable=False, comment="The customer or application the row belongs to."
    ),
    Column("id", Uuid, nullable=False, comment="Referred to by the messages of the session."),
    Column(
        "user_id", Text, nullable=True, comment="User of the combination; null where it has none."
    ),
    Column(
        "agent_id", Text, nullable=True, comment="Agent of the combination; null where it has none."
    ),
    Column(
        "run_id", Text, nullable=True, comment="Run of the combination; null where it has none."
    ),
    Column(
        "last_seq",
        BigInteger,
        nullable=False,
        comment="Sequence number of the newest message; 0 when there is none.",
    ),
    Column(
        "created_at",
        DateTime(timezone=True),
        nullable=False,
        comment="When the combination was first written to.",
    ),
    Column(
        "updated_at",
        DateTime(timezone=True),
        nullable=False,
        comment="When a message was last buffered.",
    ),
    PrimaryKeyConstraint("tenant", "id", name="session_pkey"),
    Index(
        "session_scope_key",
        "tenant",
        text("COALESCE(user_id, ''::text)"),
        text("COALESCE(agent_id, ''::text)"),
        text("COALESCE(run_id, ''::text)"),
        unique=True,
    ),
    comment=(
        "One exact combination of user, agent and run. Writers lock its row, so"
        " that what they write to one scope has one order."
    ),
)

setting = Table(
    "setting",
    metadata,
    Column(
        "tenant", Text, nullable=False, comment="The customer or application the row belongs to."
    ),
    Column(
        "text_search_config",
        REGCONFIG,
        nullable=False,
        comment=(
            "Stemmer and stop words of keyword documents and queries. Change it "
            "with memlayer db set-language, which rebuilds the documents."
        ),
    ),
    Column(
        "history_retention",
        INTERVAL,
        nullable=True,
        comment=(
            "How long memlayer.prune_history keeps single history rows; null for "
            "ever. Set it by SQL."
        ),
    ),
    Column(
        "defaults",
        JSONB,
        nullable=False,
        comment=(
            "Defaults of this tenant, by name: fusion (calibrated or additive), "
            "exact_threshold (memories), ef_search (candidates in the vector index,"
            " at most 1,000), notify (true: a notification on channel "
            "memlayer_change after each transaction with changes)."
        ),
    ),
    Column(
        "updated_at",
        DateTime(timezone=True),
        nullable=False,
        comment="When the row was last written.",
    ),
    Column(
        "history_begins_at",
        DateTime(timezone=True),
        nullable=True,
        comment=(
            "The moment before which memlayer.prune_history has taken history away;"
            " null when it never ran."
        ),
    ),
    PrimaryKeyConstraint("tenant", name="setting_pkey"),
    comment="One row a tenant that differs from the defaults.",
)

tenant_role = Table(
    "tenant_role",
    metadata,
    Column(
        "role",
        Text,
        nullable=False,
        comment=(
            "The role that logs in (session_user), by name: a dump can be restored "
            "where the role is missing."
        ),
    ),
    Column("tenant", Text, nullable=False, comment="A tenant it may use."),
    Column("bound_at", DateTime(timezone=True), nullable=False, comment="When it was bound."),
    Column("bound_by", Text, nullable=False, comment="The role that bound it."),
    PrimaryKeyConstraint("role", "tenant", name="tenant_role_pkey"),
    comment=(
        "One row a login and a tenant that it may use (memlayer.bind_tenant). A"
        " login without a row may use tenant 'default' alone."
    ),
)

term_statistic = Table(
    "term_statistic",
    metadata,
    Column(
        "tenant", Text, nullable=False, comment="The customer or application the row belongs to."
    ),
    Column("kind", Text, nullable=False, comment="user, agent or run."),
    Column("scope_id", Text, nullable=False, comment="Its id."),
    Column("lexeme", Text, nullable=False, comment="A lexeme of the documents."),
    Column(
        "memories", BigInteger, nullable=False, comment="How many memories of the scope had it."
    ),
    PrimaryKeyConstraint("tenant", "kind", "scope_id", "lexeme", name="term_statistic_pkey"),
    ForeignKeyConstraint(
        ["tenant", "kind", "scope_id"],
        [
            "memlayer.scope_statistic.tenant",
            "memlayer.scope_statistic.kind",
            "memlayer.scope_statistic.scope_id",
        ],
        name="term_statistic_scope_fkey",
        ondelete="CASCADE",
    ),
    comment=(
        "One row a lexeme that stands in more than one memory of such a scope: "
        "its document frequency."
    ),
)
