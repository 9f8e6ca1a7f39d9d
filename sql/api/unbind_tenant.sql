create or replace function memlayer.unbind_tenant(
  p_tenant text default null,
  p_role   text default null
)
  returns bigint
  language plpgsql
  volatile
  security definer
  set search_path from current
as $$
declare
  v_unbound bigint;
begin
  perform memlayer.require_tenant(p_tenant);
  delete from memlayer.tenant_role r where r.role = p_role and (p_tenant is null or r.tenant = p_tenant);
  get diagnostics v_unbound = row_count;
  return v_unbound;
end;
$$;

comment on function memlayer.unbind_tenant is
  'Takes a tenant from a login, or with null all of its tenants; how many they were. A login without any has tenant ''default'' again: revoke its membership, too, if it shall have none.';
