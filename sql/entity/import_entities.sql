create or replace function memlayer.import_entities(
  p_tenant     text,
  p_memories   jsonb,
  p_new        uuid[],
  p_entities   jsonb,
  p_embeddings halfvec[],
  p_model      bigint,
  out added    int,
  out folded   text[]
)
  language plpgsql
  volatile
  set search_path from current
  -- A plan made while the table is empty would go through all entities of the tenant for each.
  set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
begin
  folded := array(select memlayer.fold(e.value ->> 'name') from jsonb_array_elements(p_entities) with ordinality e order by e.ordinality);

  -- By name alone, not by vectors that are alike: what was apart stays apart.
  with wanted as (
    select distinct on (m.user_id, m.agent_id, m.run_id, f.folded_name)
           m.user_id, m.agent_id, m.run_id, f.folded_name, p.place::int as place
      from jsonb_to_recordset(p_memories) m (id uuid, user_id text, agent_id text, run_id text, entities jsonb)
     cross join lateral jsonb_array_elements_text(case jsonb_typeof(m.entities) when 'array' then m.entities else '[]' end) p (place)
     cross join lateral (select folded[p.place::int] as folded_name) f
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
  get diagnostics added = row_count;
end;
$$;

comment on function memlayer.import_entities is
  'Makes the entities that new memories name and that are not there, each in the exact scope of its memory and by its folded name: how many it made, and the folded names by place. Called by memlayer.import_memories, which holds the session locks.';
