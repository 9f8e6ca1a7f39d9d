create or replace function memlayer.similar_to(
  p_tenant    text default 'default',
  p_memory_id uuid default null,
  p_top_k     int  default 10
)
  returns table (
    id uuid, text text, hash text, metadata jsonb, score float8, created_at timestamptz, updated_at timestamptz,
    user_id text, agent_id text, run_id text, actor_id text, role text, attributed_to text, memory_type text,
    expires_on date, observed_at timestamptz, version int, superseded_by uuid, score_details jsonb)
  language plpgsql
  stable
  set search_path from current
as $$
#variable_conflict use_column
declare
  v_memory memlayer.memory;
begin
  perform memlayer.require_top_k(p_top_k);
  select * into v_memory from memlayer.memory m where m.tenant = p_tenant and m.id = p_memory_id;
  if not found then
    raise exception using
      errcode = 'ML002',
      message = format('there is no memory %s', coalesce(p_memory_id::text, 'null')),
      hint    = 'It may have been deleted; memlayer.history tells.';
  end if;
  return query
    select s.* from memlayer.search(
        p_tenant => p_tenant, p_embedding => v_memory.embedding, p_threshold => 0, p_demote_superseded => false,
        p_user_id => v_memory.user_id, p_agent_id => v_memory.agent_id, p_run_id => v_memory.run_id,
        p_top_k => least(p_top_k::bigint + 1, 2147483647)::int) s
     where s.id <> p_memory_id
     order by s.score desc, s.created_at desc, s.id
     limit p_top_k;
end;
$$;

comment on function memlayer.similar_to is
  'The memories nearest to one memory by cosine similarity, within its own user, agent and run; none while it waits for its vector. ML002 when there is no such memory.';
