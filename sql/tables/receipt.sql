create table memlayer.receipt (
  tenant           text        collate "C" not null default 'default',
  id               uuid        not null default gen_random_uuid(),
  scope_digest     text        collate "C" not null,
  memories         bigint,
  history          bigint,
  messages         bigint,
  sessions         bigint,
  entities         bigint,
  mentions         bigint,
  links            bigint,
  changes          bigint,
  actor            text,
  transaction_id   xid8        not null default pg_current_xact_id(),
  database_role    text        not null default session_user,
  application_name text        not null default current_setting('application_name'),
  client_address   inet        default inet_client_addr(),
  recorded_at      timestamptz not null default memlayer.now(),

  constraint receipt_pkey primary key (tenant, id)
);

create index receipt_scope_idx on memlayer.receipt (tenant, scope_digest);

comment on table memlayer.receipt is
  'One row an erasure (memlayer.erase): that it was done, when, by whom, and how much went. Nothing of what was erased, and no id in the clear.';
comment on column memlayer.receipt.tenant is 'The customer or application the row belongs to.';
comment on column memlayer.receipt.id is 'Names the receipt.';
comment on column memlayer.receipt.scope_digest is 'memlayer.scope_digest of the ids that were given: whoever knows them can ask whether they were erased.';
comment on column memlayer.receipt.memories is 'Memories that stood until then; null only while the erasure runs.';
comment on column memlayer.receipt.history is 'Rows of history, those of memories deleted earlier too.';
comment on column memlayer.receipt.messages is 'Buffered messages.';
comment on column memlayer.receipt.sessions is 'Exact combinations of ids.';
comment on column memlayer.receipt.entities is 'Persons, places and things.';
comment on column memlayer.receipt.mentions is 'Mentions of them.';
comment on column memlayer.receipt.links is 'References from and to the memories, ended ones too.';
comment on column memlayer.receipt.changes is 'Records of calls from which ids, keys and results were taken; the bare counts stay.';
comment on column memlayer.receipt.actor is 'A label the caller chose for whoever acted; left out where it is one of the ids.';
comment on column memlayer.receipt.transaction_id is 'The transaction that erased.';
comment on column memlayer.receipt.database_role is 'The role that had logged in (session_user).';
comment on column memlayer.receipt.application_name is 'application_name of the connection.';
comment on column memlayer.receipt.client_address is 'Address of the client; null over a Unix socket.';
comment on column memlayer.receipt.recorded_at is 'When it happened.';
comment on index memlayer.receipt_scope_idx is 'Whether a scope was erased.';
