create or replace function memlayer.import_memories(
  p_tenant            text      default 'default',
  p_memories          jsonb     default '[]',
  p_embeddings        halfvec[] default null,
  p_model             text      default null,
  p_entities          jsonb     default '[]',
  p_entity_embeddings halfvec[] default null,
  p_dry_run           boolean   default false,
  p_actor             text      default null,
  p_usage             jsonb     default '{}'
)
  returns table (place int, id uuid, outcome text)
  language plpgsql
  volatile
  security definer
  set search_path from current
  -- Plans are made once, those of triggers too, and not for megabytes of input in hand. But tables that are
  -- being filled outgrow them: one that reads a whole table because it is small would do so for every row.
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set jit = off
as $$
#variable_conflict use_column
declare
  v_change   uuid := gen_random_uuid();
  v_model    memlayer.model;
  v_new      uuid[] := '{}';
  v_folded   text[];
  v_entities int := 0;
begin
  perform memlayer.require_tenant(p_tenant);
  perform memlayer.require_import(p_memories, p_entities);
  perform memlayer.require_vectors(p_embeddings), memlayer.require_vectors(p_entity_embeddings);

  if p_dry_run then
    perform memlayer.readable_model(p_tenant, p_model, v.embedding)
       from (select distinct on (vector_dims(u)) u from unnest(p_embeddings || p_entity_embeddings) u where u is not null) v (embedding);
  else
    perform set_config('memlayer.change_id', v_change::text, true), set_config('memlayer.recorded', 'INSERT', true);

    perform memlayer.lock_sessions(p_tenant, array_agg(g.user_id), array_agg(g.agent_id), array_agg(g.run_id))
       from jsonb_to_recordset(p_memories) g (user_id text, agent_id text, run_id text)
     having count(*) > 0;

    v_model := memlayer.model_of_vectors(p_tenant, p_model, p_embeddings || p_entity_embeddings);

    with added as (
      insert into memlayer.memory
        (tenant, id, user_id, agent_id, run_id, text, context, embedding, embedding_model, metadata, memory_type,
         role, actor_id, attributed_to, expires_on, observed_at, created_at)
      select p_tenant, g.id, g.user_id, g.agent_id, g.run_id, g.text, g.context,
             g.embedding, case when g.embedding is not null then v_model.id end,
             coalesce(g.metadata, '{}'), g.memory_type, g.role, g.actor_id, g.attributed_to, g.expires_on,
             coalesce(g.observed_at, g.created_at, memlayer.now()),
             -- A microsecond apart, as in memlayer.add.
             coalesce(g.created_at, memlayer.now() + (g.place - 1) * interval '1 microsecond')
        from rows from (
               jsonb_to_recordset(p_memories) as (
                 id uuid, user_id text, agent_id text, run_id text, text text, context text, metadata jsonb, memory_type text,
                 role text, actor_id text, attributed_to text, expires_on date, observed_at timestamptz, created_at timestamptz),
               unnest(p_embeddings)
             ) with ordinality as g (id, user_id, agent_id, run_id, text, context, metadata, memory_type,
                                     role, actor_id, attributed_to, expires_on, observed_at, created_at, embedding, place)
       -- What stands there already costs no trigger. offset: each is looked up, and not joined with all there are.
       where not exists (select from memlayer.memory m where m.tenant = p_tenant and m.id = g.id offset 0)
      on conflict do nothing
      returning memory.id, version, user_id, agent_id, run_id, text, context, metadata, memory_type, role, actor_id,
                attributed_to, expires_on, observed_at, created_at, updated_at, embedding_model
    ),
    recorded as (
      insert into memlayer.history (tenant, memory_id, version, event, new_state, user_id, agent_id, run_id, change_id)
      select p_tenant, a.id, a.version, 'ADD',
             memlayer.memory_state(
               a.text, a.context, a.metadata, a.memory_type, a.role, a.actor_id, a.attributed_to,
               a.expires_on, a.observed_at, a.created_at, a.updated_at, a.embedding_model),
             a.user_id, a.agent_id, a.run_id, v_change
        from added a
    )
    select coalesce(array_agg(a.id), '{}') into v_new from added a;

    if jsonb_array_length(p_entities) > 0 and cardinality(v_new) > 0 then
      -- A statement of its own, as in memlayer.store_entities: the mentions see what a concurrent writer stored.
      select n.added, n.folded into v_entities, v_folded
        from memlayer.import_entities(p_tenant, p_memories, v_new, p_entities, p_entity_embeddings, v_model.id) n;

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
       where m.id = any (v_new)
       order by m.id, e.id;
    end if;

    if v_model.sample < 64 then
      perform memlayer.calibrate(p_tenant, v_model.id);
    end if;

    if cardinality(v_new) > 0 then
      insert into memlayer.change
        (tenant, id, operation, actor, added, skipped, entities, embedding_model, embedding_tokens)
      values
        (p_tenant, v_change, 'import', p_actor, cardinality(v_new), jsonb_array_length(p_memories) - cardinality(v_new),
         v_entities, v_model.id, (p_usage ->> 'embedding_tokens')::bigint);
    end if;
    perform set_config('memlayer.change_id', '', true), set_config('memlayer.recorded', '', true);
  end if;

  -- A statement of its own, which sees what a concurrent writer stored.
  return query
    select g.ordinality::int, g.id,
           case
             when g.id = any (v_new) then 'added'
             when m.id is not null then
               case when (m.text, m.user_id, m.agent_id, m.run_id) is distinct from (g.text, g.user_id, g.agent_id, g.run_id)
                    then 'conflict' else 'known' end
             when not p_dry_run then 'duplicate'
             when g.role is null and g.memory_type is distinct from 'procedural_memory'
                  and exists (
                    select from memlayer.memory d
                     where d.tenant = p_tenant
                       and coalesce(d.user_id, '')  = coalesce(g.user_id, '')
                       and coalesce(d.agent_id, '') = coalesce(g.agent_id, '')
                       and coalesce(d.run_id, '')   = coalesce(g.run_id, '')
                       and d.dedup_key = md5(g.text)
                    offset 0)
             then 'duplicate'
             else 'added'
           end
      from rows from (
             jsonb_to_recordset(p_memories) as (
               id uuid, user_id text, agent_id text, run_id text, text text, memory_type text, role text)
           ) with ordinality as g (id, user_id, agent_id, run_id, text, memory_type, role, ordinality)
      left join lateral (
        select m.id, m.text, m.user_id, m.agent_id, m.run_id
          from memlayer.memory m
         where m.tenant = p_tenant and m.id = g.id
        offset 0) m on true
     order by g.ordinality;
end;
$$;

comment on function memlayer.import_memories is
  'Stores ready memories of any scopes, with their entities and mentions, in one transaction. One row a memory: added; known (its id stands with the same text and scope), duplicate (its scope has the fact) or conflict (its id stands with another text or scope): those are left as they are. p_memories: objects with id, text, at least one of user_id, agent_id and run_id, and perhaps context, metadata, memory_type, role, actor_id, attributed_to, expires_on, observed_at, created_at and entities (1-based places in p_entities: objects with name and type). Vectors stand in p_embeddings and p_entity_embeddings by position. With p_dry_run nothing is written.';
