create or replace function memlayer.is_administrator()
  returns boolean
  language sql
  stable
  parallel safe
-- session_user is who logged in; current_user is the owner, in the functions that ask.
return pg_has_role(session_user, current_user, 'usage')
       or coalesce(pg_has_role(session_user, to_regrole('memlayer_admin'), 'usage'), false);

comment on function memlayer.is_administrator is
  'Within a function that runs with the rights of the owner: whether the login is the owner, a superuser or a member of memlayer_admin.';
