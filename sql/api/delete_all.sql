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
  security definer
  set search_path from current
  set jit = off
as $$
declare
  v_change   uuid := gen_random_uuid();
  v_scope    text := memlayer.scope_predicate('m', p_user_id, p_agent_id, p_run_id);
  -- As its index has them.
  v_sessions text := regexp_replace(v_scope, '(m\.\w+_id) ', 'coalesce(\1, '''') ', 'g');
  v_ids      uuid[];
  v_entities uuid[];
  v_linked   boolean;
  v_deleted  bigint;
begin
  perform memlayer.require_scope(p_tenant, p_user_id, p_agent_id, p_run_id);
  perform set_config('memlayer.change_id', v_change::text, true), set_config('memlayer.recorded', 'DELETE', true);

  -- First the sessions, in one order, as every writer does.
  execute format('select from memlayer.session m where %s order by m.id for update', v_sessions)
    using p_tenant, p_user_id, p_agent_id, p_run_id;
  execute format('select array(select m.id from memlayer.memory m where %s and (%s) order by m.id for update)',
                 v_scope, memlayer.filter_predicate(p_filters))
    into v_ids
    using p_tenant, p_user_id, p_agent_id, p_run_id;

  v_entities := array(
    select distinct n.entity_id from memlayer.mention n where n.tenant = p_tenant and n.memory_id = any (v_ids));
  v_linked := exists (select from memlayer.link l where l.tenant = p_tenant and l.memory_id = any (v_ids))
              or exists (select from memlayer.link l where l.tenant = p_tenant and l.linked_id = any (v_ids));
  with gone as (
    delete from memlayer.memory m where m.tenant = p_tenant and m.id = any (v_ids) returning m.id
  ),
  named as materialized (
    -- As memlayer.mentions_of, for all of them at once.
    select n.memory_id, jsonb_agg(jsonb_build_object('name', e.name, 'type', e.type) order by e.folded_name) as mentions
      from memlayer.mention n
      join memlayer.entity e on e.tenant = p_tenant and e.id = n.entity_id
     where n.tenant = p_tenant and n.memory_id = any (v_ids)
     group by n.memory_id
  )
  insert into memlayer.history
    (tenant, memory_id, version, event, old_state, old_embedding, old_embedding_model, user_id, agent_id, run_id, change_id,
     old_mentions, old_links)
  select m.tenant, m.id, m.version + 1, 'DELETE',
         memlayer.memory_state(
           m.text, m.context, m.metadata, m.memory_type, m.role, m.actor_id, m.attributed_to,
           m.expires_on, m.observed_at, m.created_at, m.updated_at, m.embedding_model),
         m.embedding, m.embedding_model, m.user_id, m.agent_id, m.run_id, v_change,
         coalesce(n.mentions, '[]'), case when v_linked then memlayer.links_of(m.tenant, m.id) end
    from gone g
    left join named n on n.memory_id = g.id
         -- Read again, where this statement still sees them: vectors handed on would fill a file.
   cross join lateral (select o.* from memlayer.memory o where o.tenant = p_tenant and o.id = g.id offset 0) m;
  get diagnostics v_deleted = row_count;
  perform memlayer.drop_orphans(p_tenant, v_entities);

  insert into memlayer.change (tenant, id, operation, user_id, agent_id, run_id, actor, deleted)
  values (p_tenant, v_change, 'delete_all', p_user_id, p_agent_id, p_run_id, p_actor, v_deleted);
  perform set_config('memlayer.change_id', '', true), set_config('memlayer.recorded', '', true);

  return query select v_deleted;
end;
$$;

comment on function memlayer.delete_all is
  'Deletes every memory that carries at least the given ids (and matches the filter), expired ones too, in one transaction. History and the message buffer stay.';
