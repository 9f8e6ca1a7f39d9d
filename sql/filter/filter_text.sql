create or replace function memlayer.filter_text(
  p_column   text,
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
  v_text   text := p_operand #>> '{}';
  v_values text[];
begin
  if p_operator = 'in' then
    v_values := array(select jsonb_array_elements_text(p_operand));
    return concat_ws(
      ' or ',
      case when p_operand @> 'null' then p_column || ' is null' end,
      format('%1$s = any (%2$L::text[]) and %1$s is not null', p_column, array_remove(v_values, null)));
  elsif p_operator = 'contains' then
    return format('strpos(%1$s, %2$L) > 0 and %1$s is not null', p_column, v_text);
  elsif p_operator = 'icontains' then
    return format('strpos(memlayer.filter_fold(%1$s), %2$L) > 0 and %1$s is not null', p_column, memlayer.filter_fold(v_text));
  end if;
  return format('%1$s collate "C" %2$s %3$L and %1$s is not null', p_column, memlayer.filter_sign(p_operator), v_text);
end;
$$;

comment on function memlayer.filter_text is
  'SQL condition, never null, for in, contains, icontains or an order (by code point) on a text column. null in a list means that the column is null.';
