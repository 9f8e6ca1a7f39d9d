create or replace function memlayer.feed_cursor(p_cursor text)
  returns table (feed_position bigint, seq bigint)
  language plpgsql
  immutable
  parallel safe
  set search_path from current
as $$
begin
  if p_cursor !~ '^[0-9]{1,18}\.[0-9]{1,18}$' then
    raise exception using
      errcode = 'ML003',
      message = 'the cursor is not one of the change feed',
      hint    = 'Pass the cursor of the last change that was read, or null for the first page.';
  end if;
  return query
    select coalesce(split_part(p_cursor, '.', 1)::bigint, -1), coalesce(split_part(p_cursor, '.', 2)::bigint, -1);
end;
$$;

comment on function memlayer.feed_cursor is 'Reads a cursor of memlayer.changes_since (ML003 when it is not one); null is before the first change.';
