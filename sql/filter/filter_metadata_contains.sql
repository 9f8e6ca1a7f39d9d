create or replace function memlayer.filter_metadata_contains(
  p_paths       text[],
  p_operand     jsonb,
  p_ignore_case boolean
)
  returns text
  language plpgsql
  stable
  parallel safe
  set search_path from current
as $$
declare
  v_text text := p_operand #>> '{}';
begin
  -- Only a string has parts; any other operand can but be an element.
  if jsonb_typeof(p_operand) <> 'string' then
    return memlayer.filter_jsonpath(p_paths, array['== ' || p_operand::text]);
  end if;
  if p_ignore_case then
    return memlayer.filter_exists(p_paths, format(
      'jsonb_typeof(v) = ''string'' and strpos(memlayer.filter_fold(v #>> ''{}''), %1$L) > 0 '
      'or exists (select from jsonb_path_query(v, ''$[*]'') e '
      'where jsonb_typeof(e) = ''string'' and memlayer.filter_fold(e #>> ''{}'') = %1$L)',
      memlayer.filter_fold(v_text)));
  end if;
  return memlayer.filter_exists(p_paths, format(
    'jsonb_typeof(v) = ''string'' and strpos(v #>> ''{}'', %L) > 0 or jsonb_typeof(v) = ''array'' and v @> %L::jsonb',
    v_text, p_operand));
end;
$$;

comment on function memlayer.filter_metadata_contains is
  'SQL condition: the metadata value is a string with the operand in it, literally, or a list with the operand as an element, or equals it.';
