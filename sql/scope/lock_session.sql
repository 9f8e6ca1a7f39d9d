create or replace function memlayer.lock_session(
  p_tenant   text,
  p_user_id  text,
  p_agent_id text,
  p_run_id   text,
  p_messages int default 0,
  out id       uuid,
  out last_seq bigint
)
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
as $$
#variable_conflict use_column
begin
  -- It is nearly always there. "on conflict" would lock it and then write it, and nothing is to be
  -- written where no message comes.
  if p_messages > 0 then
    update memlayer.session s
       set last_seq = s.last_seq + p_messages, updated_at = memlayer.now()
     where s.tenant = p_tenant
       and coalesce(s.user_id, '') = coalesce(p_user_id, '')
       and coalesce(s.agent_id, '') = coalesce(p_agent_id, '')
       and coalesce(s.run_id, '') = coalesce(p_run_id, '')
    returning s.id, s.last_seq into id, last_seq;
  else
    select s.id, s.last_seq
      into id, last_seq
      from memlayer.session s
     where s.tenant = p_tenant
       and coalesce(s.user_id, '') = coalesce(p_user_id, '')
       and coalesce(s.agent_id, '') = coalesce(p_agent_id, '')
       and coalesce(s.run_id, '') = coalesce(p_run_id, '')
       for no key update;
  end if;

  if not found then
    insert into memlayer.session as s (tenant, user_id, agent_id, run_id, last_seq)
    values (p_tenant, p_user_id, p_agent_id, p_run_id, p_messages)
    on conflict (tenant, coalesce(user_id, ''), coalesce(agent_id, ''), coalesce(run_id, ''))
    do update set last_seq   = s.last_seq + excluded.last_seq,
                  updated_at = case when excluded.last_seq > 0 then excluded.updated_at else s.updated_at end
    returning s.id, s.last_seq into id, last_seq;
  end if;
end;
$$;

comment on function memlayer.lock_session is
  'Locks the row of one exact scope until the transaction ends, making it where it is missing, and reserves sequence numbers for so many messages.';
