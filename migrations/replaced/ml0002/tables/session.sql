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
  constraint session_scope_key unique nulls not distinct (tenant, user_id, agent_id, run_id),
  constraint session_has_scope check (num_nonnulls(user_id, agent_id, run_id) > 0)
);

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
