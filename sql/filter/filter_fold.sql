create or replace function memlayer.filter_fold(
  p_text text
)
  returns text
  language sql
  immutable
  parallel safe
-- Ids have the collation "C", in which only A to Z have a lower case. Locales with the full rules of Unicode
-- make two characters of İ, and ς of a Σ at the end of a word.
return translate(memlayer.lower_case(translate(p_text, 'İ', 'i') collate "default"), 'ς', 'σ');

comment on function memlayer.filter_fold is
  'The text as icontains compares it: in lower case, but otherwise letter by letter.';
