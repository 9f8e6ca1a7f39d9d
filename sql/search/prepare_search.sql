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
  p_threshold          float8,
  p_recency_half_life  float8,
  p_explain            boolean     default false,
  p_as_of              timestamptz default null
)
  returns table (
    statement text, path text, day date, model bigint, terms text[], any_term tsquery, must tsquery, depth bigint,
    possible_names text[], calibration float8, kind text, scope_id text, nearest uuid[], folded text, moment timestamptz,
    has_superseded boolean, compiled text, filter jsonpath, excluded tsquery)
  language plpgsql
  stable
  set search_path from current
as $$
declare
  v_fusion    text := memlayer.fusion(p_tenant, p_fusion);
  v_is_past   boolean := coalesce(p_as_of < memlayer.now(), false);
  -- What memlayer.as_of gives is the scope's already.
  v_where     text := concat_ws(' and ',
    case when not v_is_past then memlayer.scope_predicate('m', p_user_id, p_agent_id, p_run_id) end,
    memlayer.visible_predicate(p_show_expired, p_reference_date));
  v_filter    text;
  v_k1        float8 := memlayer.fusion_k1(v_fusion);
  v_entities  text;
  v_legs      text;
  v_memories  bigint;
  v_indexed   float8;
  v_threshold int;
begin
  perform memlayer.require_scope(p_tenant, p_user_id, p_agent_id, p_run_id);
  perform memlayer.require_top_k(p_top_k);
  if p_threshold is null or not p_threshold between -1 and 1 then
    raise exception using
      errcode = 'ML003',
      message = format('threshold %s is not a cosine similarity', coalesce(p_threshold::text, 'null')),
      hint    = 'Pass -1 to 1.';
  end if;
  if p_recency_half_life <= 0 then
    raise exception using
      errcode = 'ML003',
      message = format('a half-life of %s days is none', p_recency_half_life),
      hint    = 'Pass more than 0 days, or null to leave age out.';
  end if;

  day         := memlayer.day_read(p_as_of, p_reference_date);
  moment      := case when v_is_past then p_as_of
                      when p_reference_date is null then memlayer.now()
                      else (p_reference_date + 1)::timestamp at time zone 'UTC' end;
  model       := memlayer.readable_model(p_tenant, p_model, p_embedding);
  calibration := case when v_is_past then memlayer.past_calibration(p_tenant, model, p_as_of)
                      else memlayer.calibration(p_tenant, model) end;
  depth       := least(greatest(4 * p_top_k::bigint, 60), 2147483647);
  select q.terms, q.must, q.excluded into terms, must, excluded from memlayer.keyword_query(p_query, memlayer.text_search_config(p_tenant)) q;

  filter := memlayer.filter_path(p_filters);
  v_filter := case when filter is not null then format('m.metadata @? %L', filter)
                   else '(' || memlayer.filter_predicate(p_filters) || ')' end;
  -- What a minus excludes is found by no leg.
  if excluded is not null then
    v_filter := format('(%s and not m.document @@ %L::tsquery)', v_filter, excluded);
  end if;

  folded := coalesce(left(memlayer.fold(p_query), 10000), '');
  if length(folded) <= 300 then
    possible_names := memlayer.possible_names(folded);
  end if;
  has_superseded := v_is_past or exists (select from memlayer.link l where l.tenant = p_tenant and l.kind <> 'related');

  -- A large scope with stored statistics is not read in full; for vectors it takes an index, too. The past has neither.
  select s.kind, s.scope_id, s.memories into kind, scope_id, v_memories
    from memlayer.scope_statistic s
   where not v_is_past
     and s.tenant = p_tenant
     and (s.kind, s.scope_id) in (('user', p_user_id), ('agent', p_agent_id), ('run', p_run_id))
   order by s.memories limit 1;
  if kind is not null and model is not null then
    select c.reltuples into v_indexed from pg_class c where c.oid = memlayer.ann_index(p_tenant, model);
    if not found then
      kind := null;
    end if;
  end if;
  v_threshold := case when kind is not null then memlayer.exact_threshold(p_tenant, v_indexed) end;
  -- Whom one id stands for was counted when the statistics were stored.
  if v_memories > v_threshold and (
    num_nonnulls(p_user_id, p_agent_id, p_run_id) = 1
    or not memlayer.has_at_most(
      memlayer.scope_predicate('m', p_user_id, p_agent_id, p_run_id), p_tenant, p_user_id, p_agent_id, p_run_id, day, v_threshold))
  then
    path := 'large';
    nearest := case when model is not null then memlayer.nearest(
      v_where || ' and ' || v_filter, p_tenant, p_user_id, p_agent_id, p_run_id, day, p_embedding, model, depth,
      p_is_filtered => v_filter <> '(true)') end;
    any_term := memlayer.any_term(memlayer.rarest_terms(p_tenant, kind, scope_id, terms));
  else
    path := case when v_is_past then 'past' else 'exact' end;
    any_term := memlayer.any_term(terms);
    -- The usual search is compiled; any other makes a statement of its own.
    compiled := case
      when p_explain or (filter is null and p_filters <> '{}') or v_fusion <> 'calibrated' or p_show_expired
           or p_reference_date is not null or v_is_past or length(folded) > 300 then null
      when p_user_id is not null then 'user'
      when p_run_id is not null then 'run'
      else 'agent' end;
  end if;

  if compiled is null then
    v_entities := memlayer.entity_leg(
      case when v_is_past then 'true' else memlayer.scope_predicate('e', p_user_id, p_agent_id, p_run_id) end,
      v_fusion, length(folded) > 300, v_is_past);
    v_legs := case path when 'large' then memlayer.large_legs(v_where, v_filter, v_entities, v_k1)
                        else memlayer.exact_legs(v_where, v_filter, v_entities, v_k1, v_is_past) end;
    statement := memlayer.search_statement(v_legs, v_where, v_fusion, v_is_past);
  end if;
  return next;
end;
$$;

comment on function memlayer.prepare_search is
  'What memlayer.search is about to run: which path (exact, large or past), the statement, and the values of its parameters. With p_explain the statement is written out even where a compiled one (memlayer.search_of_user, _agent, _run) is run.';
