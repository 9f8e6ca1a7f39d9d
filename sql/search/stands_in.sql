create or replace function memlayer.stands_in(
  p_text text,
  p_name text
)
  returns boolean
  language sql
  immutable
  parallel safe
-- A name in letters must stand as a word of its own; Chinese, Japanese and Thai have no spaces to tell by.
return case
  when length(p_name) < 2 or strpos(p_text, p_name) = 0 then false
  when p_name ~ '[^[:ascii:]ʰ-῿]' then true
  else p_text ~ ('(^|[^[:alnum:]])' || regexp_replace(p_name, '([][\\.^$*+?(){}|])', '\\\1', 'g') || '($|[^[:alnum:]])')
end;

comment on function memlayer.stands_in is 'Whether a folded name stands in a folded text.';
