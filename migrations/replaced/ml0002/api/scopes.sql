create or replace function memlayer.scopes(
  p_tenant   text default 'default',
  p_user_id  text default null,
  p_agent_id text default null,
  p_run_id   text default null
)
  returns table (kind text, id text, memories bigint, first_created_at timestamptz, last_updated_at timestamptz)
  language plpgsql
  stable
  set search_path from current
  set plan_cache_mode = force_custom_plan
  set jit = off
as $$
#variable_conflict use_column
begin
  return query
    select i.kind, i.id, count(*), min(m.created_at), max(m.updated_at)
      from memlayer.memory m
     cross join lateral (values ('user', m.user_id), ('agent', m.agent_id), ('run', m.run_id)) i (kind, id)
     where m.tenant = p_tenant
       and (p_user_id  is null or m.user_id  = p_user_id)
       and (p_agent_id is null or m.agent_id = p_agent_id)
       and (p_run_id   is null or m.run_id   = p_run_id)
       and i.id is not null
     group by i.kind, i.id
     order by array_position('{user,agent,run}', i.kind), i.id;
end;
$$;

comment on function memlayer.scopes is
  'Every user, agent and run that has memories, with their number; given ids narrow it to memories carrying them.';
