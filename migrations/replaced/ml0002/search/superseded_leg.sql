create or replace function memlayer.superseded_leg(p_where text)
  returns text
  language sql
  immutable
  parallel safe
return format($sql$newer as materialized (
  -- What the scope holds that updates or contradicts a memory found.
  select s.id, n.id as newer_id, n.created_at
    from summed s
   cross join lateral (
     select m.id, m.created_at
       from memlayer.link l
      cross join lateral (
        select m.id, m.created_at from memlayer.memory m where m.id = l.memory_id and %1$s offset 0) m
      where l.tenant = $1 and l.linked_id = s.id and l.kind <> 'related'
     offset 0) n
   where $23
),
above as (
  select n.id, n.newer_id from newer n
  union
  select a.id, n.newer_id from above a join newer n on n.id = a.newer_id
),
superseded as materialized (
  -- Below whatever replaced it, however near to the query it is: a hair below the lowest of those found, for each of them.
  select n.id,
         (array_agg(n.newer_id order by n.created_at desc, n.newer_id))[1] as superseded_by,
         case when $24 then (select min(s.total) - 0.001 * count(*) from above a join summed s on s.id = a.newer_id where a.id = n.id) end as ceiling
    from newer n
   group by n.id
)$sql$, p_where);

comment on function memlayer.superseded_leg is
  'Which memories found were replaced or contradicted by a newer one of the scope: the CTE superseded (id, superseded_by, ceiling).';
