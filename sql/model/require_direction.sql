create or replace function memlayer.require_direction(p_embedding halfvec)
  returns void
  language plpgsql
  immutable
  parallel safe
  set search_path from current
as $$
begin
  if l2_norm(p_embedding) = 0 then
    raise exception using
      errcode = 'ML004',
      message = 'a vector of zeros has no direction, so it is like nothing',
      hint    = 'Look at what the embedder gives for this text; numbers below 0.00000003 are zero in half precision.';
  end if;
end;
$$;

comment on function memlayer.require_direction is
  'Refuses a vector of zeros (ML004): its cosine similarity to anything is not a number.';
