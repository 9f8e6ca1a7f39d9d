create table memlayer.change (
  tenant            text        collate "C" not null default 'default',
  id                uuid        not null default gen_random_uuid(),
  operation         text        not null,
  user_id           text        collate "C",
  agent_id          text        collate "C",
  run_id            text        collate "C",
  idempotency_key   text        collate "C",
  request_hash      text        collate "C",
  result            jsonb,
  actor             text,
  added             int         not null default 0,
  updated           int         not null default 0,
  deleted           int         not null default 0,
  skipped           int         not null default 0,
  entities          int         not null default 0,
  messages          int         not null default 0,
  llm               text,
  embedding_model   bigint,
  prompt_tokens     bigint,
  completion_tokens bigint,
  embedding_tokens  bigint,
  transaction_id    xid8        not null default pg_current_xact_id(),
  database_role     text        not null default session_user,
  application_name  text        not null default current_setting('application_name'),
  client_address    inet        default inet_client_addr(),
  recorded_at       timestamptz not null default memlayer.now(),

  constraint change_pkey primary key (tenant, id),
  constraint change_key_has_request check ((idempotency_key is null) = (request_hash is null))
);

create unique index change_idempotency_key on memlayer.change (tenant, idempotency_key) where idempotency_key is not null;
create index change_recorded_idx on memlayer.change (tenant, recorded_at, id);

comment on table memlayer.change is 'One row a call that wrote: what it did, for whom, with which models and tokens, by which database role.';
comment on column memlayer.change.tenant is 'The customer or application the row belongs to.';
comment on column memlayer.change.id is 'Named by the history rows the call wrote.';
comment on column memlayer.change.operation is 'add, procedural, update, delete, delete_all, reset, …';
comment on column memlayer.change.user_id is 'User the call named or the memory belongs to.';
comment on column memlayer.change.agent_id is 'Agent the call named or the memory belongs to.';
comment on column memlayer.change.run_id is 'Run the call named or the memory belongs to.';
comment on column memlayer.change.idempotency_key is 'The caller''s name for this call: calling again with it returns the stored result.';
comment on column memlayer.change.request_hash is 'Hash of the input the key was used with; another input under the same key is refused (ML008).';
comment on column memlayer.change.result is 'The rows the call returned; kept only with an idempotency key.';
comment on column memlayer.change.actor is 'A label the caller chose for whoever acted.';
comment on column memlayer.change.added is 'Memories added.';
comment on column memlayer.change.updated is 'Memories updated.';
comment on column memlayer.change.deleted is 'Memories deleted.';
comment on column memlayer.change.skipped is 'Facts not stored because the scope already had them.';
comment on column memlayer.change.entities is 'Entities added.';
comment on column memlayer.change.messages is 'Messages buffered.';
comment on column memlayer.change.llm is 'Chat model that extracted the facts; null for verbatim storage.';
comment on column memlayer.change.embedding_model is 'Embedding model of the vectors that were stored.';
comment on column memlayer.change.prompt_tokens is 'Tokens sent to the chat model, as it reported them.';
comment on column memlayer.change.completion_tokens is 'Tokens the chat model answered with.';
comment on column memlayer.change.embedding_tokens is 'Tokens sent to the embedding model.';
comment on column memlayer.change.transaction_id is 'The transaction that wrote.';
comment on column memlayer.change.database_role is 'The role that had logged in (session_user).';
comment on column memlayer.change.application_name is 'application_name of the connection.';
comment on column memlayer.change.client_address is 'Address of the client; null over a Unix socket.';
comment on column memlayer.change.recorded_at is 'When it happened.';
comment on index memlayer.change_idempotency_key is 'One call an idempotency key.';
comment on index memlayer.change_recorded_idx is 'Changes of a tenant by time.';
