create or replace function memlayer.feed_position()
  returns bigint
  language plpgsql
  volatile
  set search_path from current
-- A transaction's own number does not do: an older transaction may change a memory after a newer one
-- committed. The newest transaction that had ended by now, where that is later, includes whoever
-- wrote the version before, because the row was locked until he had ended. Volatile, for the
-- snapshot has to be of after the wait for that lock.
as $$
declare
  v_number            int;
  v_started           timestamptz;
  v_system_identifier bigint;
begin
  select i.number, i.server_started, i.system_identifier
    into v_number, v_started, v_system_identifier
    from memlayer.incarnation i
   order by i.number desc, i.server_started desc
   limit 1;

  if v_started is distinct from pg_postmaster_start_time() then
    if v_system_identifier is distinct from (pg_control_system()).system_identifier then
      v_number := coalesce(v_number, 0) + 1;
    end if;
    insert into memlayer.incarnation (number, system_identifier)
    values (v_number, (pg_control_system()).system_identifier);
  end if;

  return v_number * 281474976710656 + greatest(
    pg_current_xact_id()::text::bigint,
    pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1);
end;
$$;

comment on function memlayer.feed_position is
  'Where a change that is written now stands in the feed: the incarnation times 2^48, plus the latest transaction it may follow. Per memory it never falls.';
