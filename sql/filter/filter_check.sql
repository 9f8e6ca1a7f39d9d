create or replace function memlayer.filter_check(
  p_key      text,
  p_operator text,
  p_operand  jsonb
)
  returns void
  language plpgsql
  immutable
  parallel safe
  set search_path from current
as $$
declare
  v_kind text   := memlayer.filter_kind(p_key);
  v_fits text[] := case
    when p_operator in ('in', 'nin') then '{array}'
    when p_operator in ('eq', 'ne') then '{string,number,boolean,"null",array,object}'
    when p_operator in ('gt', 'gte', 'lt', 'lte') then '{string,number,boolean}'
    when p_operator in ('contains', 'icontains') then '{string,number,boolean,"null"}'
  end;
begin
  if v_fits is null then
    raise exception using
      errcode = 'ML003',
      message = format('the filter key "%s" has the unknown operator "%s"', p_key, p_operator),
      hint    = 'Use one of eq, ne, gt, gte, lt, lte, in, nin, contains and icontains. An object is compared by {"eq": {…}}.';
  elsif not jsonb_typeof(p_operand) = any (v_fits) then
    raise exception using
      errcode = 'ML003',
      message = format('the operator "%s" of the filter key "%s" does not take %s', p_operator, p_key, jsonb_typeof(p_operand)),
      hint    = format('It takes: %s.', replace(array_to_string(v_fits, ', '), 'array', 'list'));
  elsif v_kind = 'time' and p_operator in ('contains', 'icontains') then
    raise exception using
      errcode = 'ML003',
      message = format('the filter key "%s" is a time, which has no operator "%s"', p_key, p_operator),
      hint    = 'Use one of eq, ne, gt, gte, lt, lte, in and nin.';
  -- A text column holds no other type that could be meant; numbers are ids, which are stored as text.
  elsif v_kind = 'text' and exists (
    select from jsonb_path_query(p_operand, '$[*]') value
     where jsonb_typeof(value) not in ('string', 'number')
       and (value <> 'null' or p_operator not in ('eq', 'ne', 'in', 'nin'))
  ) then
    raise exception using
      errcode = 'ML003',
      message = format('the filter key "%s" is text, which "%s" cannot compare with %s', p_key, p_operator, left(p_operand::text, 80)),
      hint    = 'Give a string, or a list of strings for in and nin.';
  end if;
end;
$$;

comment on function memlayer.filter_check is
  'Raises ML003 unless the operator exists, can stand with the key and takes an operand of this type.';
