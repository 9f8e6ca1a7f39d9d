create or replace function memlayer.surviving(
  p_tenant   text,
  p_user_id  text,
  p_agent_id text,
  p_run_id   text,
  p_facts    jsonb,
  p_ids      uuid[],
  p_new      uuid[]
)
  returns uuid[]
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode = force_custom_plan
as $$
declare
  v_ids uuid[];
begin
  select array_agg(case when p_ids[f.ordinality] = any (p_new) then p_ids[f.ordinality] else m.id end order by f.ordinality)
    into v_ids
    from jsonb_array_elements(p_facts) with ordinality f
    left join memlayer.memory m
      on m.tenant = p_tenant
     and (m.user_id  = p_user_id  or (p_user_id  is null and m.user_id  is null))
     and (m.agent_id = p_agent_id or (p_agent_id is null and m.agent_id is null))
     and (m.run_id   = p_run_id   or (p_run_id   is null and m.run_id   is null))
     and m.dedup_key = md5(f.value ->> 'text');
  if array_position(v_ids, null) is not null then
    raise exception using
      errcode = '40001',
      message = 'a memory that says the same was deleted at this moment',
      hint    = 'Repeat the call.';
  end if;
  return v_ids;
end;
$$;

comment on function memlayer.surviving is
  'For each fact the id under which it stands: its own where it was added, else that of the memory of the exact scope that says it already.';
