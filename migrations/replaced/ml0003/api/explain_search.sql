create or replace function memlayer.explain_search(
  p_tenant             text        default 'default',
  p_query              text        default null,
  p_embedding          halfvec     default null,
  p_model              text        default null,
  p_user_id            text        default null,
  p_agent_id           text        default null,
  p_run_id             text        default null,
  p_filters            jsonb       default null,
  p_top_k              int         default 20,
  p_threshold          float8      default 0.1,
  p_show_expired       boolean     default false,
  p_entities           text[]      default null,
  p_entity_embeddings  halfvec[]   default null,
  p_reference_date     date        default null,
  p_fusion             text        default null,
  p_include_superseded boolean     default true,
  p_demote_superseded  boolean     default true,
  p_recency_half_life  float8      default null,
  p_as_of              timestamptz default null
)
  returns table (path text, legs jsonb, plan jsonb, statement text, prepared_ms float8)
  language plpgsql
  volatile
  security definer
  set search_path from current
  set jit = off
as $$
declare
  v_start timestamptz := clock_timestamp();
  s       record;
begin
  select * into s
    from memlayer.prepare_search(
      p_tenant, p_query, p_embedding, p_model, p_user_id, p_agent_id, p_run_id, p_filters, p_top_k, p_show_expired,
      p_reference_date, p_fusion, p_threshold, p_recency_half_life, p_explain => true, p_as_of => p_as_of);
  prepared_ms := extract(epoch from clock_timestamp() - v_start) * 1000;
  path := s.path;
  statement := s.statement;

  execute split_part(s.statement, ',
scale as materialized', 1) || $sql$
    select jsonb_build_object(
      'nearest', (select count(*) from nearest), 'wordiest', (select count(*) from wordiest),
      'named', (select count(*) from named), 'found', (select count(*) from found))$sql$
    into legs
    using p_tenant, p_user_id, p_agent_id, p_run_id, s.day, p_embedding, s.model, s.terms, s.any_term, s.must, s.depth,
          p_threshold, p_top_k, s.possible_names, p_entity_embeddings, s.calibration, s.kind, s.scope_id, s.nearest, s.folded,
          s.moment, p_recency_half_life, s.has_superseded, p_demote_superseded, p_include_superseded, p_entities;
  execute 'explain (analyze, buffers, format json) ' || s.statement
    into plan
    using p_tenant, p_user_id, p_agent_id, p_run_id, s.day, p_embedding, s.model, s.terms, s.any_term, s.must, s.depth,
          p_threshold, p_top_k, s.possible_names, p_entity_embeddings, s.calibration, s.kind, s.scope_id, s.nearest, s.folded,
          s.moment, p_recency_half_life, s.has_superseded, p_demote_superseded, p_include_superseded, p_entities;
  return next;
end;
$$;

comment on function memlayer.explain_search is
  'How memlayer.search works for the same arguments: which path, how many rows each leg found, the executed plan as EXPLAIN gives it, the statement, and the milliseconds before it (the vector index is asked there). For support; it runs the search twice.';
