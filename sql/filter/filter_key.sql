create or replace function memlayer.filter_key(
  p_key   text,
  p_value jsonb
)
  returns text
  language plpgsql
  stable
  parallel safe
  set search_path from current
as $$
begin
  -- Each dot is a level of recursion in the jsonpath.
  if length(p_key) - length(replace(p_key, '.', '')) > 64 then
    raise exception using
      errcode = 'ML003',
      message = format('the filter key "%s…" is nested more than 64 deep', left(p_key, 40)),
      hint    = 'Use a shorter path.';
  elsif p_value = '{}' then
    raise exception using
      errcode = 'ML003',
      message = format('the filter key "%s" has no operator', p_key),
      hint    = 'Leave the key out, or use one of eq, ne, gt, gte, lt, lte, in, nin, contains and icontains.';
  -- As the group it was meant to be ("or", "Or", "$nor"), it would silently find nothing.
  elsif jsonb_typeof(p_value) = 'array' and exists (
    select from jsonb_array_elements(p_value) value where jsonb_typeof(value) = 'object'
  ) then
    raise exception using
      errcode = 'ML003',
      message = format('the filter key "%s" has a list of objects, which only AND, OR and NOT take', p_key),
      hint    = 'Groups are written in capitals. Objects are looked for by {"in": [{…}]}.';
  end if;

  if jsonb_typeof(p_value) = 'object' then
    return (select string_agg('(' || memlayer.filter_operator(p_key, key, value) || ')', ' and ') from jsonb_each(p_value));
  elsif jsonb_typeof(p_value) = 'array' then
    return memlayer.filter_operator(p_key, 'in', p_value);
  elsif p_value = '"*"' then
    return memlayer.filter_present(p_key);
  end if;
  return memlayer.filter_operator(p_key, 'eq', p_value);
end;
$$;

comment on function memlayer.filter_key is
  'SQL condition, never null, for one key of a filter: a scalar equals, a list means any of, "*" means present, an object holds operators that are all to hold.';
