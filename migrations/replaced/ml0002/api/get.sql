create or replace function memlayer.get(
  p_tenant text default 'default',
  p_id     uuid default null
)
  returns table (
    id uuid, text text, hash text, metadata jsonb, created_at timestamptz, updated_at timestamptz,
    user_id text, agent_id text, run_id text, actor_id text, role text, attributed_to text, memory_type text,
    expires_on date, observed_at timestamptz, version int, pending boolean, context text)
  language sql
  stable
  parallel safe
begin atomic
  select m.id, m.text, m.hash, m.metadata, m.created_at, m.updated_at,
         m.user_id, m.agent_id, m.run_id, m.actor_id, m.role, m.attributed_to, m.memory_type,
         m.expires_on, m.observed_at, m.version, m.embedding is null, m.context
    from memlayer.memory m
   where m.tenant = p_tenant and m.id = p_id;
end;

comment on function memlayer.get is 'One memory, expired or not; no row when there is none. pending: it waits for a vector. context: the message before it, which is indexed with it.';
