create table memlayer.term_statistic (
  tenant   text   collate "C" not null default 'default',
  kind     text   collate "C" not null,
  scope_id text   collate "C" not null,
  lexeme   text   collate "C" not null,
  memories bigint not null,

  constraint term_statistic_pkey primary key (tenant, kind, scope_id, lexeme),
  constraint term_statistic_scope_fkey foreign key (tenant, kind, scope_id)
    references memlayer.scope_statistic (tenant, kind, scope_id) on delete cascade
);

comment on table memlayer.term_statistic is 'One row a lexeme that stands in more than one memory of such a scope: its document frequency.';
comment on column memlayer.term_statistic.tenant is 'The customer or application the row belongs to.';
comment on column memlayer.term_statistic.kind is 'user, agent or run.';
comment on column memlayer.term_statistic.scope_id is 'Its id.';
comment on column memlayer.term_statistic.lexeme is 'A lexeme of the documents.';
comment on column memlayer.term_statistic.memories is 'How many memories of the scope had it.';
