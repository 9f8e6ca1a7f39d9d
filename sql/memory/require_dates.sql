create or replace function memlayer.require_dates(
  p_expires_on  date,
  p_observed_at timestamptz,
  p_created_at  timestamptz
)
  returns void
  language plpgsql
  immutable
  parallel safe
  set search_path from current
as $$
begin
  -- A day less at either end: in another time zone it is another year.
  if not coalesce(p_expires_on between date '0001-01-01' and date '9999-12-31', true)
     or not p_observed_at between timestamptz '0001-01-02 00:00:00+00' and timestamptz '9999-12-30 00:00:00+00'
     or not p_created_at between timestamptz '0001-01-02 00:00:00+00' and timestamptz '9999-12-30 00:00:00+00'
  then
    raise exception using
      errcode = 'ML005',
      message = 'a date of the memory lies outside the years 1 to 9999',
      hint    = 'For a memory that never expires leave expires_on null.';
  end if;
end;
$$;

comment on function memlayer.require_dates is 'Refuses dates that programs cannot read (ML005).';
