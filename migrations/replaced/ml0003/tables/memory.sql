create table memlayer.memory (
  tenant          text        collate "C" not null default 'default',
  id              uuid        not null default gen_random_uuid(),
  user_id         text        collate "C",
  agent_id        text        collate "C",
  run_id          text        collate "C",
  text            text        not null,
  context         text,
  hash            text        collate "C" not null,
  dedup_key       text        collate "C",
  document        tsvector    not null,
  document_length int         not null,
  embedding       halfvec,
  embedding_model bigint,
  metadata        jsonb       not null default '{}',
  memory_type     text,
  role            text,
  actor_id        text,
  attributed_to   text,
  expires_on      date,
  observed_at     timestamptz not null default memlayer.now(),
  version         int         not null,
  created_at      timestamptz not null default memlayer.now(),
  updated_at      timestamptz not null default memlayer.now(),

  constraint memory_pkey primary key (tenant, id),
  constraint memory_has_scope check (num_nonnulls(user_id, agent_id, run_id) > 0),
  constraint memory_metadata_is_object check (jsonb_typeof(metadata) = 'object'),
  constraint memory_embedding_has_model check ((embedding is null) = (embedding_model is null))
);

-- A kept plan is to take every scope for a small part of the table, whoever has most of it today.
alter table memlayer.memory alter column user_id set (n_distinct = -0.01);
alter table memlayer.memory alter column agent_id set (n_distinct = -0.01);
alter table memlayer.memory alter column run_id set (n_distinct = -0.01);

-- No foreign key to model: every add of a tenant would lock that one row. verify() looks instead.
-- A search reads every vector of a scope: inline they cost one page read for two rows, out of line
-- a second index and heap access each. "external" would move them out as soon as the row fills a page.
alter table memlayer.memory alter column embedding set storage main;
alter table memlayer.memory set (toast_tuple_target = 8160);

create index memory_user_idx on memlayer.memory (tenant, user_id, created_at desc, id) where user_id is not null;
create index memory_agent_idx on memlayer.memory (tenant, agent_id, created_at desc, id) where agent_id is not null;
create index memory_run_idx on memlayer.memory (tenant, run_id, created_at desc, id) where run_id is not null;
create index memory_pending_idx on memlayer.memory (tenant, id) where embedding is null;
create index memory_context_idx on memlayer.memory (tenant, md5(context)) where context is not null;
-- coalesce: "is not distinct from" uses no index, and "= or both null" one only in a plan made for the values
-- in hand. No id is empty.
create unique index memory_dedup_key
  on memlayer.memory (tenant, coalesce(user_id, ''), coalesce(agent_id, ''), coalesce(run_id, ''), dedup_key)
  where dedup_key is not null;
create index memory_document_idx on memlayer.memory using gin (document);
create index memory_metadata_idx on memlayer.memory using gin (metadata jsonb_path_ops);

comment on table memlayer.memory is 'One row a remembered fact, as it stands now. Triggers derive columns and write history whoever writes.';
comment on column memlayer.memory.tenant is 'The customer or application the row belongs to.';
comment on column memlayer.memory.id is 'Names the memory for ever; kept by restore.';
comment on column memlayer.memory.user_id is 'The user it is about; never changes.';
comment on column memlayer.memory.agent_id is 'The agent it belongs to; never changes.';
comment on column memlayer.memory.run_id is 'The run it came from; never changes.';
comment on column memlayer.memory.text is 'The fact, in the language it was said in.';
comment on column memlayer.memory.context is 'The preceding message: indexed with the text, never shown.';
comment on column memlayer.memory.hash is 'md5 of the text (derived).';
comment on column memlayer.memory.dedup_key is 'md5 of the text of an extracted fact; null for verbatim and procedural memories, which may repeat (derived).';
comment on column memlayer.memory.document is 'The words of text and context, for keyword search (derived).';
comment on column memlayer.memory.document_length is 'How many words the document has, repeats included: the length in BM25 (derived).';
comment on column memlayer.memory.embedding is 'Vector of the text; null while it waits to be embedded.';
comment on column memlayer.memory.embedding_model is 'The model the vector is of.';
comment on column memlayer.memory.metadata is 'The caller''s own keys.';
comment on column memlayer.memory.memory_type is 'procedural_memory for an agent''s work log, else null.';
comment on column memlayer.memory.role is 'Role of the message a verbatim memory was; null for extracted facts.';
comment on column memlayer.memory.actor_id is 'Name of the speaker of a verbatim memory.';
comment on column memlayer.memory.attributed_to is 'Whom an extracted fact came from: user or assistant.';
comment on column memlayer.memory.expires_on is 'The last day (UTC) on which it is found.';
comment on column memlayer.memory.observed_at is 'When it was said or seen, as far as the caller told; else when it was stored.';
comment on column memlayer.memory.version is 'Counts its changes, from 1; history has one row a version (derived).';
comment on column memlayer.memory.created_at is 'When it was first stored.';
comment on column memlayer.memory.updated_at is 'When it last changed (derived).';
comment on index memlayer.memory_user_idx is 'The scope of a user, newest first.';
comment on index memlayer.memory_agent_idx is 'The scope of an agent, newest first.';
comment on index memlayer.memory_run_idx is 'The scope of a run, newest first.';
comment on index memlayer.memory_pending_idx is 'Memories that wait for a vector.';
comment on index memlayer.memory_context_idx is 'Whose context a message is, to be forgotten with it.';
comment on index memlayer.memory_dedup_key is 'An extracted fact stands once in its exact scope.';
comment on index memlayer.memory_document_idx is 'Keyword search in large scopes.';
comment on index memlayer.memory_metadata_idx is 'Selective metadata filters in large scopes.';
