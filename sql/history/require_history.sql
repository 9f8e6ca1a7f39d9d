create or replace function memlayer.require_history(
  p_tenant   text,
  p_at       timestamptz,
  p_user_id  text,
  p_agent_id text,
  p_run_id   text
)
  returns void
  language plpgsql
  stable
  set search_path from current
as $$
declare
  v_since timestamptz;
begin
  execute format(
    $sql$select max(h.recorded_at) from memlayer.history h where %s and h.event = 'BASELINE' and h.recorded_at > $5$sql$,
    memlayer.scope_predicate('h', p_user_id, p_agent_id, p_run_id))
    into v_since
    using p_tenant, p_user_id, p_agent_id, p_run_id, p_at;
  -- What was deleted before that left no row at all.
  select greatest(v_since, max(s.history_begins_at)) into v_since
    from memlayer.setting s
   where s.tenant = p_tenant and s.history_begins_at > p_at;
  if v_since is not null then
    raise exception using
      errcode = 'ML009',
      message = format('the history of this scope does not reach back to %s', p_at at time zone 'UTC'),
      hint    = format('It is complete from %s UTC on: what came before was taken away by retention.', v_since at time zone 'UTC');
  end if;
end;
$$;

comment on function memlayer.require_history is
  'Refuses a moment (ML009) before what the history of a scope still holds: retention has put a BASELINE row in place of older ones, or taken all there were.';
