create or replace function memlayer.cursor_position(p_cursor text)
  returns table (created_at timestamptz, id uuid)
  language plpgsql
  immutable
  parallel safe
  set search_path from current
as $$
begin
  if p_cursor is not null and p_cursor !~ '^-?[0-9]{1,17}\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
    raise exception using
      errcode = 'ML003',
      message = 'the cursor is not one',
      hint    = 'Pass the cursor of the last row of the page before, or null for the first page.';
  end if;
  return query
    select timestamptz '1970-01-01 00:00:00+00' + split_part(p_cursor, '.', 1)::bigint * interval '1 microsecond',
           split_part(p_cursor, '.', 2)::uuid;
end;
$$;

comment on function memlayer.cursor_position is 'Reads what memlayer.cursor_after wrote (ML003 when it is not that).';
