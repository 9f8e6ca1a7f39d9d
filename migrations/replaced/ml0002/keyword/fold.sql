create or replace function memlayer.fold(p_text text)
  returns text
  language sql
  immutable
  parallel safe
return trim(regexp_replace(
  memlayer.lower_case(normalize(p_text, nfkc)), '[\s\u0085\u1680\u2028\u2029]+' collate "C", ' ', 'g'));

comment on function memlayer.fold is
  'The text as names are compared: Unicode form NFKC (full-width letters become ordinary ones), lower case, one space between words, none around.';
