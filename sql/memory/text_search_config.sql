create or replace function memlayer.text_search_config(p_tenant text)
  returns regconfig
  language plpgsql
  stable
  parallel safe
  set search_path from current
as $$
begin
  return coalesce((select s.text_search_config from memlayer.setting s where s.tenant = p_tenant), 'pg_catalog.english'::regconfig);
end;
$$;

comment on function memlayer.text_search_config is
  'The text-search configuration of a tenant: stemming and stop words of its documents and queries.';
