create or replace function memlayer.reembed_close(p_tenant text default 'default')
  returns table (is_ready boolean)
  language plpgsql
  volatile
  security definer
  set search_path from current
as $$
#variable_conflict use_column
declare
  v_closing xid8;
begin
  perform memlayer.require_tenant(p_tenant);
  select d.closing into v_closing from memlayer.model d where d.tenant = p_tenant and d.state = 'active' and d.replaced_by is not null;
  if not found then
    raise exception using
      errcode = 'ML004',
      message = format('tenant %s is not being re-embedded', p_tenant),
      hint    = 'It was given up or cut over meanwhile: run memlayer reembed again.';
  end if;
  if v_closing is null then
    update memlayer.model d set closing = pg_current_xact_id() where d.tenant = p_tenant and d.state = 'active';
    return query select false;
  elsif pg_snapshot_xmin(pg_current_snapshot()) <= v_closing then
    return query select false;
  else
    perform memlayer.hold_model(p_tenant, p_exclusively => true);
    return query select true;
  end if;
end;
$$;

comment on function memlayer.reembed_close is
  'Makes who stores vectors of a tenant wait until this transaction, which is to fill what is left and call memlayer.reembed_cut_over, ends. False while a transaction is open that may not know of the re-embedding: then nobody waits, and it is called again in another transaction.';
