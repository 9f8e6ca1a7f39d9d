create table memlayer.setting (
  tenant             text        collate "C" not null default 'default',
  text_search_config regconfig   not null default 'pg_catalog.english',
  history_retention  interval,
  defaults           jsonb       not null default '{}',
  updated_at         timestamptz not null default memlayer.now(),
  history_begins_at  timestamptz,

  constraint setting_pkey primary key (tenant),
  constraint setting_defaults_is_object check (jsonb_typeof(defaults) = 'object'),
  constraint setting_defaults_known check (
    coalesce(defaults ->> 'fusion', 'additive') in ('additive', 'calibrated')
    and coalesce(defaults ->> 'exact_threshold', '1') ~ '^[0-9]{1,9}$'
    and coalesce(defaults ->> 'ef_search', '1') ~ '^([1-9][0-9]{0,2}|1000)$'
    and jsonb_typeof(coalesce(defaults -> 'notify', 'true')) = 'boolean'
  )
);

comment on table memlayer.setting is 'One row a tenant that differs from the defaults.';
comment on column memlayer.setting.tenant is 'The customer or application the row belongs to.';
comment on column memlayer.setting.text_search_config is 'Stemmer and stop words of keyword documents and queries. Change it with memlayer db set-language, which rebuilds the documents.';
comment on column memlayer.setting.history_retention is 'How long memlayer.prune_history keeps single history rows; null for ever. Set it by SQL.';
comment on column memlayer.setting.defaults is 'Defaults of this tenant, by name: fusion (calibrated or additive), exact_threshold (memories), ef_search (candidates in the vector index, at most 1,000), notify (true: a notification on channel memlayer_change after each transaction with changes).';
comment on column memlayer.setting.updated_at is 'When the row was last written.';
comment on column memlayer.setting.history_begins_at is 'The moment before which memlayer.prune_history has taken history away; null when it never ran.';
