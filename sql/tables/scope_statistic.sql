create table memlayer.scope_statistic (
  tenant         text        collate "C" not null default 'default',
  kind           text        collate "C" not null,
  scope_id       text        collate "C" not null,
  memories       bigint      not null,
  average_length float8      not null,
  refreshed_at   timestamptz not null default memlayer.now(),

  constraint scope_statistic_pkey primary key (tenant, kind, scope_id),
  constraint scope_statistic_kind_known check (kind in ('user', 'agent', 'run'))
);

comment on table memlayer.scope_statistic is
  'One row a user, agent or run with more memories than are searched exactly: what BM25 needs to know of it, as of the last memlayer.refresh_statistics.';
comment on column memlayer.scope_statistic.tenant is 'The customer or application the row belongs to.';
comment on column memlayer.scope_statistic.kind is 'user, agent or run.';
comment on column memlayer.scope_statistic.scope_id is 'Its id.';
comment on column memlayer.scope_statistic.memories is 'How many memories it had that had not expired.';
comment on column memlayer.scope_statistic.average_length is 'Average document_length of them.';
comment on column memlayer.scope_statistic.refreshed_at is 'When this was counted.';
