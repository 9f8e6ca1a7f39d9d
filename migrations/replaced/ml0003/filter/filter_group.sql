create or replace function memlayer.filter_group(
  p_name  text,
  p_items jsonb,
  p_depth int
)
  returns text
  language plpgsql
  stable
  parallel safe
  set search_path from current
as $$
declare
  v_terms text[];
begin
  if p_name = 'NOT' and jsonb_typeof(p_items) = 'object' and p_items <> '{}' then
    p_items := jsonb_build_array(p_items);
  end if;
  if jsonb_typeof(p_items) <> 'array' then
    raise exception using
      errcode = 'ML003',
      message = format('the filter group %s does not take %s', p_name, left(p_items::text, 80)),
      hint    = format('Give a list of filters: {"%s": [{…}, {…}]}.', p_name);
  elsif p_items = '[]' and p_name <> 'AND' then
    raise exception using
      errcode = 'ML003',
      message = format('the filter group %s is empty', p_name),
      hint    = 'Leave it out, or give it at least one filter.';
  end if;

  v_terms := array(
    select '(' || memlayer.filter_tree(item, p_depth + 1) || ')'
      from jsonb_array_elements(p_items) with ordinality as items (item, n)
     order by n
  );
  return case p_name
    when 'AND' then coalesce(nullif(array_to_string(v_terms, ' and '), ''), 'true')
    when 'OR' then array_to_string(v_terms, ' or ')
    when 'NOT' then 'not (' || array_to_string(v_terms, ' or ') || ')'
  end;
end;
$$;

comment on function memlayer.filter_group is
  'SQL condition, never null, for AND, OR or NOT with a list of filters. NOT means none of them. An empty AND asks for nothing.';
