create or replace function memlayer.test_time()
  returns timestamptz
  language plpgsql
  stable
  parallel safe
  security definer
  set search_path from current
as $$
begin
  -- current_user is the owner here. To anybody else it would be a way to write history with another time.
  if pg_has_role(session_user, current_user, 'usage') then
    return nullif(current_setting('memlayer.now', true), '')::timestamptz;
  end if;
  return null;
end;
$$;

comment on function memlayer.test_time is
  'The setting memlayer.now, where it is set and the login owns the schema; else null.';
