create or replace function memlayer.past_names()
  returns text
  language sql
  immutable
  parallel safe
return $sql$recalled as materialized (
  -- Whom a memory named before it changed or went stands in the next change that kept it.
  select p.id as memory_id, p.user_id, p.agent_id, p.run_id, x.old_mentions
    from past p
   cross join lateral (
     select h.old_mentions
       from memlayer.history h
      where h.tenant = $1 and h.memory_id = p.id and h.version > p.version and h.old_mentions is not null
      order by h.version
      limit 1) x
   where not exists (select from memlayer.memory m where m.tenant = $1 and m.id = p.id and m.version = p.version)
),
past_mention as materialized (
  select n.memory_id, e.id as entity_id, e.folded_name
    from past p
    join memlayer.mention n on n.tenant = $1 and n.memory_id = p.id
    join memlayer.entity e on e.tenant = $1 and e.id = n.entity_id
   where p.id not in (select r.memory_id from recalled r)
     and e.created_at <= $21
  union all
  select r.memory_id, e.id, f.folded_name
    from recalled r
   cross join lateral jsonb_array_elements(r.old_mentions) o
   cross join lateral (select memlayer.fold(o.value ->> 'name') as folded_name offset 0) f
    left join memlayer.entity e
      on e.tenant = $1
     and coalesce(e.user_id, '') = coalesce(r.user_id, '')
     and coalesce(e.agent_id, '') = coalesce(r.agent_id, '')
     and coalesce(e.run_id, '') = coalesce(r.run_id, '')
     and e.folded_name = f.folded_name
),
past_entity as materialized (
  -- One that nobody names any more has lost its id and vector, not its name.
  select distinct on (n.folded_name, n.entity_id) n.entity_id as id, n.folded_name, e.embedding, e.embedding_model
    from past_mention n
    left join memlayer.entity e on e.tenant = $1 and e.id = n.entity_id
)$sql$;

comment on function memlayer.past_names is
  'Whom the memories of the CTE past named then: CTEs past_mention (memory_id, entity_id, folded_name) and past_entity (id, folded_name, embedding, embedding_model).';
