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
  -- The comparisons below fold to plain equality or "is null", which the index serves, only with the values in hand.
  set plan_cache_mode = force_custom_plan
as $$
begin
  return case when not exists (
    select from memlayer.memory m
     where m.tenant = p_tenant
       and (m.user_id  = p_user_id  or (p_user_id  is null and m.user_id  is null))
       and (m.agent_id = p_agent_id or (p_agent_id is null and m.agent_id is null))
       and (m.run_id   = p_run_id   or (p_run_id   is null and m.run_id   is null))
       and m.dedup_key = p_key
       and m.id <> p_id) then p_key end;
end;
$$;

comment on function memlayer.free_dedup_key is
  'The key, or null where another memory of the exact scope has it: two facts that became equal by an update are no error.';
