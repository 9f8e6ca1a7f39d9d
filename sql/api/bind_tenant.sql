create or replace function memlayer.bind_tenant(
  p_tenant text default 'default',
  p_role   text default null
)
  returns boolean
  language plpgsql
  volatile
  security definer
  set search_path from current
as $$
begin
  perform memlayer.require_tenant(p_tenant);
  -- Checks the name of the tenant as every call does.
  perform memlayer.require_ids(p_tenant, 'anybody', null, null);
  if not exists (select from pg_roles where rolname = p_role) then
    raise exception using
      errcode = '42704',
      message = format('there is no role %s', coalesce(p_role, 'null')),
      hint    = 'Make it first: create role … login.';
  end if;
  insert into memlayer.tenant_role (role, tenant) values (p_role, p_tenant)
  on conflict do nothing;
  return found;
end;
$$;

comment on function memlayer.bind_tenant is
  'Lets a login use a tenant; whether it could not before. From its first tenant on it has no other than those it is bound to, ''default'' neither.';
