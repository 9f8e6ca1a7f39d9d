create or replace function memlayer.keyword_search(
  p_tenant       text    default 'default',
  p_query        text    default null,
  p_user_id      text    default null,
  p_agent_id     text    default null,
  p_run_id       text    default null,
  p_filters      jsonb   default null,
  p_top_k        int     default 20,
  p_show_expired boolean default false
)
  returns table (
    id uuid, text text, hash text, metadata jsonb, score float8, created_at timestamptz, updated_at timestamptz,
    user_id text, agent_id text, run_id text, actor_id text, role text, attributed_to text, memory_type text,
    expires_on date, observed_at timestamptz, version int, superseded_by uuid, score_details jsonb)
  language sql
  stable
begin atomic
  select * from memlayer.search(
    p_tenant => p_tenant, p_query => p_query, p_user_id => p_user_id, p_agent_id => p_agent_id, p_run_id => p_run_id,
    p_filters => p_filters, p_top_k => p_top_k, p_show_expired => p_show_expired);
end;

comment on function memlayer.keyword_search is
  'Search by words and names alone: nothing but SQL is needed. Terms are ORed, "a phrase" must match, -word excludes.';
