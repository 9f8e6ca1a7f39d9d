create or replace function memlayer.search(
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
  returns table (
    id uuid, text text, hash text, metadata jsonb, score float8, created_at timestamptz, updated_at timestamptz,
    user_id text, agent_id text, run_id text, actor_id text, role text, attributed_to text, memory_type text,
    expires_on date, observed_at timestamptz, version int, superseded_by uuid, score_details jsonb)
  language plpgsql
  stable
  security definer
  set search_path from current
  set jit = off
as $$
declare
  s record;
begin
  select * into s
    from memlayer.prepare_search(
      p_tenant, p_query, p_embedding, p_model, p_user_id, p_agent_id, p_run_id, p_filters, p_top_k, p_show_expired,
      p_reference_date, p_fusion, p_threshold, p_recency_half_life, p_as_of => p_as_of);
  if s.compiled = 'user' then
    return query select * from memlayer.search_of_user(
          p_tenant, p_user_id, p_agent_id, p_run_id, s.day, p_embedding, s.model, s.terms, s.any_term, s.must, s.depth,
          p_threshold, p_top_k, s.possible_names, p_entity_embeddings, s.calibration, s.kind, s.scope_id, s.nearest, s.folded,
          s.moment, p_recency_half_life, s.has_superseded, p_demote_superseded, p_include_superseded, p_entities,
          s.filter, s.excluded);
  elsif s.compiled = 'agent' then
    return query select * from memlayer.search_of_agent(
          p_tenant, p_user_id, p_agent_id, p_run_id, s.day, p_embedding, s.model, s.terms, s.any_term, s.must, s.depth,
          p_threshold, p_top_k, s.possible_names, p_entity_embeddings, s.calibration, s.kind, s.scope_id, s.nearest, s.folded,
          s.moment, p_recency_half_life, s.has_superseded, p_demote_superseded, p_include_superseded, p_entities,
          s.filter, s.excluded);
  elsif s.compiled = 'run' then
    return query select * from memlayer.search_of_run(
          p_tenant, p_user_id, p_agent_id, p_run_id, s.day, p_embedding, s.model, s.terms, s.any_term, s.must, s.depth,
          p_threshold, p_top_k, s.possible_names, p_entity_embeddings, s.calibration, s.kind, s.scope_id, s.nearest, s.folded,
          s.moment, p_recency_half_life, s.has_superseded, p_demote_superseded, p_include_superseded, p_entities,
          s.filter, s.excluded);
  else
    return query execute s.statement
    using p_tenant, p_user_id, p_agent_id, p_run_id, s.day, p_embedding, s.model, s.terms, s.any_term, s.must, s.depth,
          p_threshold, p_top_k, s.possible_names, p_entity_embeddings, s.calibration, s.kind, s.scope_id, s.nearest, s.folded,
          s.moment, p_recency_half_life, s.has_superseded, p_demote_superseded, p_include_superseded, p_entities;
  end if;
end;
$$;

comment on function memlayer.search is
  'The memories of a scope that best answer a query: cosine similarity, BM25 and entities, each over max(4 × top_k, 60) candidates, fused to a score from 0 to 1. A memory below p_threshold in cosine similarity is left out; without a vector words and names alone decide. p_entities names the vectors in p_entity_embeddings: one whose name the scope knows is not compared. The parts in score_details sum to raw_score. p_fusion: calibrated (the default) or additive, the formula of mem0. A memory that a newer one updates or contradicts carries its id in superseded_by and ranks below it (p_demote_superseded), or is left out (p_include_superseded false). p_recency_half_life: days after which age halves what recency adds, at most 0.5; null leaves age out. p_as_of searches the memories as they stood at that moment (memlayer.as_of), scored as then; it reads the history of the whole scope.';
