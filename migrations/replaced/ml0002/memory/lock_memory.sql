create or replace function memlayer.lock_memory(
  p_tenant text,
  p_id     uuid
)
  returns memlayer.memory
  language plpgsql
  volatile
  set search_path from current
as $$
declare
  v_memory memlayer.memory;
begin
  -- First the session, as every writer does; then the row, read again, for another may have had the lock.
  select * into v_memory from memlayer.memory m where m.tenant = p_tenant and m.id = p_id;
  if found then
    perform memlayer.lock_session(p_tenant, v_memory.user_id, v_memory.agent_id, v_memory.run_id);
    select * into v_memory from memlayer.memory m where m.tenant = p_tenant and m.id = p_id for update;
  end if;
  if not found then
    raise exception using
      errcode = 'ML002',
      message = format('there is no memory %s', coalesce(p_id::text, 'null')),
      hint    = 'It may have been deleted; memlayer.history tells.';
  end if;
  return v_memory;
end;
$$;

comment on function memlayer.lock_memory is
  'Locks the session of a memory, then the memory, and returns it; ML002 when there is none.';
