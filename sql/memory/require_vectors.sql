create or replace function memlayer.require_vectors(p_embeddings halfvec[])
  returns void
  language plpgsql
  immutable
  parallel safe
  set search_path from current
as $$
begin
  if array_ndims(p_embeddings) > 1 or array_lower(p_embeddings, 1) <> 1 then
    raise exception using
      errcode = 'ML005',
      message = 'the vectors are not an array of one dimension from 1 up',
      hint    = 'Write it as array[''[1,2]'', ''[3,4]'']::halfvec[].';
  end if;
end;
$$;

comment on function memlayer.require_vectors is 'Refuses arrays whose vectors would not be found by position (ML005).';
