create or replace function memlayer.filter_metadata(
  p_key      text,
  p_operator text,
  p_operand  jsonb
)
  returns text
  language sql
  stable
  strict
  parallel safe
return case p_operator
  when 'in' then memlayer.filter_metadata_in(memlayer.filter_paths(p_key), p_operand)
  when 'contains' then memlayer.filter_metadata_contains(memlayer.filter_paths(p_key), p_operand, false)
  when 'icontains' then memlayer.filter_metadata_contains(memlayer.filter_paths(p_key), p_operand, true)
  else memlayer.filter_metadata_order(memlayer.filter_paths(p_key), memlayer.filter_sign(p_operator), p_operand)
end;

comment on function memlayer.filter_metadata is
  'SQL condition, never null, for in, contains, icontains or an order on a key of metadata.';
