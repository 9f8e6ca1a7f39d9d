create or replace function memlayer.stands_in(
  p_text text,
  p_name text
)
  returns boolean
  language sql
  immutable
  parallel safe
-- A name in letters must stand as a word of its own; Chinese, Japanese and Thai have no spaces to tell
-- by. Ranges and not classes: what [[:alnum:]] holds depends on the locale of the database.
return case
  when length(p_name) < 2 or strpos(p_text, p_name) = 0 then false
  when p_name ~ '[\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u2E80-\uFAFF]' collate "C" then true
  else p_text collate "C" ~ (
    '(?:^|[^A-Za-z0-9_\u00C0-\u1FFF\u2C00-\u2DFF])'
    || regexp_replace(p_name collate "C", '([][\\.^$*+?(){}|])', '\\\1', 'g')
    || '(?:$|[^A-Za-z0-9_\u00C0-\u1FFF\u2C00-\u2DFF])')
end;

comment on function memlayer.stands_in is 'Whether a folded name stands in a folded text.';
