-- The usual search as functions whose plan is kept: planning it anew took longer than running it in a
-- small scope. One for each id that may lead, for that is the index it reads. A kept plan knows no sizes:
-- joins of CTEs are to hash; what must go row by row through an index is fenced by "offset 0".
do $$
declare
  v_lead  text;
  v_scope text;
begin
  foreach v_lead in array '{user,agent,run}'::text[] loop
    v_scope := 'X.tenant = $1 and '
      || case v_lead when 'user'  then 'X.user_id = $2'  else '($2 is null or X.user_id = $2)'   end || ' and '
      || case v_lead when 'agent' then 'X.agent_id = $3' else '($3 is null or X.agent_id = $3)'  end || ' and '
      || case v_lead when 'run'   then 'X.run_id = $4'   else '($4 is null or X.run_id = $4)'    end;
    execute format(
      $sql$
create or replace function memlayer.search_of_%1$s(
  p_tenant text, p_user_id text, p_agent_id text, p_run_id text, p_day date, p_embedding halfvec, p_model bigint,
  p_terms text[], p_any_term tsquery, p_must tsquery, p_depth bigint, p_threshold float8, p_rows int, p_names text[],
  p_entity_embeddings halfvec[], p_calibration float8, p_kind text, p_scope_id text, p_nearest uuid[], p_folded text,
  p_moment timestamptz, p_half_life float8, p_has_superseded boolean, p_demote boolean, p_include boolean,
  p_asked text[])
  returns table (
    id uuid, text text, hash text, metadata jsonb, score float8, created_at timestamptz, updated_at timestamptz,
    user_id text, agent_id text, run_id text, actor_id text, role text, attributed_to text, memory_type text,
    expires_on date, observed_at timestamptz, version int, superseded_by uuid, score_details jsonb)
  language plpgsql
  stable
  set search_path from current
  set plan_cache_mode = force_generic_plan
  set enable_nestloop = off
  set jit = off
as $body$
#variable_conflict use_column
begin
  return query
%2$s;
end;
$body$
      $sql$,
      v_lead,
      memlayer.search_statement(
        memlayer.exact_legs(
          replace(v_scope, 'X.', 'm.') || ' and ' || memlayer.visible_predicate(false, null),
          '(true)',
          memlayer.entity_leg(replace(v_scope, 'X.', 'e.'), 'calibrated', false),
          memlayer.fusion_k1('calibrated')),
        replace(v_scope, 'X.', 'm.') || ' and ' || memlayer.visible_predicate(false, null),
        'calibrated'));
    execute format(
      'comment on function memlayer.search_of_%1$s is ''memlayer.search led by the %1$s, without filter, as memlayer.search_statement writes it; its plan is kept.''',
      v_lead);
  end loop;
end;
$$;
