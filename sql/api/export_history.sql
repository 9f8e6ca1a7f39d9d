create or replace function memlayer.export_history(
  p_tenant   text default 'default',
  p_user_id  text default null,
  p_agent_id text default null,
  p_run_id   text default null,
  p_after    uuid default null,
  p_limit    int  default 100
)
  returns table (memory_id uuid, user_id text, agent_id text, run_id text, events jsonb)
  language plpgsql
  stable
  security definer
  set search_path from current
  set jit = off
as $$
#variable_conflict use_column
begin
  perform memlayer.require_tenant(p_tenant);
  perform memlayer.require_top_k(p_limit);
  return query execute format(
    $sql$
    with page as (
      select distinct h.memory_id
        from memlayer.history h
       where %s and ($5 is null or h.memory_id > $5)
       order by h.memory_id
       limit $6
    )
    select p.memory_id, e.user_id, e.agent_id, e.run_id, e.events
      from page p
     cross join lateral (
       select min(h.user_id) as user_id, min(h.agent_id) as agent_id, min(h.run_id) as run_id,
              jsonb_agg(jsonb_build_object(
                'version', h.version,
                'event',   h.event,
                'at',      h.recorded_at at time zone 'UTC',
                -- A number that means something in this database alone.
                'state',   h.new_state - 'embedding_model') order by h.version) as events
         from memlayer.history h
        where h.tenant = $1 and h.memory_id = p.memory_id) e
     order by p.memory_id
    $sql$,
    memlayer.scope_predicate('h', p_user_id, p_agent_id, p_run_id))
    using p_tenant, p_user_id, p_agent_id, p_run_id, p_after, p_limit;
end;
$$;

comment on function memlayer.export_history is
  'The histories of memories that carry at least the given ids, deleted ones too, by id of the memory: events as objects with version, event, at and state (memlayer.memory_state without the model; null for a DELETE), times in UTC. p_after takes the id of the last row of the page before.';
