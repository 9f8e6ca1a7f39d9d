create or replace function memlayer.exact_threshold(p_tenant text)
  returns int
  language sql
  stable
  parallel safe
return coalesce((select (s.defaults ->> 'exact_threshold')::int from memlayer.setting s where s.tenant = p_tenant), 20000);

comment on function memlayer.exact_threshold is
  'Up to how many memories a scope is searched exactly, with a vector index or without: 20,000 unless the tenant''s defaults say otherwise.';
