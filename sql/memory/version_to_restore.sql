create or replace function memlayer.version_to_restore(
  p_tenant  text,
  p_id      uuid,
  p_version int,
  p_as_of   timestamptz
)
  returns int
  language plpgsql
  stable
  set search_path from current
as $$
declare
  v_first   memlayer.history;
  v_last    memlayer.history;
  v_version int := p_version;
  v_wanted  memlayer.history;
begin
  select * into v_first from memlayer.history h where h.tenant = p_tenant and h.memory_id = p_id order by h.version limit 1;
  select * into v_last from memlayer.history h where h.tenant = p_tenant and h.memory_id = p_id order by h.version desc limit 1;

  if p_version is not null and p_as_of is not null or p_version is null and p_as_of is null and v_last.event <> 'DELETE' then
    raise exception using
      errcode = 'ML003',
      message = 'a memory is restored to a version or to a moment',
      hint    = 'Name one of the two. Only a memory that was deleted needs neither.';
  end if;

  if p_as_of is not null then
    select max(h.version) into v_version
      from memlayer.history h
     where h.tenant = p_tenant and h.memory_id = p_id and h.recorded_at <= p_as_of;
  elsif p_version is null then
    v_version := v_last.version - 1;
  end if;

  if (v_first.event, v_first.version) <> ('ADD', 1) and (v_version is null or v_version between 1 and v_first.version - 1)
  then
    raise exception using
      errcode = 'ML009',
      message = format('the history of memory %s begins with version %s of %s', p_id, v_first.version, v_first.recorded_at),
      hint    = 'Older versions were folded into that one; memlayer.history shows what is left.';
  end if;

  select * into v_wanted
    from memlayer.history h where h.tenant = p_tenant and h.memory_id = p_id and h.version = v_version;
  if v_wanted.new_state is null then
    raise exception using
      errcode = 'ML002',
      message = case when p_as_of is not null then format('memory %s did not stand at %s', p_id, p_as_of)
                     when found then format('memory %s was deleted with version %s', p_id, v_version)
                     else format('memory %s has no version %s', p_id, v_version) end,
      hint    = 'memlayer.history tells which versions there are, and when.';
  end if;
  return v_version;
end;
$$;

comment on function memlayer.version_to_restore is
  'The version that is meant by a number or by a moment; of a deleted memory, by neither, the last one. ML003 when it is not clear, ML002 when there was no such version or moment, ML009 when history does not reach back to it.';
