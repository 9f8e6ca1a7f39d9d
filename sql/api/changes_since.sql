create or replace function memlayer.changes_since(
  p_tenant text default 'default',
  p_cursor text default null,
  p_limit  int  default 1000
)
  returns table (
    cursor text, id uuid, memory_id uuid, version int, event text, user_id text, agent_id text, run_id text,
    old_memory text, new_memory text, changed_keys text[], old_state jsonb, new_state jsonb,
    change_id uuid, operation text, actor text, transaction_id text, database_role text, application_name text,
    recorded_at timestamptz)
  language plpgsql
  stable
  security definer
  set search_path from current
  set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  v_horizon bigint := memlayer.feed_horizon();
  v_after   record;
begin
  perform memlayer.require_tenant(p_tenant);
  perform memlayer.require_top_k(p_limit);
  select * into v_after from memlayer.feed_cursor(p_cursor);

  return query
    select h.feed_position || '.' || h.seq, h.id, h.memory_id, h.version, h.event, h.user_id, h.agent_id, h.run_id,
           h.old_state ->> 'text', h.new_state ->> 'text',
           case when h.event = 'UPDATE' then memlayer.changed_keys(h.old_state, h.new_state) else '{}' end, h.old_state, h.new_state,
           h.change_id, c.operation, c.actor, h.transaction_id::text, h.database_role, h.application_name,
           h.recorded_at
      from memlayer.history h
      left join memlayer.change c on c.tenant = h.tenant and c.id = h.change_id
     where h.tenant = p_tenant
       and (h.feed_position, h.seq) > (v_after.feed_position, v_after.seq)
       and h.feed_position < v_horizon
     order by h.feed_position, h.seq
     limit p_limit;
end;
$$;

comment on function memlayer.changes_since is
  'The changes of a tenant''s memories after a cursor, each once, those of one memory in order. A change appears when no transaction that could come before it is still open; pass the cursor of the last row to go on.';
