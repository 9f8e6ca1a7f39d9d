create or replace function memlayer.links_of(
  p_tenant text,
  p_id     uuid
)
  returns jsonb
  language plpgsql
  stable
  set search_path from current
  set plan_cache_mode = force_generic_plan
as $$
begin
  return (
    select jsonb_agg(jsonb_build_object(
             'memory_id', l.memory_id, 'linked_id', l.linked_id, 'kind', l.kind, 'created_at', l.created_at at time zone 'UTC'))
      from (select * from memlayer.link l where l.tenant = p_tenant and l.memory_id = p_id
            union all
            select * from memlayer.link l where l.tenant = p_tenant and l.linked_id = p_id) l);
end;
$$;

comment on function memlayer.links_of is
  'The references from and to a memory, as history keeps them when it is deleted; null without any.';
