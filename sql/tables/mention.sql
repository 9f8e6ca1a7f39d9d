create table memlayer.mention (
  tenant    text collate "C" not null default 'default',
  memory_id uuid not null,
  entity_id uuid not null,

  constraint mention_pkey primary key (tenant, memory_id, entity_id),
  constraint mention_memory_fkey foreign key (tenant, memory_id) references memlayer.memory (tenant, id) on delete cascade,
  constraint mention_entity_fkey foreign key (tenant, entity_id) references memlayer.entity (tenant, id) on delete cascade
);

create index mention_entity_idx on memlayer.mention (tenant, entity_id, memory_id);

comment on table memlayer.mention is 'One row a memory and an entity it names.';
comment on column memlayer.mention.tenant is 'The customer or application the row belongs to.';
comment on column memlayer.mention.memory_id is 'The memory.';
comment on column memlayer.mention.entity_id is 'The entity it names.';
comment on index memlayer.mention_entity_idx is 'The memories that name an entity; serves the foreign key.';
