create or replace function memlayer.ann_index(
  p_tenant text,
  p_model  bigint
)
  returns regclass
  language plpgsql
  stable
  set search_path from current
as $$
begin
  return (
    select i.indexrelid::regclass
      from pg_catalog.pg_index i
      join pg_catalog.pg_class c on c.oid = i.indexrelid
     where i.indrelid = 'memlayer.memory'::regclass
       and i.indisvalid
       and c.relname = 'memory_ann_' || p_model
       and exists (select from memlayer.model d where d.tenant = p_tenant and d.id = p_model)
  );
end;
$$;

comment on function memlayer.ann_index is
  'The approximate nearest neighbour index over the vectors of a model, where one was made (memlayer.create_ann_index).';
