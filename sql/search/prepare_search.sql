create or replace function memlayer.prepare_search(
  p_tenant             text,
  p_query              text,
  p_embedding          halfvec,
  p_model              text,
  p_user_id            text,
  p_agent_id           text,
  p_run_id             text,
  p_filters            jsonb,
  p_top_k              int,
  p_show_expired       boolean,
  p_reference_date     date,
  p_fusion             text,
  p_include_superseded boolean,
  p_demote_superseded  boolean
)
  returns table (
    statement text, path text, day date, model bigint, terms text[], any_term tsquery, must tsquery, depth bigint,
    possible_names text[], calibration float8, kind text, scope_id text, nearest uuid[], folded text, moment timestamptz)
  language plpgsql
  stable
  set search_path from current
as $$
declare
  v_fusion   text := memlayer.fusion(p_tenant, p_fusion);
  v_where    text := memlayer.scope_predicate('m', p_user_id, p_agent_id, p_run_id)
                     || ' and ' || memlayer.visible_predicate(p_show_expired, p_reference_date);
  v_filter   text := '(' || memlayer.filter_predicate(p_filters) || ')';
  v_entities text;
  v_legs     text;
begin
  perform memlayer.require_scope(p_tenant, p_user_id, p_agent_id, p_run_id);
  perform memlayer.require_top_k(p_top_k);

  day         := coalesce(p_reference_date, memlayer.today());
  moment      := case when p_reference_date is null then memlayer.now() else (p_reference_date + 1)::timestamp at time zone 'UTC' end;
  model       := memlayer.readable_model(p_tenant, p_model, p_embedding);
  calibration := memlayer.calibration(p_tenant, model);
  depth       := least(greatest(4 * p_top_k::bigint, 60), 2147483647);
  select q.terms, q.must into terms, must from memlayer.keyword_query(p_query, memlayer.text_search_config(p_tenant)) q;

  folded := coalesce(left(memlayer.fold(p_query), 10000), '');
  if length(folded) <= 300 then
    possible_names := memlayer.possible_names(folded);
  end if;
  v_entities := memlayer.entity_leg(
    memlayer.scope_predicate('e', p_user_id, p_agent_id, p_run_id),
    case v_fusion when 'additive' then '1 - (e.embedding <=> q)' else '(1 - (e.embedding <=> q) - $16) / (1 - $16)' end,
    length(folded) > 300);

  -- A large scope with stored statistics is not read in full; for vectors it takes an index, too.
  if model is null or memlayer.ann_index(p_tenant, model) is not null then
    select s.kind, s.scope_id into kind, scope_id
      from memlayer.scope_statistic s
     where s.tenant = p_tenant
       and (s.kind, s.scope_id) in (('user', p_user_id), ('agent', p_agent_id), ('run', p_run_id))
     order by s.memories limit 1;
  end if;
  if kind is not null and not memlayer.has_at_most(
    memlayer.scope_predicate('m', p_user_id, p_agent_id, p_run_id), p_tenant, p_user_id, p_agent_id, p_run_id, day,
    memlayer.exact_threshold(p_tenant))
  then
    path := 'large';
    nearest := case when model is not null then memlayer.nearest(
      v_where || ' and ' || v_filter, p_tenant, p_user_id, p_agent_id, p_run_id, day, p_embedding, model, depth,
      p_is_filtered => v_filter <> '(true)') end;
    any_term := memlayer.any_term(memlayer.rarest_terms(p_tenant, kind, scope_id, terms));
    v_legs := memlayer.large_legs(v_where, v_filter, v_entities, case v_fusion when 'additive' then 1.2 else 0.3 end);
  else
    path := 'exact';
    any_term := memlayer.any_term(terms);
    v_legs := memlayer.exact_legs(v_where, v_filter, v_entities, case v_fusion when 'additive' then 1.2 else 0.3 end);
  end if;

  statement := memlayer.search_statement(
    v_legs, v_where, v_fusion,
    exists (select from memlayer.link l where l.tenant = p_tenant and l.kind <> 'related'),
    p_include_superseded, p_demote_superseded);
  return next;
end;
$$;

comment on function memlayer.prepare_search is
  'What memlayer.search is about to run: the statement, which path it takes (exact or large), and the values of its parameters.';
