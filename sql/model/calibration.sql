create or replace function memlayer.calibration(
  p_tenant text,
  p_model  bigint
)
  returns float8
  language plpgsql
  stable
  parallel safe
  set search_path from current
as $$
begin
  return coalesce((select d.calibration from memlayer.model d where d.tenant = p_tenant and d.id = p_model), 0);
end;
$$;

comment on function memlayer.calibration is
  'The usual cosine similarity of two unrelated texts under a model; 0 until it has been estimated.';
