create or replace function memlayer.require_active(
  p_tenant text,
  p_model  bigint
)
  returns void
  language plpgsql
  stable
  set search_path from current
as $$
declare
  v_named  memlayer.model;
  v_active memlayer.model;
begin
  select * into v_named from memlayer.model where tenant = p_tenant and id = p_model;
  select * into v_active from memlayer.model where tenant = p_tenant and state = 'active';
  if v_named.id is not null and v_active.id is not null and v_named.id <> v_active.id then
    perform memlayer.require_model(p_tenant, v_active.name, v_active.dimensions, v_named.name, v_named.dimensions);
  end if;
end;
$$;

comment on function memlayer.require_active is 'Refuses the number of another model than the tenant''s active one, naming both (ML004).';
