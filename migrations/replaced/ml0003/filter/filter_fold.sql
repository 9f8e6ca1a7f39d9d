create or replace function memlayer.filter_fold(
  p_text text
)
  returns text
  language sql
  immutable
  parallel safe
-- Ids have the collation "C", in which only A to Z have a lower case.
return memlayer.lower_case(p_text collate "default");

comment on function memlayer.filter_fold is
  'The text as icontains compares it: in lower case, but otherwise letter by letter.';
