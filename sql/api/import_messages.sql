create or replace function memlayer.import_messages(
  p_tenant   text  default 'default',
  p_messages jsonb default '[]'
)
  returns table (stored bigint, left_out bigint)
  language plpgsql
  volatile
  security definer
  set search_path from current
  set plan_cache_mode = force_custom_plan
as $$
begin
  perform memlayer.require_tenant(p_tenant);
  perform memlayer.lock_sessions(p_tenant, array_agg(g.user_id), array_agg(g.agent_id), array_agg(g.run_id))
     from jsonb_to_recordset(p_messages) g (user_id text, agent_id text, run_id text)
   having count(*) > 0;

  return query
    with given as (
      select g.*,
             row_number() over w as place,
             count(*) over (partition by g.user_id, g.agent_id, g.run_id) as messages
        from rows from (
               jsonb_to_recordset(p_messages) as (
                 user_id text, agent_id text, run_id text, role text, content text, name text, created_at timestamptz)
             ) with ordinality as g (user_id, agent_id, run_id, role, content, name, created_at, ordinality)
      window w as (partition by g.user_id, g.agent_id, g.run_id order by g.ordinality)
    ),
    -- Where somebody has spoken here already, what was said elsewhere before would come after it.
    session as (
      update memlayer.session s
         set last_seq = n.messages, updated_at = memlayer.now()
        from (select distinct g.user_id, g.agent_id, g.run_id, g.messages from given g) n
       where s.tenant = p_tenant
         and coalesce(s.user_id, '')  = coalesce(n.user_id, '')
         and coalesce(s.agent_id, '') = coalesce(n.agent_id, '')
         and coalesce(s.run_id, '')   = coalesce(n.run_id, '')
         and s.last_seq = 0
      returning s.id, s.user_id, s.agent_id, s.run_id
    ),
    stored as (
      insert into memlayer.message (tenant, session_id, seq, role, content, name, created_at)
      select p_tenant, s.id, g.place, g.role, g.content, g.name, coalesce(g.created_at, memlayer.now())
        from session s
        join given g
          on coalesce(s.user_id, '')  = coalesce(g.user_id, '')
         and coalesce(s.agent_id, '') = coalesce(g.agent_id, '')
         and coalesce(s.run_id, '')   = coalesce(g.run_id, '')
       where g.place > g.messages - 10
      returning seq
    )
    select (select count(*) from stored), jsonb_array_length(p_messages) - (select count(*) from stored);
end;
$$;

comment on function memlayer.import_messages is
  'Puts messages into the buffers of sessions that have none yet, and leaves the others as they are: p_messages holds objects with role, content, at least one of user_id, agent_id and run_id, and perhaps name and created_at, the messages of a session oldest first. The newest ten of each stay. How many were stored, and how many not.';
