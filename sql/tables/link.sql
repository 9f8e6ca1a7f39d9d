create table memlayer.link (
  tenant     text        collate "C" not null default 'default',
  memory_id  uuid        not null,
  linked_id  uuid        not null,
  kind       text        collate "C" not null default 'related',
  created_at timestamptz not null default memlayer.now(),

  constraint link_pkey primary key (tenant, memory_id, linked_id, kind),
  constraint link_memory_fkey foreign key (tenant, memory_id) references memlayer.memory (tenant, id) on delete cascade,
  constraint link_linked_fkey foreign key (tenant, linked_id) references memlayer.memory (tenant, id) on delete cascade,
  constraint link_kind_known check (kind in ('related', 'updates', 'contradicts')),
  constraint link_not_to_itself check (memory_id <> linked_id)
);

create index link_superseding_idx on memlayer.link (tenant, linked_id, memory_id) where kind <> 'related';
create index link_linked_idx on memlayer.link (tenant, linked_id);

comment on table memlayer.link is 'One row a reference of a newer memory to an older one.';
comment on column memlayer.link.tenant is 'The customer or application the row belongs to.';
comment on column memlayer.link.memory_id is 'The newer memory.';
comment on column memlayer.link.linked_id is 'The older memory it refers to.';
comment on column memlayer.link.kind is 'related, updates (the older no longer holds) or contradicts.';
comment on column memlayer.link.created_at is 'When the reference was stored.';
comment on index memlayer.link_superseding_idx is 'What a newer memory replaced or contradicts.';
comment on index memlayer.link_linked_idx is 'What refers to a memory; serves the foreign key.';
