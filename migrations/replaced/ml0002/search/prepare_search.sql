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
  p_explain            boolean default false
)
  returns table (
    statement text, path text, day date, model bigint, terms text[], any_term tsquery, must tsquery, depth bigint,
    possible_names text[], calibration float8, kind text, scope_id text, nearest uuid[], folded text, moment timestamptz,
    has_superseded boolean)
  language plpgsql
  stable
  set search_path from current
as $$
declare
  v_fusion   text := memlayer.fusion(p_tenant, p_fusion);
  v_where    text := memlayer.scope_predicate('m', p_user_id, p_agent_id, p_run_id)
                     || ' and ' || memlayer.visible_predicate(p_show_expired, p_reference_date);
  v_filter   text := '(' || memlayer.filter_predicate(p_filters) || ')';
  v_k1       float8 := memlayer.fusion_k1(v_fusion);
  v_entities text;
  v_legs     text;
  v_excluded tsquery;
  v_compiled text;
begin
  perform memlayer.require_scope(p_tenant, p_user_id, p_agent_id, p_run_id);
  perform memlayer.require_top_k(p_top_k);

  day         := coalesce(p_reference_date, memlayer.today());
  moment      := case when p_reference_date is null then memlayer.now() else (p_reference_date + 1)::timestamp at time zone 'UTC' end;
  model       := memlayer.readable_model(p_tenant, p_model, p_embedding);
  calibration := memlayer.calibration(p_tenant, model);
  depth       := least(greatest(4 * p_top_k::bigint, 60), 2147483647);
  select q.terms, q.must, q.excluded into terms, must, v_excluded from memlayer.keyword_query(p_query, memlayer.text_search_config(p_tenant)) q;

  -- What a minus excludes is found by no leg.
  if v_excluded is not null then
    v_filter := format('(%s and not m.document @@ %L::tsquery)', v_filter, v_excluded);
  end if;

  folded := coalesce(left(memlayer.fold(p_query), 10000), '');
  if length(folded) <= 300 then
    possible_names := memlayer.possible_names(folded);
  end if;
  has_superseded := exists (select from memlayer.link l where l.tenant = p_tenant and l.kind <> 'related');

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
  else
    path := 'exact';
    any_term := memlayer.any_term(terms);
    -- The usual search is compiled; a filter, another fusion or another day make a statement of their own.
    v_compiled := case
      when p_explain or v_filter <> '(true)' or v_fusion <> 'calibrated' or p_show_expired or p_reference_date is not null or length(folded) > 300 then null
      when p_user_id is not null then 'user'
      when p_run_id is not null then 'run'
      else 'agent' end;
  end if;

  if v_compiled is not null then
    statement := format(
      'select * from memlayer.search_of_%s($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26)',
      v_compiled);
  else
    v_entities := memlayer.entity_leg(
      memlayer.scope_predicate('e', p_user_id, p_agent_id, p_run_id), v_fusion, length(folded) > 300);
    v_legs := case path when 'large' then memlayer.large_legs(v_where, v_filter, v_entities, v_k1)
                        else memlayer.exact_legs(v_where, v_filter, v_entities, v_k1) end;
    statement := memlayer.search_statement(v_legs, v_where, v_fusion);
  end if;
  return next;
end;
$$;

comment on function memlayer.prepare_search is
  'What memlayer.search is about to run: which path (exact or large), the statement, and the values of its parameters. With p_explain the statement is written out even where a compiled one is run.';
