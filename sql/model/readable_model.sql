create or replace function memlayer.readable_model(
  p_tenant    text,
  p_name      text,
  p_embedding halfvec
)
  returns bigint
  language plpgsql
  stable
  set search_path from current
as $$
declare
  v_active memlayer.model;
begin
  if p_embedding is not null then
    perform memlayer.require_direction(p_embedding);
    select * into v_active from memlayer.model where tenant = p_tenant and state = 'active';
    if found then
      perform memlayer.require_model(p_tenant, v_active.name, v_active.dimensions, p_name, vector_dims(p_embedding));
    end if;
  end if;
  return v_active.id;
end;
$$;

comment on function memlayer.readable_model is
  'The number of the tenant''s active embedding model, if it is the one this vector is of (else ML004); null without a vector or before the first memory.';
