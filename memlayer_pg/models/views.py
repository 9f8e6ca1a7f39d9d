"""The views of the schema memlayer. Written by migrations/mapping.py."""

from __future__ import annotations

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Column,
    Date,
    DateTime,
    Integer,
    Table,
    Text,
    Uuid,
)
from sqlalchemy.dialects.postgresql import INET, JSONB

from memlayer_pg.models.catalog import metadata

changes = Table(
    "changes",
    metadata,
    Column(
        "tenant", Text, nullable=True, comment="The customer or application the row belongs to."
    ),
    Column("id", Uuid, nullable=True, comment="Names the call; change_id of memory_versions."),
    Column("user_id", Text, nullable=True, comment="User the call named or the memory belongs to."),
    Column(
        "agent_id", Text, nullable=True, comment="Agent the call named or the memory belongs to."
    ),
    Column("run_id", Text, nullable=True, comment="Run the call named or the memory belongs to."),
    Column(
        "operation",
        Text,
        nullable=True,
        comment="add, procedural, update, delete, delete_all, reset, …",
    ),
    Column("actor", Text, nullable=True, comment="A label the caller chose for whoever acted."),
    Column("added", Integer, nullable=True, comment="Memories added."),
    Column("updated", Integer, nullable=True, comment="Memories updated."),
    Column("deleted", Integer, nullable=True, comment="Memories deleted."),
    Column(
        "skipped",
        Integer,
        nullable=True,
        comment="Facts not stored because the scope already had them.",
    ),
    Column("entities", Integer, nullable=True, comment="Entities added."),
    Column("messages", Integer, nullable=True, comment="Messages buffered."),
    Column(
        "llm",
        Text,
        nullable=True,
        comment="Chat model that extracted the facts; null for verbatim storage.",
    ),
    Column(
        "embedding_model",
        Text,
        nullable=True,
        comment="Name of the embedding model of the vectors that were stored.",
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
    Column(
        "total_tokens",
        BigInteger,
        nullable=True,
        comment="The three together; 0 where no model was asked or none reported any.",
    ),
    Column("database_role", Text, nullable=True, comment="The role that had logged in."),
    Column("application_name", Text, nullable=True, comment="What the connection called itself."),
    Column(
        "client_address",
        INET,
        nullable=True,
        comment="Address of the client; null over a Unix socket.",
    ),
    Column("transaction_id", Text, nullable=True, comment="The transaction that wrote."),
    Column("recorded_at", DateTime(timezone=True), nullable=True, comment="When it happened."),
    info={"is_view": True},
    comment=("One row a call that wrote: what it did, for whom, by whom, and the tokens it cost."),
)

daily_activity = Table(
    "daily_activity",
    metadata,
    Column(
        "tenant", Text, nullable=True, comment="The customer or application the row belongs to."
    ),
    Column("day", Date, nullable=True, comment="The day, in UTC."),
    Column(
        "user_id",
        Text,
        nullable=True,
        comment="User of the memories; null for those of an agent or run alone.",
    ),
    Column("added", BigInteger, nullable=True, comment="Memories added, by calls or by plain SQL."),
    Column("updated", BigInteger, nullable=True, comment="Updates of memories."),
    Column("deleted", BigInteger, nullable=True, comment="Memories deleted."),
    Column("calls", BigInteger, nullable=True, comment="Calls that wrote and named this user."),
    Column(
        "prompt_tokens",
        BigInteger,
        nullable=True,
        comment="Tokens these calls sent to the chat model.",
    ),
    Column(
        "completion_tokens",
        BigInteger,
        nullable=True,
        comment="Tokens the chat model answered with.",
    ),
    Column(
        "embedding_tokens",
        BigInteger,
        nullable=True,
        comment="Tokens these calls sent to the embedding model.",
    ),
    info={"is_view": True},
    comment=(
        "One row a day and user on which something was written. Searches leave "
        "no trace, so they are not counted."
    ),
)

entities = Table(
    "entities",
    metadata,
    Column(
        "tenant", Text, nullable=True, comment="The customer or application the row belongs to."
    ),
    Column("id", Uuid, nullable=True, comment="Names the entity; entity_id of mentions."),
    Column("user_id", Text, nullable=True, comment="User of the exact scope."),
    Column("agent_id", Text, nullable=True, comment="Agent of the exact scope."),
    Column("run_id", Text, nullable=True, comment="Run of the exact scope."),
    Column("name", Text, nullable=True, comment="The name as first written."),
    Column(
        "type",
        Text,
        nullable=True,
        comment=("person, place, organization, …, as the extraction said; null when unknown."),
    ),
    Column(
        "memories",
        BigInteger,
        nullable=True,
        comment="How many memories mention it, expired ones too.",
    ),
    Column(
        "first_seen_at",
        DateTime(timezone=True),
        nullable=True,
        comment="When the oldest of them was said.",
    ),
    Column(
        "last_seen_at",
        DateTime(timezone=True),
        nullable=True,
        comment="When the newest of them was said.",
    ),
    Column(
        "created_at", DateTime(timezone=True), nullable=True, comment="When it was first stored."
    ),
    info={"is_view": True},
    comment=("One row a person, place or thing named in one exact scope, with how often and when."),
)

memories = Table(
    "memories",
    metadata,
    Column(
        "tenant", Text, nullable=True, comment="The customer or application the row belongs to."
    ),
    Column(
        "id",
        Uuid,
        nullable=True,
        comment="Names the memory; memory_id of memory_versions and mentions.",
    ),
    Column("user_id", Text, nullable=True, comment="The user it is about."),
    Column("agent_id", Text, nullable=True, comment="The agent it belongs to."),
    Column("run_id", Text, nullable=True, comment="The run it came from."),
    Column("text", Text, nullable=True, comment="The fact, in the language it was said in."),
    Column("metadata", JSONB, nullable=True, comment="The application's own keys."),
    Column(
        "entities",
        ARRAY(Text),
        nullable=True,
        comment="Names of the persons, places and things it mentions.",
    ),
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
    Column(
        "observed_at",
        DateTime(timezone=True),
        nullable=True,
        comment=(
            "When it was said or seen, as far as the application told; else when it was stored."
        ),
    ),
    Column(
        "expires_on",
        Date,
        nullable=True,
        comment="The last day (UTC) on which it is found; null for ever.",
    ),
    Column("is_expired", Boolean, nullable=True, comment="Whether that day has passed."),
    Column(
        "superseded_by",
        Uuid,
        nullable=True,
        comment=(
            "The newest memory that updates or contradicts it and has not expired; "
            "null when there is none."
        ),
    ),
    Column("is_current", Boolean, nullable=True, comment="Neither expired nor superseded."),
    Column(
        "is_pending",
        Boolean,
        nullable=True,
        comment="Whether it waits for its vector: until then words alone find it.",
    ),
    Column("embedding_model", Text, nullable=True, comment="Name of the model its vector is of."),
    Column(
        "version",
        Integer,
        nullable=True,
        comment="Counts its changes, from 1; memory_versions has a row for each.",
    ),
    Column(
        "created_at", DateTime(timezone=True), nullable=True, comment="When it was first stored."
    ),
    Column("updated_at", DateTime(timezone=True), nullable=True, comment="When it last changed."),
    info={"is_view": True},
    comment=(
        "One row a remembered fact, as it stands now, without vectors; "
        "is_current says whether it still holds."
    ),
)

memory_versions = Table(
    "memory_versions",
    metadata,
    Column(
        "tenant", Text, nullable=True, comment="The customer or application the row belongs to."
    ),
    Column(
        "memory_id",
        Uuid,
        nullable=True,
        comment="The memory that changed: id of memories, while it stands.",
    ),
    Column(
        "version",
        Integer,
        nullable=True,
        comment="The version the change made; a deletion makes one too.",
    ),
    Column("user_id", Text, nullable=True, comment="User of the memory."),
    Column("agent_id", Text, nullable=True, comment="Agent of the memory."),
    Column("run_id", Text, nullable=True, comment="Run of the memory."),
    Column(
        "event",
        Text,
        nullable=True,
        comment=("ADD, UPDATE, DELETE; BASELINE stands for older rows that retention took away."),
    ),
    Column("old_text", Text, nullable=True, comment="The text before; null for ADD."),
    Column("new_text", Text, nullable=True, comment="The text after; null for DELETE."),
    Column(
        "changed_keys",
        ARRAY(Text),
        nullable=True,
        comment=(
            "What an UPDATE changed: names of columns, and metadata.key for keys of"
            " metadata; empty for other events."
        ),
    ),
    Column("old_metadata", JSONB, nullable=True, comment="The application's own keys before."),
    Column("new_metadata", JSONB, nullable=True, comment="The application's own keys after."),
    Column(
        "old_expires_on", Date, nullable=True, comment="The last day it was to be found on, before."
    ),
    Column(
        "new_expires_on", Date, nullable=True, comment="The last day it was to be found on, after."
    ),
    Column("recorded_at", DateTime(timezone=True), nullable=True, comment="When it happened."),
    Column(
        "change_id",
        Uuid,
        nullable=True,
        comment="The call that made it: id of changes; null for a plain SQL statement.",
    ),
    Column(
        "operation",
        Text,
        nullable=True,
        comment="What that call was: add, update, delete, …; plain SQL for a statement.",
    ),
    Column("actor", Text, nullable=True, comment="A label the caller chose for whoever acted."),
    Column("database_role", Text, nullable=True, comment="The role that had logged in."),
    Column("application_name", Text, nullable=True, comment="What the connection called itself."),
    Column(
        "client_address",
        INET,
        nullable=True,
        comment="Address of the client; null over a Unix socket.",
    ),
    Column("transaction_id", Text, nullable=True, comment="The transaction that made it."),
    info={"is_view": True},
    comment=(
        "One row a change of one memory, with the text before and after and "
        "whoever made it; rows stay when the memory is deleted."
    ),
)

mentions = Table(
    "mentions",
    metadata,
    Column(
        "tenant", Text, nullable=True, comment="The customer or application the row belongs to."
    ),
    Column("memory_id", Uuid, nullable=True, comment="The memory: id of memories."),
    Column("entity_id", Uuid, nullable=True, comment="The entity: id of entities."),
    Column("user_id", Text, nullable=True, comment="User of the memory."),
    Column("agent_id", Text, nullable=True, comment="Agent of the memory."),
    Column("run_id", Text, nullable=True, comment="Run of the memory."),
    Column("entity", Text, nullable=True, comment="Name of the entity."),
    Column(
        "entity_type",
        Text,
        nullable=True,
        comment="person, place, organization, …; null when unknown.",
    ),
    Column("memory", Text, nullable=True, comment="Text of the memory."),
    Column(
        "observed_at", DateTime(timezone=True), nullable=True, comment="When the memory was said."
    ),
    info={"is_view": True},
    comment="One row a memory and an entity it names.",
)

messages = Table(
    "messages",
    metadata,
    Column(
        "tenant", Text, nullable=True, comment="The customer or application the row belongs to."
    ),
    Column(
        "session_id",
        Uuid,
        nullable=True,
        comment="The exact combination of user, agent and run it was said in.",
    ),
    Column("seq", BigInteger, nullable=True, comment="Place in the session, from 1."),
    Column("user_id", Text, nullable=True, comment="User of the session."),
    Column("agent_id", Text, nullable=True, comment="Agent of the session."),
    Column("run_id", Text, nullable=True, comment="Run of the session."),
    Column("role", Text, nullable=True, comment="Who spoke: user, assistant, system, tool, …"),
    Column(
        "name", Text, nullable=True, comment="The speaker's name, where the message carried one."
    ),
    Column("content", Text, nullable=True, comment="What was said."),
    Column(
        "created_at",
        DateTime(timezone=True),
        nullable=True,
        comment=("When it was said, as far as the application told; else when it was stored."),
    ),
    info={"is_view": True},
    comment=(
        "One row a buffered message: the newest ten of each combination of user, agent and run."
    ),
)

scope_sizes = Table(
    "scope_sizes",
    metadata,
    Column(
        "tenant", Text, nullable=True, comment="The customer or application the row belongs to."
    ),
    Column("kind", Text, nullable=True, comment="user, agent or run."),
    Column("scope_id", Text, nullable=True, comment="Id of the user, agent or run."),
    Column(
        "memories",
        BigInteger,
        nullable=True,
        comment="How many memories carry the id, expired ones too.",
    ),
    Column("expired", BigInteger, nullable=True, comment="How many of them have expired."),
    Column("pending", BigInteger, nullable=True, comment="How many wait for their vector."),
    Column(
        "bytes",
        BigInteger,
        nullable=True,
        comment=(
            "About what they take on disk: text, words, vector and metadata, "
            "without row heads and indexes."
        ),
    ),
    Column(
        "oldest_at",
        DateTime(timezone=True),
        nullable=True,
        comment="When the first of them was stored.",
    ),
    Column(
        "newest_at",
        DateTime(timezone=True),
        nullable=True,
        comment="When the last of them was stored.",
    ),
    Column(
        "updated_at",
        DateTime(timezone=True),
        nullable=True,
        comment="When one of them last changed.",
    ),
    info={"is_view": True},
    comment=(
        "One row a user, agent or run that has memories. A memory of a user and"
        " an agent counts for both."
    ),
)
