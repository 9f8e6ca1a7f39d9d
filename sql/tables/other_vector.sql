create table memlayer.other_vector (
  tenant    text    collate "C" not null default 'default',
  model     bigint  not null,
  id        uuid    not null,
  is_entity boolean not null default false,
  basis     text    collate "C" not null,
  embedding halfvec,

  constraint other_vector_pkey primary key (tenant, model, id)
);

-- As in memory: out of line a vector costs rows of another table and their index.
alter table memlayer.other_vector alter column embedding set storage main;
alter table memlayer.other_vector set (toast_tuple_target = 8160);

comment on table memlayer.other_vector is
  'Vectors under a model that is not the tenant''s active one: of the next model while memories are re-embedded, of the one before until memlayer.reembed_finish. No search reads them.';
comment on column memlayer.other_vector.tenant is 'The customer or application the row belongs to.';
comment on column memlayer.other_vector.model is 'The model the vector is of.';
comment on column memlayer.other_vector.id is 'The memory or entity the vector is of; it may be gone.';
comment on column memlayer.other_vector.is_entity is 'Whether it is an entity.';
comment on column memlayer.other_vector.basis is 'Digest of what was embedded (memlayer.vector_basis): of another text or name the vector serves no more.';
comment on column memlayer.other_vector.embedding is 'The vector; null where the model gives the name of an entity no direction.';
