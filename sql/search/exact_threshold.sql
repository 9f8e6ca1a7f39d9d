create or replace function memlayer.exact_threshold(
  p_tenant  text,
  p_indexed float8 default null
)
  returns int
  language plpgsql
  stable
  parallel safe
  set search_path from current
as $$
begin
  -- The index hands over whatever is near, and most of it is of others where they have most of the vectors: what
  -- it reads grows with vectors / memories, and reading in full with memories.
  return coalesce(
    (select (s.defaults ->> 'exact_threshold')::int from memlayer.setting s where s.tenant = p_tenant),
    greatest(20000, sqrt(10000 * p_indexed))::int);
end;
$$;

comment on function memlayer.exact_threshold is
  'Up to how many memories a scope is searched exactly, with a vector index or without: what the tenant''s defaults say, else 20,000, or the root of 10,000 × p_indexed where that is more. p_indexed: how many vectors the index holds.';
