create or replace function memlayer.filter_path(
  p_filters jsonb
)
  returns jsonpath
  language plpgsql
  stable
  parallel safe
  set search_path from current
as $$
begin
  if jsonb_typeof(p_filters) is distinct from 'object' then
    return null;
  end if;
  return (
    with part (key, operator, operand) as (
      select f.key, o.operator, o.operand
        from jsonb_each(p_filters) f
       cross join lateral (
         select 'in', f.value where jsonb_typeof(f.value) = 'array'
         union all
         select 'eq', f.value where jsonb_typeof(f.value) not in ('array', 'object') and f.value <> '"*"'
         union all
         select e.key, e.value
           from jsonb_each(case when jsonb_typeof(f.value) = 'object' then nullif(f.value, '{}') end) e
         union all
         select 'other', f.value where f.value in ('"*"', '{}')) o (operator, operand)
    ),
    condition as (
      select case
          when p.key in ('AND', 'OR', 'NOT', '$and', '$or', '$not') or memlayer.filter_kind(p.key) <> 'metadata' then null
          -- As deep as memlayer.filter_key allows.
          when length(p.key) - length(replace(p.key, '.', '')) > 64 then null
          when p.operator = 'eq' and jsonb_typeof(p.operand) not in ('array', 'object')
            then memlayer.filter_comparison(memlayer.filter_paths(p.key), array['== ' || p.operand::text])
          when p.operator = 'in' and jsonb_typeof(p.operand) = 'array' and p.operand @@ '$.size() >= 1 && $.size() <= 8'
               and not p.operand @? 'strict $[*] ? (@.type() == "object" || @.type() == "array")'
            then memlayer.filter_comparison(
                   memlayer.filter_paths(p.key), array(select '== ' || v::text from jsonb_array_elements(p.operand) v))
          when p.operator in ('gt', 'gte', 'lt', 'lte') and jsonb_typeof(p.operand) = 'number'
            then memlayer.filter_comparison(
                   memlayer.filter_paths(p.key), array[memlayer.filter_sign(p.operator) || ' ' || p.operand::text])
        end as text
        from part p
    )
    select case when bool_and(c.text is not null) then ('$ ? (' || string_agg('(' || c.text || ')', ' && ') || ')')::jsonpath end
      from condition c
  );
end;
$$;

comment on function memlayer.filter_path is
  'The jsonpath that says the same as a simple filter (keys of metadata, each equal to a value, to one of a short list, or compared with a number), so that its statement can be kept; null for any other filter.';
