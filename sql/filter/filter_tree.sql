create or replace function memlayer.filter_tree(
  p_tree  jsonb,
  p_depth int default 0
)
  returns text
  language plpgsql
  stable
  parallel safe
  set search_path from current
as $$
begin
  if jsonb_typeof(p_tree) <> 'object' then
    raise exception using
      errcode = 'ML003',
      message = format('a filter is an object, not %s', left(p_tree::text, 80)),
      hint    = 'Write {"key": value}, {"key": {"operator": value}} or {"AND": [{…}, {…}]}.';
  elsif p_depth > 64 then
    raise exception using
      errcode = 'ML003',
      message = 'the filter is nested more than 64 deep',
      hint    = 'Flatten its AND, OR and NOT groups.';
  end if;

  return coalesce(
    (select string_agg(
        '(' || case
          when key in ('AND', 'OR', 'NOT') then memlayer.filter_group(key, value, p_depth)
          when key in ('$and', '$or', '$not') then memlayer.filter_group(upper(substr(key, 2)), value, p_depth)
          else memlayer.filter_key(key, value)
        end || ')',
        ' and ')
       from jsonb_each(p_tree)),
    'true');
end;
$$;

comment on function memlayer.filter_tree is
  'SQL condition, never null, for one object of a filter: all its keys and groups are to hold. An empty one asks for nothing.';
