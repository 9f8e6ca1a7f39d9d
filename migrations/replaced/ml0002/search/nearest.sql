create or replace function memlayer.nearest(
  p_where       text,
  p_tenant      text,
  p_user_id     text,
  p_agent_id    text,
  p_run_id      text,
  p_day         date,
  p_embedding   halfvec,
  p_model       bigint,
  p_limit       bigint,
  p_is_filtered boolean default false
)
  returns uuid[]
  language plpgsql
  stable
  set search_path from current
  set jit = off
  -- Without iterative scan an index scan ends after ef_search rows, whatever a filter left of them.
  set hnsw.iterative_scan = 'strict_order'
  set hnsw.ef_search = 600
  -- The planner knows the cost of neither the scope predicate inside the index scan nor of a wide sort.
  set enable_sort = off
  set enable_bitmapscan = off
as $$
declare
  v_ids uuid[];
begin
  -- What a filter leaves of the scope may be few: then they are read, and not the index past all others.
  if p_is_filtered and memlayer.has_at_most(p_where, p_tenant, p_user_id, p_agent_id, p_run_id, p_day, 5000) then
    return memlayer.nearest_exact(p_where, p_tenant, p_user_id, p_agent_id, p_run_id, p_day, p_embedding, p_model, p_limit);
  end if;

  execute format(
    $sql$
    select array(
      select m.id
        from memlayer.memory m
       where %1$s and m.embedding_model = %2$s
       order by m.embedding::halfvec(%3$s) <=> $6::halfvec(%3$s)
       limit $7)
    $sql$, p_where, p_model, vector_dims(p_embedding))
    into v_ids
    using p_tenant, p_user_id, p_agent_id, p_run_id, p_day, p_embedding, p_limit;

  -- The scan gives up after hnsw.max_scan_tuples: then what is left is read in full.
  if cardinality(v_ids) < p_limit then
    v_ids := memlayer.nearest_exact(p_where, p_tenant, p_user_id, p_agent_id, p_run_id, p_day, p_embedding, p_model, p_limit);
  end if;
  return v_ids;
end;
$$;

comment on function memlayer.nearest is
  'The ids of the memories nearest to a vector, by the approximate index as far as it finds enough, else exactly: never fewer than there are. p_where: SQL text over alias m with parameters $1 to $5 as in memlayer.search_statement.';
