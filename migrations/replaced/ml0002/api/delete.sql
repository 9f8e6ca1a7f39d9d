create or replace function memlayer.delete(
  p_tenant text default 'default',
  p_id     uuid default null,
  p_actor  text default null
)
  returns table (id uuid)
  language plpgsql
  volatile
  set search_path from current
as $$
#variable_conflict use_column
declare
  v_change   uuid := gen_random_uuid();
  v_old      memlayer.memory;
  v_entities uuid[];
begin
  v_old := memlayer.lock_memory(p_tenant, p_id);
  perform set_config('memlayer.change_id', v_change::text, true);

  v_entities := array(select n.entity_id from memlayer.mention n where n.tenant = p_tenant and n.memory_id = p_id);
  delete from memlayer.memory m where m.tenant = p_tenant and m.id = p_id;
  perform memlayer.drop_orphans(p_tenant, v_entities);

  insert into memlayer.change (tenant, id, operation, user_id, agent_id, run_id, actor, deleted)
  values (p_tenant, v_change, 'delete', v_old.user_id, v_old.agent_id, v_old.run_id, p_actor, 1);
  perform set_config('memlayer.change_id', '', true);

  return query select p_id;
end;
$$;

comment on function memlayer.delete is
  'Deletes one memory with its mentions, links and entities nobody else names; its history stays. ML002 when there is none.';
