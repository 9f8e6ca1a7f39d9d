create or replace function memlayer.filter_metadata_in(
  p_paths  text[],
  p_values jsonb
)
  returns text
  language plpgsql
  stable
  parallel safe
  set search_path from current
as $$
declare
  v_scalars jsonb[];
  v_whole   jsonb[];
  v_terms   text[] := '{}';
begin
  select array_agg(value) filter (where jsonb_typeof(value) not in ('array', 'object')),
         array_agg(value) filter (where jsonb_typeof(value) in ('array', 'object'))
    into v_scalars, v_whole
    from jsonb_array_elements(p_values) as elements (value);

  -- A GIN index can serve a short list. A long one is hashed once instead of being walked through for each row.
  if cardinality(v_scalars) <= 8 then
    v_terms := v_terms || memlayer.filter_jsonpath(p_paths, array(select '== ' || value::text from unnest(v_scalars) value));
  elsif cardinality(v_scalars) > 8 then
    v_terms := v_terms || memlayer.filter_exists(
      array(select path || '[*]' from unnest(p_paths) path), format('v = any (%L::jsonb[])', v_scalars));
  end if;

  -- A list or an object means the whole value, not an element of it.
  if cardinality(v_whole) > 0 then
    v_terms := v_terms || memlayer.filter_exists(p_paths, format('v = any (%L::jsonb[])', v_whole));
  end if;

  return coalesce(nullif(array_to_string(v_terms, ' or '), ''), 'false');
end;
$$;

comment on function memlayer.filter_metadata_in is
  'SQL condition: the metadata value, or an element of it when it is a list, is one of the values. A list or object among them equals a whole value only.';
