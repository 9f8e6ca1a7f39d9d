create or replace function memlayer.belongs_to(
  p_tenant   text default 'default',
  p_id       uuid default null,
  p_user_id  text default null,
  p_agent_id text default null,
  p_run_id   text default null
)
  returns boolean
  language plpgsql
  stable
  parallel safe
  security definer
  set search_path from current
  -- The plan is kept, and the table grows.
  set enable_seqscan = off
as $$
begin
  perform memlayer.require_scope(p_tenant, p_user_id, p_agent_id, p_run_id);
  -- All of its history: an id may be used again, and what it was to somebody else is his.
  return coalesce(
    (select bool_and((p_user_id  is null or h.user_id  is not distinct from p_user_id)
                 and (p_agent_id is null or h.agent_id is not distinct from p_agent_id)
                 and (p_run_id   is null or h.run_id   is not distinct from p_run_id))
       from memlayer.history h
      where h.tenant = p_tenant and h.memory_id = p_id),
    false);
end;
$$;

comment on function memlayer.belongs_to is
  'Whether a memory, or one that was deleted, carries at least these ids: what to ask before an id that somebody sent is used for him. False for an unknown id.';
