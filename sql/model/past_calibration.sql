create or replace function memlayer.past_calibration(
  p_tenant text,
  p_model  bigint,
  p_at     timestamptz
)
  returns float8
  language plpgsql
  stable
  parallel safe
  set search_path from current
as $$
begin
  return coalesce((
    select (c.value ->> 'calibration')::real
      from memlayer.model d
     cross join jsonb_array_elements(d.calibrations) with ordinality c
     where d.tenant = p_tenant and d.id = p_model and (c.value ->> 'at')::timestamptz <= p_at
     order by c.ordinality desc
     limit 1), 0);
end;
$$;

comment on function memlayer.past_calibration is
  'What memlayer.calibration was at a moment.';
