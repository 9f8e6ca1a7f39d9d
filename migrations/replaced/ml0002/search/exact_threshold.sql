create or replace function memlayer.exact_threshold(p_tenant text)
  returns int
  language plpgsql
  stable
  parallel safe
  set search_path from current
as $$
begin
  return coalesce((select (s.defaults ->> 'exact_threshold')::int from memlayer.setting s where s.tenant = p_tenant), 20000);
end;
$$;

comment on function memlayer.exact_threshold is
  'Up to how many memories a scope is searched exactly, with a vector index or without: 20,000 unless the tenant''s defaults say otherwise.';
