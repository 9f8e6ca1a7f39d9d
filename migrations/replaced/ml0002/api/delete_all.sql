create or replace function memlayer.delete_all(
  p_tenant   text  default 'default',
  p_user_id  text  default null,
  p_agent_id text  default null,
  p_run_id   text  default null,
  p_filters  jsonb default null,
  p_actor    text  default null
)
  returns table (deleted bigint)
  language plpgsql
  volatile
  set search_path from current
  set jit = off
as $$
declare
  v_change   uuid := gen_random_uuid();
  v_scope    text := memlayer.scope_predicate('m', p_user_id, p_agent_id, p_run_id);
  v_ids      uuid[];
  v_entities uuid[];
begin
  perform memlayer.require_scope(p_tenant, p_user_id, p_agent_id, p_run_id);
  perform set_config('memlayer.change_id', v_change::text, true);

  -- First the sessions, in one order, as every writer does.
  execute format('select from memlayer.session m where %s order by m.id for update', v_scope)
    using p_tenant, p_user_id, p_agent_id, p_run_id;
  execute format('select array(select m.id from memlayer.memory m where %s and (%s) order by m.id for update)',
                 v_scope, memlayer.filter_predicate(p_filters))
    into v_ids
    using p_tenant, p_user_id, p_agent_id, p_run_id;

  v_entities := array(
    select distinct n.entity_id from memlayer.mention n where n.tenant = p_tenant and n.memory_id = any (v_ids));
  delete from memlayer.memory m where m.tenant = p_tenant and m.id = any (v_ids);
  perform memlayer.drop_orphans(p_tenant, v_entities);

  insert into memlayer.change (tenant, id, operation, user_id, agent_id, run_id, actor, deleted)
  values (p_tenant, v_change, 'delete_all', p_user_id, p_agent_id, p_run_id, p_actor, cardinality(v_ids));
  perform set_config('memlayer.change_id', '', true);

  return query select cardinality(v_ids)::bigint;
end;
$$;

comment on function memlayer.delete_all is
  'Deletes every memory that carries at least the given ids (and matches the filter), expired ones too, in one transaction. History and the message buffer stay.';
