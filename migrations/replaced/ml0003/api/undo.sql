create or replace function memlayer.undo(
  p_tenant    text    default 'default',
  p_change_id uuid    default null,
  p_actor     text    default null,
  p_force     boolean default false
)
  returns table (id uuid, text text, outcome text, event text, version int, pending boolean)
  language plpgsql
  volatile
  security definer
  set search_path from current
  set plan_cache_mode = force_custom_plan
  set jit = off
as $$
#variable_conflict use_column
declare
  v_undo     uuid := gen_random_uuid();
  v_done     memlayer.change;
  v_ids      uuid[];
  v_versions int[];
  v_outcomes text[];
  v_written  uuid[];
  v_events   text[];
begin
  perform memlayer.require_tenant(p_tenant);
  select * into v_done from memlayer.change c where c.tenant = p_tenant and c.id = p_change_id;
  if not found then
    raise exception using
      errcode = 'ML002',
      message = format('there is no change %s', coalesce(p_change_id::text, 'null')),
      hint    = 'memlayer.changes lists them.';
  end if;
  if v_done.database_role <> session_user and not memlayer.is_administrator() then
    raise exception using
      errcode = '42501',
      message = format('login %s may not undo what %s did', session_user, v_done.database_role),
      hint    = 'A login undoes its own calls; those of others are for members of memlayer_admin.';
  end if;
  if (select count(*) filter (where h.event <> 'BASELINE')
        from memlayer.history h
       where h.tenant = p_tenant and h.change_id = p_change_id) < v_done.added + v_done.updated + v_done.deleted
  then
    raise exception using
      errcode = 'ML009',
      message = format('the history of the %s %s is no longer complete', v_done.operation, p_change_id),
      hint    = 'What is left of it is restored memory by memory, with memlayer.restore.';
  end if;

  -- First the sessions, then the memories by id, as every writer does.
  perform memlayer.lock_sessions(p_tenant, array_agg(s.user_id), array_agg(s.agent_id), array_agg(s.run_id))
     from (select distinct h.user_id, h.agent_id, h.run_id
             from memlayer.history h
            where h.tenant = p_tenant and h.change_id = p_change_id) s
   having count(*) > 0;
  perform
     from memlayer.memory m
    where m.tenant = p_tenant
      and m.id in (select h.memory_id from memlayer.history h where h.tenant = p_tenant and h.change_id = p_change_id)
    order by m.id
      for update;

  select array_agg(f.memory_id order by f.memory_id),
         array_agg(f.version - 1 order by f.memory_id),
         array_agg(
           case when memlayer.memory_state(
                       m.text, m.context, m.metadata, m.memory_type, m.role, m.actor_id, m.attributed_to,
                       m.expires_on, m.observed_at, m.created_at, null, null) - '{updated_at,embedding_model}'::text[]
                     is not distinct from f.old_state - '{updated_at,embedding_model}'::text[]
                     and (f.old_embedding is null or m.embedding = f.old_embedding)
                  or (m.id is null and f.old_state is null) then 'as before'
                when p_force or d.last_version = (
                  select max(h.version) from memlayer.history h where h.tenant = p_tenant and h.memory_id = d.memory_id)
                  then 'undone'
                else 'changed since' end
           order by f.memory_id)
    into v_ids, v_versions, v_outcomes
    from (select h.memory_id, min(h.version) as first_version, max(h.version) as last_version
            from memlayer.history h
           where h.tenant = p_tenant and h.change_id = p_change_id
           group by h.memory_id) d
    join memlayer.history f on f.tenant = p_tenant and f.memory_id = d.memory_id and f.version = d.first_version
    left join memlayer.memory m on m.tenant = p_tenant and m.id = d.memory_id;

  perform set_config('memlayer.change_id', v_undo::text, true);
  select array_agg(p.id), array_agg(p.event)
    into v_written, v_events
    from (select array_agg(w.id) as ids, array_agg(w.version) as versions
            from unnest(v_ids, v_versions, v_outcomes) w (id, version, outcome)
           where w.outcome = 'undone') u
   cross join lateral memlayer.put_back(p_tenant, u.ids, u.versions, true) p;
  if v_written is not null then
    insert into memlayer.change (tenant, id, operation, user_id, agent_id, run_id, actor, undoes, added, updated, deleted)
    select p_tenant, v_undo, 'undo', v_done.user_id, v_done.agent_id, v_done.run_id, p_actor, p_change_id,
           count(*) filter (where e = 'ADD'), count(*) filter (where e = 'UPDATE'), count(*) filter (where e = 'DELETE')
      from unnest(v_events) e;
  end if;
  perform set_config('memlayer.change_id', '', true);

  return query
    select w.id, coalesce(m.text, gone.text),
           -- Of a memory that differs in a vector alone, which is no longer in use, nothing is left to undo.
           case when w.outcome = 'undone' and e.event is null then 'as before' else w.outcome end,
           e.event, coalesce(m.version, gone.version), m.embedding is null and m.id is not null
      from unnest(v_ids, v_outcomes) w (id, outcome)
      left join unnest(v_written, v_events) e (id, event) on e.id = w.id
      left join memlayer.memory m on m.tenant = p_tenant and m.id = w.id
      left join lateral (
        select h.old_state ->> 'text' as text, h.version
          from memlayer.history h
         where h.tenant = p_tenant and h.memory_id = w.id
         order by h.version desc
         limit 1) gone on m.id is null
     order by w.id;
end;
$$;

comment on function memlayer.undo is
  'Reverses what one call did to memories: what it added goes, what it changed or deleted is as before. One row a memory of that call. outcome: undone; changed since (others wrote to it after the call: it is left, unless p_force); as before (nothing is left to undo). event: what this was in its history. pending: it waits for a vector. ML002 when there is no such call, ML009 when its history is not complete.';
