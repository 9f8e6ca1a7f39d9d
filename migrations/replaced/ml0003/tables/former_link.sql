create table memlayer.former_link (
  tenant     text        collate "C" not null default 'default',
  memory_id  uuid        not null,
  linked_id  uuid        not null,
  kind       text        collate "C" not null,
  created_at timestamptz not null,
  ended_at   timestamptz not null default memlayer.now(),

  constraint former_link_pkey primary key (tenant, linked_id, memory_id, kind, ended_at)
);

comment on table memlayer.former_link is 'One row a reference that stands no more: the history of memlayer.link, written by a trigger. It outlives the memories.';
comment on column memlayer.former_link.tenant is 'The customer or application the row belongs to.';
comment on column memlayer.former_link.memory_id is 'The newer memory.';
comment on column memlayer.former_link.linked_id is 'The older memory it referred to.';
comment on column memlayer.former_link.kind is 'related, updates or contradicts.';
comment on column memlayer.former_link.created_at is 'When the reference was stored.';
comment on column memlayer.former_link.ended_at is 'When it was deleted, with one of the memories or by itself.';
