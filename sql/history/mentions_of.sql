create or replace function memlayer.mentions_of(
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
  return coalesce((
    select jsonb_agg(jsonb_build_object('name', e.name, 'type', e.type) order by e.folded_name)
      from memlayer.mention n
      join memlayer.entity e on e.tenant = n.tenant and e.id = n.entity_id
     where n.tenant = p_tenant and n.memory_id = p_id), '[]');
end;
$$;

comment on function memlayer.mentions_of is
  'Whom and what a memory names, as history keeps it. Names and types, no vectors: these an embedder can give again, and they would double what a deletion writes.';
