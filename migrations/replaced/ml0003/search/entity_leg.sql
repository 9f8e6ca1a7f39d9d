create or replace function memlayer.entity_leg(
  p_scope   text,
  p_fusion  text,
  p_is_long boolean,
  p_is_past boolean default false
)
  returns text
  language sql
  immutable
  parallel safe
return format($sql$%5$sseen as materialized (
  -- Names of the scope that stand in the query are known by sight.
  select e.id, e.folded_name, 1.0 as similarity
    from %6$s e
   where %1$s and %3$s
),
likeness as materialized (
  -- The others by their vectors: reading those of a whole scope costs as much as its memories.
  select s.id, s.folded_name, s.similarity from seen s
  union all
  select n.id, n.folded_name, n.similarity
    from unnest($15, $26) q (embedding, name)
   cross join lateral (
     select e.id, e.folded_name, %2$s as similarity
       from %6$s e
      where %1$s and e.embedding_model = $7
      order by e.embedding <=> q.embedding, e.id
      limit 500) n
   where q.embedding is not null
     and %4$s
     and n.similarity >= 0.5
),
mentioned as materialized (
  -- "offset 0": entity by entity through the index, however many of them the planner expects.
  select l.folded_name, l.similarity, n.memory_id
    from likeness l
   %7$s
),
spread as materialized (
  -- One name may stand in several exact scopes below the searched one.
  select m.folded_name, count(distinct m.memory_id) as memories from mentioned m group by m.folded_name
),
entity as materialized (
  select m.memory_id as id, max(memlayer.entity_boost(m.similarity, p.memories)) as boost
    from mentioned m
    join spread p using (folded_name)
   group by m.memory_id
)$sql$, p_scope,
  case p_fusion when 'additive' then '1 - (e.embedding <=> q.embedding)' else '(1 - (e.embedding <=> q.embedding) - $16) / (1 - $16)' end,
  -- A long text has too many runs of words to look up; then every name of the scope is held against it.
  case when p_is_long then 'memlayer.stands_in($20, e.folded_name)' else 'e.folded_name = any ($14)' end,
  case p_fusion when 'additive' then 'true' else 'not exists (select from seen s where s.folded_name = memlayer.fold(q.name))' end,
  case when p_is_past then memlayer.past_names() || E',\n' end,
  case when p_is_past then 'past_entity' else 'memlayer.entity' end,
  case when p_is_past then 'join past_mention n on n.folded_name = l.folded_name and n.entity_id is not distinct from l.id'
       else 'cross join lateral (
     select n.memory_id from memlayer.mention n where n.tenant = $1 and n.entity_id = l.id offset 0) n' end);

comment on function memlayer.entity_leg is
  'The entity leg of a search: CTEs that end in entity (id, boost). p_is_past: of the names in the CTE past (memlayer.past_names), which are the scope''s already.';
