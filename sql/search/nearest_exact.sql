create or replace function memlayer.nearest_exact(
  p_where     text,
  p_tenant    text,
  p_user_id   text,
  p_agent_id  text,
  p_run_id    text,
  p_day       date,
  p_embedding halfvec,
  p_model     bigint,
  p_limit     bigint
)
  returns uuid[]
  language plpgsql
  stable
  set search_path from current
  set jit = off
  set enable_sort = on
  set enable_bitmapscan = on
as $$
declare
  v_ids uuid[];
begin
  -- Without the cast of memlayer.nearest the expression is not that of the approximate index.
  execute format(
    $sql$
    select array(
      select m.id
        from memlayer.memory m
       where %1$s and m.embedding_model = $8
       order by m.embedding <=> $6, m.id
       limit $7)
    $sql$, p_where)
    into v_ids
    using p_tenant, p_user_id, p_agent_id, p_run_id, p_day, p_embedding, p_limit, p_model;
  return v_ids;
end;
$$;

comment on function memlayer.nearest_exact is 'The same as memlayer.nearest, reading every vector of the scope.';
