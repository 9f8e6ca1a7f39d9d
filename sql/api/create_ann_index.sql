create or replace function memlayer.create_ann_index(p_tenant text default 'default')
  returns regclass
  language plpgsql
  volatile
  set search_path from current
as $$
begin
  execute memlayer.ann_index_statement(p_tenant);
  perform memlayer.refresh_statistics(p_tenant);
  return memlayer.ann_index(p_tenant, (select d.id from memlayer.model d where d.tenant = p_tenant and d.state = 'active'));
end;
$$;

comment on function memlayer.create_ann_index is
  'Makes the vector index for scopes too large to be read in full, and counts their statistics. Writers wait until it is done; memlayer db ann-index makes it beside them.';
