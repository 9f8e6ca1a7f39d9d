create or replace function memlayer.has_at_most(
  p_where    text,
  p_tenant   text,
  p_user_id  text,
  p_agent_id text,
  p_run_id   text,
  p_day      date,
  p_limit    int
)
  returns boolean
  language plpgsql
  stable
  set search_path from current
  set jit = off
  set enable_bitmapscan = on
as $$
declare
  v_count int;
begin
  execute format('select count(*) from (select from memlayer.memory m where %s limit $6 + 1) m', p_where)
    into v_count
    using p_tenant, p_user_id, p_agent_id, p_run_id, p_day, p_limit;
  return v_count <= p_limit;
end;
$$;

comment on function memlayer.has_at_most is
  'Whether at most so many memories meet a condition; counts no further. p_where: SQL text over alias m with parameters $1 to $5 as in memlayer.search_statement.';
