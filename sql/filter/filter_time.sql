create or replace function memlayer.filter_time(
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
declare
  v_column text := memlayer.filter_column(p_key);
  -- A day is its midnight in UTC, whatever the session's time zone is.
  v_instant text := case v_column when 'm.expires_on' then 'm.expires_on::timestamp at time zone ''UTC''' else v_column end;
  v_times text;
begin
  if p_operator = 'in' then
    select string_agg(memlayer.filter_time_value(p_key, value), ', ' order by n)
      into v_times
      from jsonb_array_elements(p_operand) with ordinality as elements (value, n)
     where value <> 'null';
    return concat_ws(
      ' or ',
      case when p_operand @> 'null' then v_column || ' is null' end,
      format('%s = any (array[%s]::timestamptz[]) and %s is not null', v_instant, v_times, v_column));
  end if;
  return format(
    '%s %s %s and %s is not null',
    v_instant, memlayer.filter_sign(p_operator), memlayer.filter_time_value(p_key, p_operand), v_column);
end;
$$;

comment on function memlayer.filter_time is
  'SQL condition, never null, for in or an order on a time column. null in a list means that the column is null.';
