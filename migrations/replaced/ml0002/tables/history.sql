create table memlayer.history (
  tenant              text        collate "C" not null default 'default',
  memory_id           uuid        not null,
  version             int         not null,
  id                  uuid        not null default gen_random_uuid(),
  seq                 bigint      generated always as identity,
  event               text        collate "C" not null,
  old_state           jsonb,
  new_state           jsonb,
  old_embedding       halfvec,
  old_embedding_model bigint,
  user_id             text        collate "C",
  agent_id            text        collate "C",
  run_id              text        collate "C",
  change_id           uuid,
  transaction_id      xid8        not null default pg_current_xact_id(),
  database_role       text        not null default session_user,
  application_name    text        not null default current_setting('application_name'),
  client_address      inet        default inet_client_addr(),
  recorded_at         timestamptz not null default memlayer.now(),

  constraint history_pkey primary key (tenant, memory_id, version),
  constraint history_event_known check (event in ('ADD', 'UPDATE', 'DELETE', 'BASELINE')),
  constraint history_states_fit check ((old_state is null) = (event in ('ADD', 'BASELINE')) and (new_state is null) = (event = 'DELETE'))
);

-- As in memory: out of line a vector costs rows of another table and their index.
alter table memlayer.history alter column old_embedding set storage main;
alter table memlayer.history set (toast_tuple_target = 8160);

create unique index history_seq_key on memlayer.history (tenant, seq);
create index history_change_idx on memlayer.history (tenant, change_id) where change_id is not null;

comment on table memlayer.history is
  'One row a change of one memory, written by a trigger. Replaying a memory''s rows by version gives its current row; it outlives the memory.';
comment on column memlayer.history.tenant is 'The customer or application the row belongs to.';
comment on column memlayer.history.memory_id is 'The memory that changed.';
comment on column memlayer.history.version is 'The version the change made; a deletion makes one too.';
comment on column memlayer.history.id is 'Names the row.';
comment on column memlayer.history.seq is 'Order in which rows were written.';
comment on column memlayer.history.event is 'ADD, UPDATE, DELETE; BASELINE stands for older rows that retention took away.';
comment on column memlayer.history.old_state is 'The memory before (memlayer.memory_state); null for ADD.';
comment on column memlayer.history.new_state is 'The memory after; null for DELETE.';
comment on column memlayer.history.old_embedding is 'The vector before, where the change replaced or removed it; null where it stayed.';
comment on column memlayer.history.old_embedding_model is 'The model of old_embedding.';
comment on column memlayer.history.user_id is 'User of the memory.';
comment on column memlayer.history.agent_id is 'Agent of the memory.';
comment on column memlayer.history.run_id is 'Run of the memory.';
comment on column memlayer.history.change_id is 'The call that changed it; null for a plain SQL statement.';
comment on column memlayer.history.transaction_id is 'The transaction that changed it.';
comment on column memlayer.history.database_role is 'The role that had logged in (session_user).';
comment on column memlayer.history.application_name is 'application_name of the connection.';
comment on column memlayer.history.client_address is 'Address of the client; null over a Unix socket.';
comment on column memlayer.history.recorded_at is 'When it happened.';
comment on index memlayer.history_seq_key is 'All changes of a tenant in order.';
comment on index memlayer.history_change_idx is 'What one call changed.';
