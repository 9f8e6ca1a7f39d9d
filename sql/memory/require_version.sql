create or replace function memlayer.require_version(
  p_id       uuid,
  p_version  int,
  p_expected int
)
  returns void
  language plpgsql
  immutable
  parallel safe
  set search_path from current
as $$
begin
  if p_expected <> p_version then
    raise exception using
      errcode = 'ML006',
      message = format('memory %s is at version %s, not %s', p_id, p_version, p_expected),
      hint    = 'Read it again and repeat the call.';
  end if;
end;
$$;

comment on function memlayer.require_version is
  'Refuses to change a memory that somebody else changed since it was read (ML006); null expects nothing.';
