create or replace function memlayer.cursor_after(
  p_created_at timestamptz,
  p_id         uuid
)
  returns text
  language sql
  immutable
  parallel safe
return (extract(epoch from p_created_at) * 1000000)::bigint || '.' || p_id;

comment on function memlayer.cursor_after is
  'A place in a list by time: microseconds since 1970, a dot, the id. It stays good when the row is deleted.';
