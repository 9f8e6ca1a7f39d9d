create or replace function memlayer.free_dedup_key(
  p_tenant   text,
  p_user_id  text,
  p_agent_id text,
  p_run_id   text,
  p_key      text,
  p_id       uuid
)
  returns text
  language plpgsql
  stable
  set search_path from current
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
as $$
begin
  return case when not exists (
    select from memlayer.memory m
     where m.tenant = p_tenant
       and coalesce(m.user_id, '') = coalesce(p_user_id, '')
       and coalesce(m.agent_id, '') = coalesce(p_agent_id, '')
       and coalesce(m.run_id, '') = coalesce(p_run_id, '')
       and m.dedup_key = p_key
       and m.id <> p_id) then p_key end;
end;
$$;

comment on function memlayer.free_dedup_key is
  'The key, or null where another memory of the exact scope has it: two facts that became equal by an update are no error.';
