create or replace function memlayer.fusion(
  p_tenant text,
  p_fusion text
)
  returns text
  language plpgsql
  stable
  parallel safe
  set search_path from current
as $$
declare
  v_fusion text := coalesce(
    p_fusion, (select s.defaults ->> 'fusion' from memlayer.setting s where s.tenant = p_tenant), 'calibrated');
begin
  if v_fusion not in ('calibrated', 'additive') then
    raise exception using
      errcode = 'ML003',
      message = format('fusion %L is not known', v_fusion),
      hint    = 'It is calibrated or additive.';
  end if;
  return v_fusion;
end;
$$;

comment on function memlayer.fusion is
  'How the legs of a search become one score: as the call says, else as the tenant''s defaults say, else calibrated.';
