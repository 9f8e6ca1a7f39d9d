create or replace function memlayer.import_entities(
  p_tenant     text,
  p_memories   jsonb,
  p_new        uuid[],
  p_entities   jsonb,
  p_embeddings halfvec[],
  p_model      bigint
)
  returns int
  language plpgsql
  volatile
  set search_path from current
as $$
#variable_conflict use_column
declare
  v_folded text[];
  v_added  int;
begin
  v_folded := array(select memlayer.fold(e.value ->> 'name') from jsonb_array_elements(p_entities) with ordinality e order by e.ordinality);

  -- Two statements, as in memlayer.store_entities; by name alone, so that what was apart stays apart.
  with wanted as (
    select distinct on (m.user_id, m.agent_id, m.run_id, f.folded_name)
           m.user_id, m.agent_id, m.run_id, f.folded_name, p.place::int as place
      from jsonb_to_recordset(p_memories) m (id uuid, user_id text, agent_id text, run_id text, entities jsonb)
     cross join lateral jsonb_array_elements_text(case jsonb_typeof(m.entities) when 'array' then m.entities else '[]' end) p (place)
     cross join lateral (select v_folded[p.place::int] as folded_name) f
     where m.id = any (p_new)
       and f.folded_name is not null
       and not exists (
         select from memlayer.entity e
          where e.tenant = p_tenant
            and coalesce(e.user_id, '')  = coalesce(m.user_id, '')
            and coalesce(e.agent_id, '') = coalesce(m.agent_id, '')
            and coalesce(e.run_id, '')   = coalesce(m.run_id, '')
            and e.folded_name = f.folded_name
         offset 0)
     order by m.user_id, m.agent_id, m.run_id, f.folded_name, p.place::int
  )
  insert into memlayer.entity (tenant, user_id, agent_id, run_id, name, type, embedding, embedding_model)
  select p_tenant, w.user_id, w.agent_id, w.run_id, e.entity ->> 'name', e.entity ->> 'type',
         e.embedding, case when e.embedding is not null then p_model end
    from wanted w
   cross join lateral (
     select p_entities -> (w.place - 1) as entity,
            case when l2_norm(v.embedding) > 0 then v.embedding end as embedding
       from (select p_embeddings[w.place] offset 0) v (embedding)
     offset 0) e
   order by w.user_id, w.agent_id, w.run_id, w.folded_name
  on conflict do nothing;
  get diagnostics v_added = row_count;

  insert into memlayer.mention (tenant, memory_id, entity_id)
  select distinct p_tenant, m.id, e.id
    from jsonb_to_recordset(p_memories) m (id uuid, user_id text, agent_id text, run_id text, entities jsonb)
   cross join lateral jsonb_array_elements_text(case jsonb_typeof(m.entities) when 'array' then m.entities else '[]' end) p (place)
   cross join lateral (
     -- limit: first which name, then its entity, not all entities of the scope.
     select e.id
       from memlayer.entity e
      where e.tenant = p_tenant
        and coalesce(e.user_id, '')  = coalesce(m.user_id, '')
        and coalesce(e.agent_id, '') = coalesce(m.agent_id, '')
        and coalesce(e.run_id, '')   = coalesce(m.run_id, '')
        and e.folded_name = v_folded[p.place::int]
      limit 1) e
   where m.id = any (p_new)
   order by m.id, e.id;
  return v_added;
end;
$$;

comment on function memlayer.import_entities is
  'Finds or makes the entities that new memories name, each in the exact scope of its memory and by its folded name, and notes the mentions; how many entities were made. Called by memlayer.import_memories, which holds the session locks.';
