create or replace function memlayer.visible_predicate(
  p_show_expired   boolean,
  p_reference_date date
)
  returns text
  language sql
  immutable
  parallel safe
return concat_ws(' and ',
  'true',
  case when not coalesce(p_show_expired, false) then '(m.expires_on is null or m.expires_on >= $5)' end,
  case when p_reference_date is not null then 'm.created_at < ($5 + 1)::timestamp at time zone ''UTC''' end);

comment on function memlayer.visible_predicate is
  'SQL text that holds for memories (alias m) found on a day, which stands in parameter $5: not expired by then and, for a past day, stored by then.';
