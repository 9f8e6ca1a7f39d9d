create or replace function memlayer.quote_lexeme(p_lexeme text)
  returns text
  language sql
  immutable
  parallel safe
return '''' || replace(replace(p_lexeme, '\', '\\'), '''', '''''') || '''';

comment on function memlayer.quote_lexeme is
  'A lexeme as the text form of tsvector and tsquery wants it.';
