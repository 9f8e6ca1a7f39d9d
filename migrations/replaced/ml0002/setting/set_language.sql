create or replace function memlayer.set_language(
  p_tenant text default 'default',
  p_config text default null
)
  returns regconfig
  language plpgsql
  volatile
  set search_path from current
as $$
declare
  v_config regconfig;
begin
  if p_config is null then
    return memlayer.text_search_config(p_tenant);
  end if;

  select c.oid into v_config
    from pg_ts_config c
    join pg_namespace n on n.oid = c.cfgnamespace
   where n.nspname || '.' || c.cfgname in (p_config, lower(p_config))
      or (c.cfgname in (p_config, lower(p_config)) and pg_ts_config_is_visible(c.oid));
  if v_config is null then
    raise exception using
      errcode = 'ML003',
      message = format('there is no text-search configuration %s', p_config),
      hint    = 'There are ' || (select string_agg(c.cfgname, ', ' order by c.cfgname) from pg_ts_config c where pg_ts_config_is_visible(c.oid))
                || '. Another one is named with its schema.';
  end if;

  insert into memlayer.setting as s (tenant, text_search_config)
  values (p_tenant, v_config)
  on conflict (tenant) do update
    set text_search_config = excluded.text_search_config, updated_at = memlayer.now()
  where s.text_search_config <> excluded.text_search_config;
  return v_config;
end;
$$;

comment on function memlayer.set_language is
  'Sets the text-search configuration of a tenant, and returns it; null leaves it as it is. ML003 when there is none of this name. From then on memories are written and queries are read by it; those that stand there already are brought along by memlayer.rebuild_documents.';
