create or replace function memlayer.drop_orphans(
  p_tenant   text,
  p_entities uuid[]
)
  returns void
  language plpgsql
  volatile
  set search_path from current
as $$
#variable_conflict use_column
begin
  delete from memlayer.entity e
   where e.tenant = p_tenant
     and e.id = any (p_entities)
     and not exists (select from memlayer.mention n where n.tenant = p_tenant and n.entity_id = e.id);
end;
$$;

comment on function memlayer.drop_orphans is
  'Deletes those of the entities that no memory names any more. The caller holds the session lock of their scope.';
