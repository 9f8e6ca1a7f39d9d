create or replace function memlayer.history(
  p_tenant text default 'default',
  p_id     uuid default null
)
  returns table (
    id uuid, memory_id uuid, old_memory text, new_memory text, event text, created_at timestamptz, updated_at timestamptz,
    is_deleted boolean, actor_id text, role text, version int, change_id uuid, database_role text, application_name text)
  language sql
  stable
  parallel safe
begin atomic
  select h.id, h.memory_id,
         h.old_state ->> 'text',
         h.new_state ->> 'text',
         h.event,
         (coalesce(h.new_state, h.old_state) ->> 'created_at')::timestamp at time zone 'UTC',
         greatest(h.recorded_at, (coalesce(h.new_state, h.old_state) ->> 'created_at')::timestamp at time zone 'UTC'),
         h.event = 'DELETE',
         coalesce(h.new_state, h.old_state) ->> 'actor_id',
         coalesce(h.new_state, h.old_state) ->> 'role',
         h.version, h.change_id, h.database_role, h.application_name
    from memlayer.history h
   where h.tenant = p_tenant and h.memory_id = p_id
   order by h.version;
end;

comment on function memlayer.history is
  'What happened to one memory, oldest first: created_at is the memory''s, updated_at the event''s. It outlives the memory.';
