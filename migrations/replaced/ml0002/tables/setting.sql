create table memlayer.setting (
  tenant             text        collate "C" not null default 'default',
  text_search_config regconfig   not null default 'pg_catalog.english',
  history_retention  interval,
  defaults           jsonb       not null default '{}',
  updated_at         timestamptz not null default memlayer.now(),

  constraint setting_pkey primary key (tenant),
  constraint setting_defaults_is_object check (jsonb_typeof(defaults) = 'object'),
  constraint setting_defaults_known check (
    coalesce(defaults ->> 'fusion', 'additive') in ('additive', 'calibrated')
    and coalesce(defaults ->> 'exact_threshold', '1') ~ '^[0-9]{1,9}$'
  )
);

comment on table memlayer.setting is 'One row a tenant that differs from the defaults.';
comment on column memlayer.setting.tenant is 'The customer or application the row belongs to.';
comment on column memlayer.setting.text_search_config is 'Stemmer and stop words of keyword documents and queries. Change it with memlayer db set-language, which rebuilds the documents.';
comment on column memlayer.setting.history_retention is 'How long single history rows are kept; null for ever.';
comment on column memlayer.setting.defaults is 'Defaults of this tenant, by name: fusion (calibrated or additive), exact_threshold (memories).';
comment on column memlayer.setting.updated_at is 'When the row was last written.';
