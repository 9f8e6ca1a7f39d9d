create or replace function memlayer.metadata_values(
  p_tenant       text    default 'default',
  p_key          text    default null,
  p_user_id      text    default null,
  p_agent_id     text    default null,
  p_run_id       text    default null,
  p_filters      jsonb   default null,
  p_show_expired boolean default false
)
  returns table (value jsonb, memories bigint)
  language plpgsql
  stable
  security definer
  set search_path from current
  set jit = off
as $$
begin
  perform memlayer.require_scope(p_tenant, p_user_id, p_agent_id, p_run_id);
  return query execute format(
    $sql$
    select m.metadata -> $6, count(*)
      from memlayer.memory m
     where %s and %s and (%s) and m.metadata ? $6
     group by 1
     order by 2 desc, 1
    $sql$,
    memlayer.scope_predicate('m', p_user_id, p_agent_id, p_run_id),
    memlayer.visible_predicate(p_show_expired, null),
    memlayer.filter_predicate(p_filters))
    using p_tenant, p_user_id, p_agent_id, p_run_id, memlayer.today(), p_key;
end;
$$;

comment on function memlayer.metadata_values is
  'The values that a key of metadata has in a scope, each as a whole, with the number of memories that have it: the most frequent first, then in the order of jsonb.';
