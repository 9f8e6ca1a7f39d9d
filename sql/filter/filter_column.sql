create or replace function memlayer.filter_column(
  p_key text
)
  returns text
  language sql
  immutable
  strict
  parallel safe
return case
  when memlayer.filter_kind(p_key) = 'metadata' then null
  when p_key = 'expiration_date' then 'm.expires_on'
  else 'm.' || p_key
end;

comment on function memlayer.filter_column is
  'The column of memlayer.memory m that a key of a filter names; null for keys of metadata.';
