create or replace function memlayer.login_tenants()
  returns text[]
  language plpgsql
  stable
  parallel safe
  security definer
  set search_path from current
as $$
begin
  return coalesce((select array_agg(r.tenant order by r.tenant) from memlayer.tenant_role r where r.role = session_user), '{default}');
end;
$$;

comment on function memlayer.login_tenants is
  'The tenants whose rows a login sees and writes in the tables: those it is bound to, else ''default''. Row-level security asks it once a statement; it does not hold for the owner, superusers and memlayer_admin.';
