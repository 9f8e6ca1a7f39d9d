create or replace function memlayer.store_entities(
  p_tenant     text,
  p_user_id    text,
  p_agent_id   text,
  p_run_id     text,
  p_entities   jsonb,
  p_embeddings halfvec[],
  p_model      bigint,
  p_wanted     int[],
  out ids      uuid[],
  out added    int
)
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  set jit = off
as $$
#variable_conflict use_column
declare
  v_names   text[];
  v_new     int[];
  v_vectors halfvec[];
  v_place   int;
  v_id      uuid;
  v_name    text;
begin
  added := 0;
  select array_agg(n.folded_name order by n.place),
         array_agg((
           select e.id
             from memlayer.entity e
            where e.tenant = p_tenant
              and coalesce(e.user_id, '') = coalesce(p_user_id, '')
              and coalesce(e.agent_id, '') = coalesce(p_agent_id, '')
              and coalesce(e.run_id, '') = coalesce(p_run_id, '')
              and e.folded_name = n.folded_name) order by n.place)
    into v_names, ids
    from (
      select e.ordinality as place, case when e.ordinality = any (p_wanted) then memlayer.fold(e.value ->> 'name') end as folded_name
        from jsonb_array_elements(p_entities) with ordinality e
      offset 0) n;

  -- What is new, each name once and in one order. A vector of zeros is like nothing, and not a number
  -- like everything.
  select array_agg(n.place order by n.place), array_agg(n.embedding order by n.place)
    into v_new, v_vectors
    from (
      select distinct on (v_names[p]) p as place, case when l2_norm(p_embeddings[p]) > 0 then p_embeddings[p] end as embedding
        from generate_subscripts(v_names, 1) p
       where v_names[p] is not null and ids[p] is null
       order by v_names[p], p) n;
  if v_new is null then
    return;
  end if;

  -- Vectors are compared only for names that are new, all of them while an entity is at hand.
  if p_model is not null then
    for v_place, v_id in
      select distinct on (n.place) n.place, e.id
        from memlayer.entity e
       cross join lateral (
         select v.place, e.embedding <=> v.embedding as distance
           from unnest(v_new, v_vectors) v (place, embedding)
         offset 0) n
       where e.tenant = p_tenant
         and coalesce(e.user_id, '') = coalesce(p_user_id, '')
         and coalesce(e.agent_id, '') = coalesce(p_agent_id, '')
         and coalesce(e.run_id, '') = coalesce(p_run_id, '')
         and e.embedding_model = p_model
         and n.distance <= 0.05
       order by n.place, n.distance, e.id
    loop
      ids[v_place] := v_id;
    end loop;
  end if;

  -- In the order of their names. The conflict is with a plain SQL statement, which took no lock.
  for v_name, v_id in
    insert into memlayer.entity as e (tenant, user_id, agent_id, run_id, name, type, embedding, embedding_model)
    select p_tenant, p_user_id, p_agent_id, p_run_id,
           p_entities -> v.place - 1 ->> 'name', p_entities -> v.place - 1 ->> 'type',
           v.embedding, case when v.embedding is not null then p_model end
      from unnest(v_new, v_vectors) v (place, embedding)
     where ids[v.place] is null
     order by v_names[v.place]
    on conflict (tenant, coalesce(user_id, ''), coalesce(agent_id, ''), coalesce(run_id, ''), folded_name)
    do update set name = e.name
    returning e.folded_name, e.id
  loop
    ids[array_position(v_names, v_name)] := v_id;
    added := added + 1;
  end loop;

  -- A name that stands twice among the entities.
  ids := array(
    select coalesce(ids[p], ids[array_position(v_names, v_names[p])]) from generate_subscripts(v_names, 1) p order by p);
end;
$$;

comment on function memlayer.store_entities is
  'Finds or makes the wanted entities (1-based places in p_entities) of one exact scope: the same folded name, or the nearest name from cosine similarity 0.95. ids has one for each place, null where it is not wanted; added counts the new ones. The caller holds the session lock.';
