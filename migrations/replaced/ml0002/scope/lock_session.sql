create or replace function memlayer.lock_session(
  p_tenant   text,
  p_user_id  text,
  p_agent_id text,
  p_run_id   text,
  p_messages int default 0
)
  returns table (id uuid, last_seq bigint)
  language plpgsql
  volatile
  set search_path from current
as $$
#variable_conflict use_column
begin
  return query
    insert into memlayer.session as s (tenant, user_id, agent_id, run_id, last_seq)
    values (p_tenant, p_user_id, p_agent_id, p_run_id, p_messages)
    on conflict (tenant, user_id, agent_id, run_id)
    do update set last_seq   = s.last_seq + excluded.last_seq,
                  updated_at = case when excluded.last_seq > 0 then excluded.updated_at else s.updated_at end
    returning s.id, s.last_seq;
end;
$$;

comment on function memlayer.lock_session is
  'Locks the row of one exact scope until the transaction ends, making it where it is missing, and reserves sequence numbers for so many messages.';
