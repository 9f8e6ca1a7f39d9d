create or replace function memlayer.filter_metadata_order(
  p_paths   text[],
  p_sign    text,
  p_operand jsonb
)
  returns text
  language plpgsql
  stable
  parallel safe
  set search_path from current
as $$
declare
  v_time text := case when jsonb_typeof(p_operand) = 'string' then memlayer.filter_iso(p_operand #>> '{}') end;
begin
  -- jsonpath's own datetime() raises on time zones it does not know, and reads a "Z" from Postgres 17 on only.
  if v_time is not null then
    return memlayer.filter_exists(
      array(select path || '[*]' from unnest(p_paths) path),
      format(
        'jsonb_typeof(v) = ''string'' and coalesce(memlayer.filter_iso(v #>> ''{}'')::timestamptz %1$s %2$L::timestamptz, '
        '(v #>> ''{}'') collate "C" %1$s %3$L)',
        p_sign, v_time, p_operand #>> '{}'));
  end if;
  return memlayer.filter_jsonpath(p_paths, array[p_sign || ' ' || p_operand::text]);
end;
$$;

comment on function memlayer.filter_metadata_order is
  'SQL condition: the metadata value, or an element of it, is of the operand''s type and stands so in order. Strings by instant when both are ISO times, else by code point.';
