create table memlayer.model (
  tenant       text        collate "C" not null default 'default',
  id           bigint      generated always as identity,
  name         text        collate "C" not null,
  dimensions   int         not null,
  calibration  real,
  sample       int         not null default 0,
  state        text        not null default 'active',
  created_at   timestamptz not null default memlayer.now(),
  calibrations jsonb       not null default '[]',

  constraint model_pkey primary key (tenant, id),
  constraint model_name_key unique (tenant, name, dimensions),
  constraint model_dimensions_in_range check (dimensions between 1 and 4000),
  constraint model_state_known check (state in ('active', 'retired', 'next'))
);

create unique index model_active_key on memlayer.model (tenant, state) where state in ('active', 'next');

comment on table memlayer.model is 'One row an embedding model of a tenant. Vectors of two models are never compared.';
comment on column memlayer.model.tenant is 'The customer or application the row belongs to.';
comment on column memlayer.model.id is 'Number of the model, unique in the database: partial vector indexes name it.';
comment on column memlayer.model.name is 'What the embedder calls itself.';
comment on column memlayer.model.dimensions is 'Length of its vectors, 1 to 4,000.';
comment on column memlayer.model.calibration is 'Usual cosine similarity of two unrelated texts under this model; null before there are eight memories.';
comment on column memlayer.model.sample is 'How many memories calibration was estimated from; with 64 it is final.';
comment on column memlayer.model.state is 'active: new vectors must be of it; next: being filled by a re-embedding; retired: kept for history.';
comment on column memlayer.model.created_at is 'When the tenant first used it.';
comment on column memlayer.model.calibrations is 'Every estimate of calibration there was, at most 57: [{"at", "calibration"}], oldest first. A search as of a moment takes that of then.';
comment on index memlayer.model_active_key is 'At most one active and one next model a tenant.';
