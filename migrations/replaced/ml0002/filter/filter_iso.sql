create or replace function memlayer.filter_iso(
  p_text text
)
  returns text
  language sql
  immutable
  parallel safe
-- Stricter than the cast to timestamptz, and with the zone written out: so that the cast cannot fail on a stray
-- value and does not depend on the session's time zone or date style.
return case
  when p_text !~ ('^(?!0000)[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])'
                  '([T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,9})?)?(Z|[+-](0[0-9]|1[0-5])(:?[0-5][0-9])?)?)?$')
    then null
  -- The 31st of June would be the 1st of July.
  when extract(month from make_date(left(p_text, 4)::int, substr(p_text, 6, 2)::int, 1) + substr(p_text, 9, 2)::int - 1)
       <> substr(p_text, 6, 2)::int
    then null
  when length(p_text) = 10
    then p_text || 'T00:00Z'
  when substr(p_text, 11) ~ '[Z+-]'
    then p_text
  else p_text || 'Z'
end;

comment on function memlayer.filter_iso is
  'An ISO 8601 date or timestamp with its zone written out: UTC where it names none, midnight for a date. Null for any other text.';
