create or replace function memlayer.reembed_cancel(p_tenant text default 'default')
  returns table (dropped bigint)
  language plpgsql
  volatile
  security definer
  set search_path from current
as $$
#variable_conflict use_column
declare
  v_active  memlayer.model;
  v_dropped bigint := 0;
begin
  perform memlayer.require_tenant(p_tenant);
  select * into v_active from memlayer.model d where d.tenant = p_tenant and d.state = 'active' for no key update;
  if v_active.replaced_by is null then
    raise exception using
      errcode = 'ML004',
      message = format('tenant %s is not being re-embedded', p_tenant),
      hint    = 'Start with memlayer reembed.';
  end if;
  update memlayer.model d set state = 'retired' where d.tenant = p_tenant and d.id = v_active.replaced_by;
  update memlayer.model d set replaced_by = null, closing = null where d.tenant = p_tenant and d.id = v_active.id;
  delete from memlayer.other_vector o where o.tenant = p_tenant and o.model = v_active.replaced_by;
  get diagnostics v_dropped = row_count;
  return query select v_dropped;
end;
$$;

comment on function memlayer.reembed_cancel is
  'Gives up a re-embedding before its cut-over: the vectors of the next model are dropped. How many there were.';
