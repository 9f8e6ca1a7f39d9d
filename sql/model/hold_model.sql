create or replace function memlayer.hold_model(
  p_tenant       text,
  p_exclusively  boolean default false
)
  returns void
  language plpgsql
  volatile
  set search_path from current
as $$
declare
  v_key bigint := hashtextextended('memlayer model of ' || p_tenant, 0);
begin
  -- An advisory lock and not one of the row: those who share a row let others share it past whoever waits to
  -- have it alone, for ever under a stream of additions.
  if p_exclusively then
    perform pg_advisory_xact_lock(v_key);
  elsif exists (
    select from memlayer.model d where d.tenant = p_tenant and d.state = 'active' and d.replaced_by is not null)
  then
    perform pg_advisory_xact_lock_shared(v_key);
  end if;
end;
$$;

comment on function memlayer.hold_model is
  'While memories are re-embedded: keeps the active model of a tenant what it is to the end of the transaction, by a lock that who stores vectors shares and a cut-over has alone (p_exclusively). At other times nothing.';
