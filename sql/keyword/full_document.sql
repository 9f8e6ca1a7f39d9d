create or replace function memlayer.full_document(
  p_text   text,
  p_config regconfig
)
  returns tsvector
  language plpgsql
  immutable
  parallel safe
  set search_path from current
as $$
begin
  return (
    select coalesce(string_agg(d.entry, ' '), '')::tsvector
      from (
        select memlayer.quote_lexeme(l.lexeme) || ':' || string_agg(l.place::text, ',' order by l.place) as entry,
               -- At most this many bytes: padding, a count, two a position.
               sum(octet_length(l.lexeme) + 4 + 2 * count(*)) over (order by min(l.place), l.lexeme) as size
          from memlayer.lexemes(p_text, p_config) l
         group by l.lexeme
      ) d
     -- A tsvector ends at 1 MB, and more is an error.
     where d.size < 1000000);
end;
$$;

comment on function memlayer.full_document is
  'The keyword document of any text, as far as a tsvector can hold it.';
