create or replace function memlayer.filter_operator(
  p_key      text,
  p_operator text,
  p_operand  jsonb
)
  returns text
  language plpgsql
  stable
  parallel safe
  set search_path from current
as $$
begin
  perform memlayer.filter_check(p_key, p_operator, p_operand);
  -- Negations are just that: rows that lack the key, or hold another type there, are among what they find.
  if p_operator in ('ne', 'nin') then
    return format('not (%s)', memlayer.filter_operator(p_key, case p_operator when 'ne' then 'eq' else 'in' end, p_operand));
  elsif p_operator = 'eq' then
    return memlayer.filter_operator(p_key, 'in', jsonb_build_array(p_operand));
  end if;
  return case memlayer.filter_kind(p_key)
    when 'time' then memlayer.filter_time(p_key, p_operator, p_operand)
    when 'text' then memlayer.filter_text(memlayer.filter_column(p_key), p_operator, p_operand)
    else memlayer.filter_metadata(p_key, p_operator, p_operand)
  end;
end;
$$;

comment on function memlayer.filter_operator is
  'SQL condition, never null, for one operator on one key.';
