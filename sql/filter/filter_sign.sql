create or replace function memlayer.filter_sign(
  p_operator text
)
  returns text
  language sql
  immutable
  strict
  parallel safe
return case p_operator when 'gt' then '>' when 'gte' then '>=' when 'lt' then '<' when 'lte' then '<=' end;

comment on function memlayer.filter_sign is
  'The sign of gt, gte, lt and lte, the same in SQL and jsonpath; null for other operators.';
