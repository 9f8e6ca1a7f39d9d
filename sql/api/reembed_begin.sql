create or replace function memlayer.reembed_begin(
  p_tenant     text default 'default',
  p_model      text default null,
  p_dimensions int  default null
)
  returns table (model bigint)
  language plpgsql
  volatile
  security definer
  set search_path from current
as $$
#variable_conflict use_column
declare
  v_active memlayer.model;
  v_next   bigint;
begin
  perform memlayer.require_tenant(p_tenant);
  select * into v_active from memlayer.model d where d.tenant = p_tenant and d.state = 'active' for no key update;
  if v_active.id is null then
    perform memlayer.active_model(p_tenant, null, null);
  end if;
  if (v_active.name, v_active.dimensions) = (p_model, p_dimensions) then
    raise exception using
      errcode = 'ML004',
      message = format('the memories of tenant %s are of %s (%s dimensions) already', p_tenant, p_model, p_dimensions),
      hint    = 'Name another model.';
  end if;
  -- Refuses one that may not follow.
  perform from memlayer.reembed_plan(p_tenant, p_model);
  if v_active.replaced_by is not null then
    perform memlayer.require_model(p_tenant, d.name, d.dimensions, p_model, p_dimensions)
       from memlayer.model d
      where d.tenant = p_tenant and d.id = v_active.replaced_by;
    return query select v_active.replaced_by;
    return;
  end if;
  if p_dimensions > 4000 then
    raise exception using
      errcode = 'ML004',
      message = format('vectors of %s dimensions are too long, 4,000 are the most', p_dimensions),
      hint    = 'Ask the embedder for fewer dimensions.';
  end if;

  insert into memlayer.model as d (tenant, name, dimensions, state) values (p_tenant, p_model, p_dimensions, 'next')
  on conflict on constraint model_name_key do update set state = 'next'
  returning d.id into v_next;
  update memlayer.model d set replaced_by = v_next, closing = null where d.tenant = p_tenant and d.id = v_active.id;
  return query select v_next;
end;
$$;

comment on function memlayer.reembed_begin is
  'Makes a model the next one of a tenant, or finds that it is. From now on memlayer.reembed_store takes its vectors; searches and writers stay with the active model until memlayer.reembed_cut_over.';
