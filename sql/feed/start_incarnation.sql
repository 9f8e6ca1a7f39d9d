create or replace function memlayer.start_incarnation()
  returns int
  language plpgsql
  volatile
  security definer
  set search_path from current
as $$
declare
  v_number int;
begin
  -- Whoever is writing ends first, so that the incarnation before is decided.
  lock table memlayer.history in share row exclusive mode;

  insert into memlayer.incarnation (number, system_identifier)
  select coalesce(max(i.number), 0) + 1, (pg_control_system()).system_identifier
    from memlayer.incarnation i
  returning number into v_number;

  return v_number;
end;
$$;

comment on function memlayer.start_incarnation is
  'After a recovery to an earlier point in time, before programs write again: the feed goes on behind all that its readers may have seen. Returns the number of the incarnation.';
