-- As compiled.sql for searches: functions whose plan is kept, one for each id that may lead, for that is
-- the index it reads.
do $$
declare
  v_lead text;
begin
  foreach v_lead in array '{user,agent,run}'::text[] loop
    execute format(
      $sql$
create or replace function memlayer.recalled_of_%1$s(
  p_tenant text, p_user_id text, p_agent_id text, p_run_id text, p_day date, p_embedding halfvec, p_model bigint,
  p_similar int, p_recent int)
  returns jsonb
  language plpgsql
  stable
  set search_path from current
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  set jit = off
as $body$
begin
  return (
    with alike as materialized (
      select m.id, m.text, m.embedding <=> p_embedding as distance
        from memlayer.memory m
       where %2$s
         and (m.expires_on is null or m.expires_on >= p_day)
         and m.embedding_model = p_model
       order by distance, m.id
       limit p_similar
    ),
    recent as materialized (
      select m.id, m.text, m.created_at
        from memlayer.memory m
       where %2$s
         and (m.expires_on is null or m.expires_on >= p_day)
       order by m.created_at desc, m.id
       limit p_recent
    )
    select jsonb_agg(jsonb_build_object('id', c.id, 'text', c.text, 'source', c.source) order by c.distance, c.created_at desc, c.id)
      from (
        select a.id, a.text, 'similar' as source, a.distance, null as created_at
          from alike a
        union all
        select r.id, r.text, 'recent', null, r.created_at
          from recent r
         where r.id not in (select a.id from alike a)
      ) c);
end;
$body$
      $sql$,
      v_lead,
      'm.tenant = p_tenant and '
        || case v_lead when 'user'  then 'm.user_id = p_user_id'   else '(p_user_id is null or m.user_id = p_user_id)'    end || ' and '
        || case v_lead when 'agent' then 'm.agent_id = p_agent_id' else '(p_agent_id is null or m.agent_id = p_agent_id)' end || ' and '
        || case v_lead when 'run'   then 'm.run_id = p_run_id'     else '(p_run_id is null or m.run_id = p_run_id)'       end);
    execute format(
      'comment on function memlayer.recalled_of_%1$s is ''The memories of a scope, led by the %1$s, that memlayer.recall_context shows: the most similar ones first, then the newest.''',
      v_lead);
  end loop;
end;
$$;
