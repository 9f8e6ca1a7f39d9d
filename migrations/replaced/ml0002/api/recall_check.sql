create or replace function memlayer.recall_check(
  p_tenant   text default 'default',
  p_user_id  text default null,
  p_agent_id text default null,
  p_run_id   text default null,
  p_samples  int  default 20,
  p_top_k    int  default 20
)
  returns table (samples int, recall float8, exact_ms float8, indexed_ms float8)
  language plpgsql
  volatile
  set search_path from current
as $$
declare
  v_model   bigint := (select d.id from memlayer.model d where d.tenant = p_tenant and d.state = 'active');
  v_where   text   := memlayer.scope_predicate('m', p_user_id, p_agent_id, p_run_id) || ' and ' || memlayer.visible_predicate(false, null);
  v_vectors halfvec[];
  v_vector  halfvec;
  v_exact   uuid[];
  v_indexed uuid[];
  v_start   timestamptz;
begin
  perform memlayer.require_scope(p_tenant, p_user_id, p_agent_id, p_run_id);
  perform memlayer.require_top_k(p_top_k);
  if memlayer.ann_index(p_tenant, v_model) is null then
    raise exception using
      errcode = 'ML004',
      message = format('tenant %s has no vector index to compare with', p_tenant),
      hint    = 'Make one: memlayer db ann-index, or select memlayer.create_ann_index().';
  end if;
  -- Between two memories of the scope lies what somebody might ask for; the memories themselves would be too easy.
  execute format(
    $sql$
    select array_agg(l2_normalize(a.embedding + b.embedding))
      from (select m.embedding, row_number() over (order by m.id) as n from memlayer.memory m where %1$s and m.embedding_model = $6 order by m.id limit $7) a
      join (select m.embedding, row_number() over (order by m.id desc) as n from memlayer.memory m where %1$s and m.embedding_model = $6 order by m.id desc limit $7) b using (n)
    $sql$, v_where)
    into v_vectors
    using p_tenant, p_user_id, p_agent_id, p_run_id, memlayer.today(), v_model, greatest(p_samples, 0);

  samples := coalesce(cardinality(v_vectors), 0);
  recall := 0;
  exact_ms := 0;
  indexed_ms := 0;
  foreach v_vector in array coalesce(v_vectors, '{}') loop
    v_start := clock_timestamp();
    v_exact := memlayer.nearest_exact(v_where, p_tenant, p_user_id, p_agent_id, p_run_id, memlayer.today(), v_vector, v_model, p_top_k);
    exact_ms := exact_ms + extract(epoch from clock_timestamp() - v_start) * 1000 / samples;
    v_start := clock_timestamp();
    v_indexed := memlayer.nearest(v_where, p_tenant, p_user_id, p_agent_id, p_run_id, memlayer.today(), v_vector, v_model, p_top_k);
    indexed_ms := indexed_ms + extract(epoch from clock_timestamp() - v_start) * 1000 / samples;
    recall := recall + (select count(*) from unnest(v_exact) e where e = any (v_indexed))::float8
                       / greatest(cardinality(v_exact), 1) / samples;
  end loop;
  return next;
end;
$$;

comment on function memlayer.recall_check is
  'Compares the vector index with reading the whole scope, on vectors between its own memories: which share of the p_top_k nearest it finds (recall), and what both take on average.';
