create table memlayer.entity (
  tenant          text        collate "C" not null default 'default',
  id              uuid        not null default gen_random_uuid(),
  user_id         text        collate "C",
  agent_id        text        collate "C",
  run_id          text        collate "C",
  name            text        collate "C" not null,
  folded_name     text        collate "C" not null generated always as (memlayer.fold(name)) stored,
  type            text,
  embedding       halfvec,
  embedding_model bigint,
  created_at      timestamptz not null default memlayer.now(),

  constraint entity_pkey primary key (tenant, id),
  constraint entity_name_key unique nulls not distinct (tenant, user_id, agent_id, run_id, folded_name),
  constraint entity_has_scope check (num_nonnulls(user_id, agent_id, run_id) > 0),
  constraint entity_name_fits check (octet_length(name) between 1 and 400 and octet_length(folded_name) between 1 and 1200),
  constraint entity_embedding_has_model check ((embedding is null) = (embedding_model is null))
);

alter table memlayer.entity alter column embedding set storage main;
alter table memlayer.entity set (toast_tuple_target = 8160);

create index entity_user_idx on memlayer.entity (tenant, user_id, folded_name) where user_id is not null;
create index entity_agent_idx on memlayer.entity (tenant, agent_id, folded_name) where agent_id is not null;
create index entity_run_idx on memlayer.entity (tenant, run_id, folded_name) where run_id is not null;

comment on table memlayer.entity is 'One row a person, place or thing named in one exact scope.';
comment on column memlayer.entity.tenant is 'The customer or application the row belongs to.';
comment on column memlayer.entity.id is 'Referred to by mentions.';
comment on column memlayer.entity.user_id is 'User of the exact scope.';
comment on column memlayer.entity.agent_id is 'Agent of the exact scope.';
comment on column memlayer.entity.run_id is 'Run of the exact scope.';
comment on column memlayer.entity.name is 'The name as first written.';
comment on column memlayer.entity.folded_name is 'The name by which it is recognised (memlayer.fold).';
comment on column memlayer.entity.type is 'person, place, organization, …, as the extraction said; null when unknown.';
comment on column memlayer.entity.embedding is 'Vector of the name.';
comment on column memlayer.entity.embedding_model is 'The model the vector is of.';
comment on column memlayer.entity.created_at is 'When it was first named.';
comment on index memlayer.entity_user_idx is 'The entities of a user, by name.';
comment on index memlayer.entity_agent_idx is 'The entities of an agent, by name.';
comment on index memlayer.entity_run_idx is 'The entities of a run, by name.';
