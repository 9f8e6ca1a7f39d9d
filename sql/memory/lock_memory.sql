create or replace function memlayer.lock_memory(
  p_tenant text,
  p_id     uuid,
  out user_id  text,
  out agent_id text,
  out run_id   text,
  out version  int,
  out text     text,
  out pending  boolean
)
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
as $$
#variable_conflict use_column
begin
  -- First the session, as every writer does; then the row, read again, for another may have had the lock.
  select m.user_id, m.agent_id, m.run_id
    into user_id, agent_id, run_id
    from memlayer.memory m
   where m.tenant = p_tenant and m.id = p_id;
  if found then
    perform memlayer.lock_session(p_tenant, user_id, agent_id, run_id);
    select m.version, m.text, m.embedding is null
      into version, text, pending
      from memlayer.memory m
     where m.tenant = p_tenant and m.id = p_id
       for update;
  end if;
  if not found then
    raise exception using
      errcode = 'ML002',
      message = format('there is no memory %s', coalesce(p_id::text, 'null')),
      hint    = 'It may have been deleted; memlayer.history tells.';
  end if;
end;
$$;

comment on function memlayer.lock_memory is
  'Locks the session of a memory, then the memory, and returns what a writer asks of it; ML002 when there is none.';
