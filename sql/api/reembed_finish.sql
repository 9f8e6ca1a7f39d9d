create or replace function memlayer.reembed_finish(p_tenant text default 'default')
  returns table (model text, dimensions int, dropped bigint, model_id bigint)
  language plpgsql
  volatile
  security definer
  set search_path from current
as $$
#variable_conflict use_column
declare
  v_active  memlayer.model;
  v_dropped bigint;
begin
  perform memlayer.require_tenant(p_tenant);
  select * into v_active from memlayer.model d where d.tenant = p_tenant and d.state = 'active' for no key update;
  if v_active.replaced_by is not null then
    raise exception using
      errcode = 'ML004',
      message = format('the memories of tenant %s are still being re-embedded', p_tenant),
      hint    = 'Run memlayer reembed to the end, or give it up with --rollback.';
  end if;
  delete from memlayer.other_vector o where o.tenant = p_tenant;
  get diagnostics v_dropped = row_count;
  update memlayer.model d set replaces = null where d.tenant = p_tenant and d.id = v_active.id;
  return query
    select d.name, d.dimensions, v_dropped, d.id
      from memlayer.model d
     where d.tenant = p_tenant and d.id = v_active.replaces;
end;
$$;

comment on function memlayer.reembed_finish is
  'Drops the vectors that were kept to go back to the model before: the row says of which, and how many; none when there were none. Those in the history stay as long as it.';
