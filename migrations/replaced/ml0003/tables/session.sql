create table memlayer.session (
  tenant     text        collate "C" not null default 'default',
  id         uuid        not null default gen_random_uuid(),
  user_id    text        collate "C",
  agent_id   text        collate "C",
  run_id     text        collate "C",
  last_seq   bigint      not null default 0,
  created_at timestamptz not null default memlayer.now(),
  updated_at timestamptz not null default memlayer.now(),

  constraint session_pkey primary key (tenant, id),
  constraint session_has_scope check (num_nonnulls(user_id, agent_id, run_id) > 0)
);

-- A kept plan is to take every scope for a small part of the table, whoever has most of it today.
alter table memlayer.session alter column user_id set (n_distinct = -0.01);
alter table memlayer.session alter column agent_id set (n_distinct = -0.01);
alter table memlayer.session alter column run_id set (n_distinct = -0.01);

-- As memory_dedup_key.
create unique index session_scope_key
  on memlayer.session (tenant, coalesce(user_id, ''), coalesce(agent_id, ''), coalesce(run_id, ''));

comment on table memlayer.session is
  'One exact combination of user, agent and run. Writers lock its row, so that what they write to one scope has one order.';
comment on column memlayer.session.tenant is 'The customer or application the row belongs to.';
comment on column memlayer.session.id is 'Referred to by the messages of the session.';
comment on column memlayer.session.user_id is 'User of the combination; null where it has none.';
comment on column memlayer.session.agent_id is 'Agent of the combination; null where it has none.';
comment on column memlayer.session.run_id is 'Run of the combination; null where it has none.';
comment on column memlayer.session.last_seq is 'Sequence number of the newest message ever buffered.';
comment on column memlayer.session.created_at is 'When the combination was first written to.';
comment on column memlayer.session.updated_at is 'When a message was last buffered.';
comment on index memlayer.session_scope_key is 'A combination stands once.';
