create or replace function memlayer.phrase(
  p_text   text,
  p_config regconfig
)
  returns tsquery
  language plpgsql
  immutable
  parallel safe
  set search_path from current
as $$
begin
  return (
    select string_agg(s.distance || s.term, '' order by s.place)::tsquery
      from (
        select l.place,
               coalesce(' <' || l.place - lag(l.place) over (order by l.place) || '> ', '') as distance,
               '(' || string_agg(distinct memlayer.quote_lexeme(l.lexeme), ' | ') || ')' as term
          from memlayer.lexemes(left(p_text, 2000), p_config) l
         -- Pairs say what their characters say; parts say what the whole identifier says, and are
         -- found in longer ones too.
         where l.kind in ('word', 'pair')
         group by l.place
         order by l.place
         limit 64
      ) s);
end;
$$;

comment on function memlayer.phrase is
  'A query for the words of a text one after the other (the first 64); null when it has none to look for.';
