create or replace function memlayer.require_tenant(p_tenant text)
  returns void
  language plpgsql
  stable
  parallel safe
  security definer
  set search_path from current
as $$
begin
  -- Otherwise literals in our functions, which are read when they first run, would be other ones.
  if current_setting('standard_conforming_strings') <> 'on' then
    raise exception using
      errcode = '0A000',
      message = 'standard_conforming_strings is off in this session',
      hint    = 'Run: set standard_conforming_strings = on';
  end if;
  -- session_user is who logged in, which "set role" does not change. current_user is the owner here.
  if pg_has_role(session_user, current_user, 'usage')
     or pg_has_role(session_user, to_regrole('memlayer_admin'), 'usage')
  then
    return;
  end if;
  if exists (select from memlayer.tenant_role r where r.role = session_user and r.tenant = p_tenant) then
    return;
  end if;
  if p_tenant = 'default' and not exists (select from memlayer.tenant_role r where r.role = session_user) then
    return;
  end if;
  raise exception using
    errcode = 'ML007',
    message = format('login %s may not use tenant %s', session_user, coalesce(p_tenant, 'null')),
    hint    = format('An administrator can bind it: memlayer db grant %s --as app --tenant %s', session_user, coalesce(p_tenant, 'NAME'));
end;
$$;

comment on function memlayer.require_tenant is
  'Refuses a tenant that is not the login''s (ML007): a bound login has those it is bound to, another one has ''default''. The owner of the schema, superusers and members of memlayer_admin have all.';
