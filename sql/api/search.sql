create or replace function memlayer.search(
  p_tenant            text      default 'default',
  p_query             text      default null,
  p_embedding         halfvec   default null,
  p_model             text      default null,
  p_user_id           text      default null,
  p_agent_id          text      default null,
  p_run_id            text      default null,
  p_filters           jsonb     default null,
  p_top_k             int       default 20,
  p_threshold         float8    default 0.1,
  p_show_expired      boolean   default false,
  p_entities          text[]    default null,
  p_entity_embeddings halfvec[] default null,
  p_reference_date    date      default null,
  p_fusion            text      default null
)
  returns table (
    id uuid, text text, hash text, metadata jsonb, score float8, created_at timestamptz, updated_at timestamptz,
    user_id text, agent_id text, run_id text, actor_id text, role text, attributed_to text, memory_type text,
    expires_on date, observed_at timestamptz, version int, score_details jsonb)
  language plpgsql
  stable
  set search_path from current
  set jit = off
as $$
declare
  v_config regconfig := memlayer.text_search_config(p_tenant);
  v_folded text := left(memlayer.fold(p_query), 10000);
  v_fusion text := memlayer.fusion(p_tenant, p_fusion);
  v_model  bigint;
  v_words  record;
begin
  perform memlayer.require_scope(p_tenant, p_user_id, p_agent_id, p_run_id);
  perform memlayer.require_top_k(p_top_k);
  v_model := memlayer.readable_model(p_tenant, p_model, p_embedding);
  select * into v_words from memlayer.keyword_query(p_query, v_config);

  return query execute memlayer.search_statement(
      p_user_id, p_agent_id, p_run_id, p_filters, p_show_expired, p_reference_date,
      p_by_entity => v_folded <> '', p_fusion => v_fusion)
    using p_tenant, p_user_id, p_agent_id, p_run_id, coalesce(p_reference_date, memlayer.today()),
          p_embedding, v_model, v_words.terms, memlayer.any_term(v_words.terms), v_words.must,
          least(greatest(4 * p_top_k::bigint, 60), 2147483647), p_threshold, p_top_k,
          v_folded, p_entity_embeddings, memlayer.calibration(p_tenant, v_model);
end;
$$;

comment on function memlayer.search is
  'The memories of a scope that best answer a query: cosine similarity, BM25 and entities, each over max(4 × top_k, 60) candidates, fused to a score from 0 to 1. A memory below p_threshold in cosine similarity is left out; without a vector words alone decide. The parts in score_details sum to raw_score. p_fusion: calibrated (the default) or additive, the formula of mem0.';
