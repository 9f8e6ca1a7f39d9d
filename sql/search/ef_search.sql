create or replace function memlayer.ef_search(p_tenant text)
  returns int
  language plpgsql
  stable
  parallel safe
  set search_path from current
as $$
begin
  return coalesce((select (s.defaults ->> 'ef_search')::int from memlayer.setting s where s.tenant = p_tenant), 200);
end;
$$;

comment on function memlayer.ef_search is
  'How many candidates a search of the vector index keeps at a time (hnsw.ef_search): 200 unless the tenant''s defaults say otherwise. More of them find more and take longer.';
