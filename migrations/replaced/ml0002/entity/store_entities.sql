create or replace function memlayer.store_entities(
  p_tenant     text,
  p_user_id    text,
  p_agent_id   text,
  p_run_id     text,
  p_entities   jsonb,
  p_embeddings halfvec[],
  p_model      bigint,
  p_wanted     int[]
)
  returns table (place int, id uuid, is_new boolean)
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
begin
  -- The two steps are two statements: what a concurrent writer stored is seen only by the second.
  return query
    with named as (
      select distinct on (memlayer.fold(e.value ->> 'name'))
             e.ordinality::int as place,
             e.value ->> 'name' as name,
             memlayer.fold(e.value ->> 'name') as folded_name,
             e.value ->> 'type' as type,
             -- One of zeros is like nothing, and not a number like everything.
             case when l2_norm(p_embeddings[e.ordinality]) > 0 then p_embeddings[e.ordinality] end as embedding
        from jsonb_array_elements(p_entities) with ordinality e
       where e.ordinality = any (p_wanted)
       order by memlayer.fold(e.value ->> 'name'), e.ordinality
    ),
    known as materialized (
      select n.place, e.id
        from named n
        join memlayer.entity e
          on e.tenant = p_tenant
         and (e.user_id  = p_user_id  or (p_user_id  is null and e.user_id  is null))
         and (e.agent_id = p_agent_id or (p_agent_id is null and e.agent_id is null))
         and (e.run_id   = p_run_id   or (p_run_id   is null and e.run_id   is null))
         and e.folded_name = n.folded_name
    ),
    alike as materialized (
      -- Vectors are compared only for names that are new, each once.
      select n.place, e.id, e.distance
        from named n
       cross join lateral (
         select e.id, e.embedding <=> n.embedding as distance
           from memlayer.entity e
          where e.tenant = p_tenant
            and (e.user_id  = p_user_id  or (p_user_id  is null and e.user_id  is null))
            and (e.agent_id = p_agent_id or (p_agent_id is null and e.agent_id is null))
            and (e.run_id   = p_run_id   or (p_run_id   is null and e.run_id   is null))
            and e.embedding_model = p_model
          order by distance, e.id
          limit 1) e
       where n.embedding is not null
         and n.place not in (select k.place from known k)
    ),
    resolved as (
      select n.*, coalesce(k.id, a.id) as known_id
        from named n
        left join known k using (place)
        left join alike a on a.place = n.place and a.distance <= 0.05
    ),
    added as (
      insert into memlayer.entity (tenant, user_id, agent_id, run_id, name, type, embedding, embedding_model)
      select p_tenant, p_user_id, p_agent_id, p_run_id, r.name, r.type, r.embedding,
             case when r.embedding is not null then p_model end
        from resolved r
       where r.known_id is null
       order by r.folded_name
      on conflict (tenant, user_id, agent_id, run_id, folded_name) do nothing
      returning entity.id, entity.folded_name
    )
    select e.ordinality::int, coalesce(r.known_id, a.id), a.id is not null
      from jsonb_array_elements(p_entities) with ordinality e
      join resolved r on r.folded_name = memlayer.fold(e.value ->> 'name')
      left join added a on a.folded_name = r.folded_name
     where e.ordinality = any (p_wanted)
       and coalesce(r.known_id, a.id) is not null;
end;
$$;

comment on function memlayer.store_entities is
  'Finds or makes the wanted entities (1-based places in p_entities) of one exact scope: the same folded name, or the nearest name from cosine similarity 0.95. The caller holds the session lock.';
