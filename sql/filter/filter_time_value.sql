create or replace function memlayer.filter_time_value(
  p_key   text,
  p_value jsonb
)
  returns text
  language plpgsql
  stable
  parallel safe
  set search_path from current
as $$
declare
  v_time text := case when jsonb_typeof(p_value) = 'string' then memlayer.filter_iso(p_value #>> '{}') end;
begin
  if v_time is not null then
    return format('%L::timestamptz', v_time);
  end if;
  -- The years 1 to 9999, as in ISO strings: to_timestamp raises an error of its own beyond what it can hold.
  if jsonb_typeof(p_value) = 'number' and p_value::numeric between -62135596800 and 253402300799 then
    return format('to_timestamp(%s)', p_value);
  end if;
  raise exception using
    errcode = 'ML003',
    message = format('the filter key "%s" is a time, and %s is none', p_key, left(p_value::text, 80)),
    hint    = 'Give an ISO 8601 date or timestamp such as "2026-03-02" or "2026-03-02T03:30:00Z" (without a zone it is UTC), or seconds since 1970.';
end;
$$;

comment on function memlayer.filter_time_value is
  'SQL expression of the instant that an ISO string or a number of seconds since 1970 names. Raises ML003 for anything else.';
