create or replace function memlayer.day_read(
  p_as_of          timestamptz,
  p_reference_date date
)
  returns date
  language plpgsql
  stable
  set search_path from current
as $$
begin
  if p_as_of is not null and p_reference_date is not null then
    raise exception using
      errcode = 'ML003',
      message = 'as_of and reference_date exclude each other',
      hint    = 'as_of reads the memories as they stood at a moment, reference_date those of now by the day they were stored.';
  end if;
  return coalesce(p_reference_date, (least(p_as_of, memlayer.now()) at time zone 'UTC')::date);
end;
$$;

comment on function memlayer.day_read is
  'The day by which a reader judges what has expired: that of the moment it looks back to, today, or the reference date.';
