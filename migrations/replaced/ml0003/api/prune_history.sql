create or replace function memlayer.prune_history(
  p_tenant  text     default 'default',
  p_keep    interval default null,
  p_batch   int      default null,
  p_after   uuid     default null,
  p_dry_run boolean  default false
)
  returns table (memories bigint, removed bigint, history_begins_at timestamptz, next uuid)
  language plpgsql
  volatile
  security definer
  set search_path from current
  set jit = off
as $$
#variable_conflict use_column
declare
  v_keep  interval;
  v_begin timestamptz;
  v_ids   uuid[];
begin
  perform memlayer.require_tenant(p_tenant);
  v_keep := coalesce(p_keep, (select s.history_retention from memlayer.setting s where s.tenant = p_tenant));
  if v_keep is null or v_keep < interval '0' or p_batch < 1 then
    raise exception using
      errcode = 'ML003',
      message = 'how long history is kept is a span of time, and a batch has at least one memory',
      hint    = 'Pass p_keep, or set history_retention of the tenant in memlayer.setting.';
  end if;
  v_begin := memlayer.now() - v_keep;

  select array_agg(c.memory_id order by c.memory_id), max(c.removed) into v_ids, removed
    from (
      select b.memory_id, sum(b.removed) over ()::bigint as removed
        from (
          select s.memory_id,
                 s.version - s.first + (k.event = 'DELETE')::int as removed
            from (select h.memory_id, min(h.version) as first,
                         -- Up to the last before the first that is kept: a clock may have been set back.
                         coalesce(min(h.version) filter (where h.recorded_at >= v_begin) - 1, max(h.version)) as version
                    from memlayer.history h
                   where h.tenant = p_tenant and (p_after is null or h.memory_id > p_after)
                   group by h.memory_id) s
            join memlayer.history k on k.tenant = p_tenant and k.memory_id = s.memory_id and k.version = s.version
           where k.event = 'DELETE' or s.first < s.version
           order by s.memory_id
           limit p_batch) b) c;

  memories := coalesce(cardinality(v_ids), 0);
  removed := coalesce(removed, 0);
  history_begins_at := v_begin;
  next := case when memories = p_batch then v_ids[memories] end;
  if p_dry_run then
    return next;
    return;
  end if;

  -- Before anything goes: from now on nobody asks for what was before.
  insert into memlayer.setting as s (tenant, history_begins_at) values (p_tenant, v_begin)
  on conflict on constraint setting_pkey do update
     set history_begins_at = greatest(s.history_begins_at, excluded.history_begins_at);
  if p_after is null then
    delete from memlayer.former_link l where l.tenant = p_tenant and l.ended_at < v_begin;
    -- The texts that calls returned.
    update memlayer.change c
       set idempotency_key = null, request_hash = null, result = null
     where c.tenant = p_tenant and c.recorded_at < v_begin and c.idempotency_key is not null;
  end if;
  if v_ids is null then
    return next;
    return;
  end if;

  -- Whoever restores reads history under this lock.
  perform memlayer.lock_sessions(p_tenant, array_agg(s.user_id), array_agg(s.agent_id), array_agg(s.run_id))
     from (select distinct h.user_id, h.agent_id, h.run_id
             from memlayer.history h
            where h.tenant = p_tenant and h.memory_id = any (v_ids)) s;
  with span as (
    select h.memory_id,
           coalesce(min(h.version) filter (where h.recorded_at >= v_begin) - 1, max(h.version)) as version
      from memlayer.history h
     where h.tenant = p_tenant and h.memory_id = any (v_ids)
     group by h.memory_id
  )
  delete from memlayer.history h
   using span s
    join memlayer.history k on k.tenant = p_tenant and k.memory_id = s.memory_id and k.version = s.version
   where h.tenant = p_tenant and h.memory_id = s.memory_id
     and (h.version < s.version or h.version = s.version and k.event = 'DELETE');
  get diagnostics removed = row_count;
  -- What is first now stands for what went. It keeps its number, time and place in the feed.
  update memlayer.history h
     set event = 'BASELINE', old_state = null, old_embedding = null, old_embedding_model = null, old_mentions = null, old_links = null
   where h.tenant = p_tenant and h.memory_id = any (v_ids) and h.version > 1 and h.event <> 'BASELINE'
     and not exists (
       select from memlayer.history o where o.tenant = p_tenant and o.memory_id = h.memory_id and o.version < h.version);
  return next;
end;
$$;

comment on function memlayer.prune_history is
  'Takes away history older than p_keep (else setting.history_retention of the tenant; ML003 without either): of each memory the older rows, the newest of them staying as BASELINE; of memories deleted before that, everything; results kept for idempotency keys, and references that ended. p_batch memories a call, after p_after: next is where to go on, null at the end. p_dry_run counts only.';
