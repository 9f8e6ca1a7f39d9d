create or replace function memlayer.any_term(p_terms text[])
  returns tsquery
  language plpgsql
  immutable
  parallel safe
  set search_path from current
as $$
begin
  return (select string_agg('''' || replace(replace(t, '\', '\\'), '''', '''''') || '''', ' | ')::tsquery from unnest(p_terms) t);
end;
$$;

comment on function memlayer.any_term is 'A query that matches documents with any of the lexemes; null when there are none.';
