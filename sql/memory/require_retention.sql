create or replace function memlayer.require_retention(
  p_keep  interval,
  p_batch int
)
  returns void
  language plpgsql
  immutable
  parallel safe
  set search_path from current
as $$
begin
  if p_keep is null or p_keep < interval '0' or p_batch < 1 then
    raise exception using
      errcode = 'ML003',
      message = 'how long something is kept is a span of time, and a batch has at least one row',
      hint    = 'For example ''90 days'', and 1000.';
  end if;
end;
$$;

comment on function memlayer.require_retention is
  'Refuses a span of time that is null or negative, and an empty batch (ML003).';
