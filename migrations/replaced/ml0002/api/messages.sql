create or replace function memlayer.messages(
  p_tenant   text default 'default',
  p_user_id  text default null,
  p_agent_id text default null,
  p_run_id   text default null
)
  returns table (seq bigint, role text, content text, name text, created_at timestamptz)
  language plpgsql
  stable
  set search_path from current
  set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
begin
  perform memlayer.require_scope(p_tenant, p_user_id, p_agent_id, p_run_id);
  return query
    select m.seq, m.role, m.content, m.name, m.created_at
      from memlayer.session s
      join memlayer.message m on m.tenant = s.tenant and m.session_id = s.id
     where s.tenant = p_tenant
       and (s.user_id  = p_user_id  or (p_user_id  is null and s.user_id  is null))
       and (s.agent_id = p_agent_id or (p_agent_id is null and s.agent_id is null))
       and (s.run_id   = p_run_id   or (p_run_id   is null and s.run_id   is null))
     order by m.seq;
end;
$$;

comment on function memlayer.messages is
  'The buffered messages of one exact combination of ids, oldest first: the newest ten that were added.';
