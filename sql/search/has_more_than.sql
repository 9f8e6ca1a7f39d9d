create or replace function memlayer.has_more_than(
  p_tenant   text,
  p_user_id  text,
  p_agent_id text,
  p_run_id   text,
  p_limit    int
)
  returns boolean
  language plpgsql
  stable
  set search_path from current
  set jit = off
as $$
declare
  v_count int;
begin
  execute format('select count(*) from (select from memlayer.memory m where %s limit $5 + 1) m',
                 memlayer.scope_predicate('m', p_user_id, p_agent_id, p_run_id))
    into v_count
    using p_tenant, p_user_id, p_agent_id, p_run_id, p_limit;
  return v_count > p_limit;
end;
$$;

comment on function memlayer.has_more_than is 'Whether a scope holds more than so many memories; counts no further.';
