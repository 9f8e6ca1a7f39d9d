create or replace function memlayer.active_model(
  p_tenant     text,
  p_name       text,
  p_dimensions int
)
  returns bigint
  language plpgsql
  volatile
  set search_path from current
as $$
declare
  v_active memlayer.model;
begin
  select * into v_active from memlayer.model where tenant = p_tenant and state = 'active';
  if not found then
    if p_name is null then
      raise exception using
        errcode = 'ML004',
        message = format('tenant %s has no embedding model yet', p_tenant),
        hint    = 'Name the model of the vectors in p_model.';
    end if;
    if p_dimensions > 4000 then
      raise exception using
        errcode = 'ML004',
        message = format('vectors of %s dimensions are too long, 4,000 are the most', p_dimensions),
        hint    = 'Ask the embedder for fewer dimensions.';
    end if;
    -- "do nothing" waits for a concurrent first use; the row is then read in a statement of its own.
    insert into memlayer.model (tenant, name, dimensions) values (p_tenant, p_name, p_dimensions)
    on conflict do nothing;
    select * into v_active from memlayer.model where tenant = p_tenant and state = 'active';
  end if;
  perform memlayer.require_model(p_tenant, v_active.name, v_active.dimensions, p_name, p_dimensions);
  return v_active.id;
end;
$$;

comment on function memlayer.active_model is
  'The number of the tenant''s active embedding model, registering the first one used; refuses another name or size (ML004).';
