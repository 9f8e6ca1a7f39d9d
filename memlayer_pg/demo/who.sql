-- Who and what is spoken of, how often, and when first and last.
select e.name,
       count(*)                  as memories,
       min(m.observed_at)::date  as first,
       max(m.observed_at)::date  as last
  from memlayer.entity e
  join memlayer.mention n on n.tenant = e.tenant and n.entity_id = e.id
  join memlayer.memory  m on m.tenant = n.tenant and m.id = n.memory_id
 where e.tenant = 'demo' and e.user_id = 'mei'
 group by e.name
 order by memories desc, first, e.name
 limit 6;
