create or replace function memlayer.pending(
  p_tenant     text    default 'default',
  p_after      uuid    default null,
  p_limit      int     default 100,
  p_with_total boolean default false
)
  returns table (id uuid, text text, context text, version int, total bigint)
  language plpgsql
  stable
  set search_path from current
  set plan_cache_mode = force_custom_plan
  set jit = off
as $$
#variable_conflict use_column
begin
  perform memlayer.require_top_k(p_limit);
  return query
    with page as (
      select m.id, m.text, m.context, m.version
        from memlayer.memory m
       where m.tenant = p_tenant and m.embedding is null and (p_after is null or m.id > p_after)
       order by m.id
       limit p_limit
    ),
    counted as (
      select case when p_with_total
                  then (select count(*) from memlayer.memory m where m.tenant = p_tenant and m.embedding is null) end as total
    )
    select p.id, p.text, p.context, p.version, c.total
      from counted c
      left join page p on true
     where p_with_total or p.id is not null
     order by p.id;
end;
$$;

comment on function memlayer.pending is
  'The memories that wait for a vector, expired ones too, by id; p_after takes the id of the last row of the page before. With p_with_total each row carries how many there are in all; an empty page is then one row whose id is null. memlayer.update with the same text, a vector and p_expected_version => version ends the waiting.';
