create or replace function memlayer.require_top_k(p_top_k int)
  returns void
  language plpgsql
  immutable
  parallel safe
  set search_path from current
as $$
begin
  if p_top_k is null or p_top_k < 0 then
    raise exception using
      errcode = 'ML003',
      message = format('top_k %s is not a number of rows', coalesce(p_top_k::text, 'null')),
      hint    = 'Pass 0 or more.';
  end if;
end;
$$;

comment on function memlayer.require_top_k is 'Refuses a negative or missing number of rows (ML003).';
