create or replace function memlayer.create_ann_index(p_tenant text default 'default')
  returns regclass
  language plpgsql
  volatile
  set search_path from current
as $$
declare
  v_statement text   := memlayer.ann_index_statement(p_tenant);
  v_model     bigint := (select d.id from memlayer.model d where d.tenant = p_tenant and d.state = 'active');
begin
  -- What an interrupted build beside writers left has the name already, and serves nobody.
  if memlayer.ann_index(p_tenant, v_model) is null then
    execute format('drop index if exists memlayer.%I', 'memory_ann_' || v_model);
  end if;
  execute v_statement;
  perform memlayer.refresh_statistics(p_tenant);
  return memlayer.ann_index(p_tenant, v_model);
end;
$$;

comment on function memlayer.create_ann_index is
  'Makes the vector index for scopes too large to be read in full, and counts their statistics. Writers wait until it is done; memlayer db ann-index makes it beside them.';
