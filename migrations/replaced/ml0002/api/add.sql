create or replace function memlayer.add(
  p_tenant            text        default 'default',
  p_user_id           text        default null,
  p_agent_id          text        default null,
  p_run_id            text        default null,
  p_facts             jsonb       default '[]',
  p_embeddings        halfvec[]   default null,
  p_model             text        default null,
  p_entities          jsonb       default '[]',
  p_entity_embeddings halfvec[]   default null,
  p_messages          jsonb       default '[]',
  p_metadata          jsonb       default '{}',
  p_expires_on        date        default null,
  p_observed_at       timestamptz default null,
  p_idempotency_key   text        default null,
  p_request_hash      text        default null,
  p_actor             text        default null,
  p_llm               text        default null,
  p_usage             jsonb       default '{}',
  p_operation         text        default 'add'
)
  returns table (fact int, id uuid, text text, event text, reason text)
  language plpgsql
  volatile
  set search_path from current
as $$
#variable_conflict use_column
declare
  v_change   uuid := gen_random_uuid();
  v_session  record;
  v_model    bigint;
  v_ids      uuid[];
  v_new      uuid[];
  v_revived  uuid[];
  v_result   jsonb;
  v_entities int := 0;
begin
  perform memlayer.require_scope(p_tenant, p_user_id, p_agent_id, p_run_id);
  perform memlayer.require_add(p_facts, p_entities, p_messages, p_idempotency_key, p_request_hash);
  perform memlayer.require_vectors(p_embeddings), memlayer.require_vectors(p_entity_embeddings);

  if p_idempotency_key is not null then
    -- Waits for a concurrent call with the same key, then finds what it stored.
    insert into memlayer.change (tenant, id, operation, idempotency_key, request_hash)
    values (p_tenant, v_change, p_operation, p_idempotency_key, p_request_hash)
    on conflict (tenant, idempotency_key) where idempotency_key is not null do nothing;
    if not found then
      return query select r.* from memlayer.replay(p_tenant, p_idempotency_key, p_request_hash) s (result),
                          jsonb_to_recordset(s.result) r (fact int, id uuid, text text, event text, reason text);
      return;
    end if;
  end if;

  perform set_config('memlayer.change_id', v_change::text, true);

  select * into v_session
    from memlayer.lock_session(p_tenant, p_user_id, p_agent_id, p_run_id, jsonb_array_length(p_messages));

  select max(memlayer.active_model(p_tenant, p_model, d.dimensions))
    into v_model
    from (select distinct vector_dims(v) from unnest(p_embeddings || p_entity_embeddings) v where v is not null) d (dimensions);

  -- Facts, in the order of their keys, so that parallel adds never wait for each other in a circle.
  v_ids := array(select gen_random_uuid() from jsonb_array_elements(p_facts));
  with given as (
    select f.ordinality, f.value as fact, p_embeddings[f.ordinality] as embedding
      from jsonb_array_elements(p_facts) with ordinality f
  ),
  added as (
    insert into memlayer.memory
      (tenant, id, user_id, agent_id, run_id, text, context, embedding, embedding_model, metadata, memory_type,
       role, actor_id, attributed_to, expires_on, observed_at, created_at)
    select p_tenant, v_ids[g.ordinality], p_user_id, p_agent_id, p_run_id,
           g.fact ->> 'text', g.fact ->> 'context',
           g.embedding, case when g.embedding is not null then v_model end,
           p_metadata || coalesce(g.fact -> 'metadata', '{}'), g.fact ->> 'memory_type',
           g.fact ->> 'role', g.fact ->> 'actor_id', g.fact ->> 'attributed_to', p_expires_on,
           coalesce((g.fact ->> 'observed_at')::timestamptz, p_observed_at, memlayer.now()),
           -- A microsecond apart: the facts of one call keep their order in a list by time.
           memlayer.now() + (g.ordinality - 1) * interval '1 microsecond'
      from given g
     order by md5(g.fact ->> 'text'), g.ordinality
    on conflict (tenant, user_id, agent_id, run_id, dedup_key) where dedup_key is not null do nothing
    returning memory.id
  )
  select coalesce(array_agg(a.id), '{}') into v_new from added a;

  -- Facts that stood there already, found in a statement of its own, which sees what a concurrent add stored.
  if cardinality(v_new) < cardinality(v_ids) then
    v_ids := memlayer.surviving(p_tenant, p_user_id, p_agent_id, p_run_id, p_facts, v_ids, v_new);
    with revived as (
      update memlayer.memory m set expires_on = p_expires_on
       where m.tenant = p_tenant
         and m.id = any (v_ids) and not m.id = any (v_new)
         and m.expires_on < memlayer.today()
         and (p_expires_on is null or p_expires_on >= memlayer.today())
      returning m.id
    )
    select array_agg(r.id) into v_revived from revived r;
  end if;

  -- Entities of what is new, and who mentions whom.
  if jsonb_array_length(p_entities) > 0 and cardinality(v_new) > 0 then
    with mentioned as (
      select v_ids[f.ordinality] as memory_id, e.value::int as place
        from jsonb_array_elements(p_facts) with ordinality f,
             jsonb_array_elements_text(case jsonb_typeof(f.value -> 'entities') when 'array' then f.value -> 'entities' else '[]' end) e
       where v_ids[f.ordinality] = any (v_new)
    ),
    stored as (
      select s.place, s.id, s.is_new
        from memlayer.store_entities(p_tenant, p_user_id, p_agent_id, p_run_id, p_entities, p_entity_embeddings, v_model,
                                     array(select m.place from mentioned m)) s
    ),
    noted as (
      insert into memlayer.mention (tenant, memory_id, entity_id)
      select distinct p_tenant, m.memory_id, s.id
        from mentioned m
        join stored s using (place)
       order by m.memory_id, s.id
      on conflict do nothing
    )
    select count(distinct s.id) filter (where s.is_new) into v_entities from stored s;
  end if;

  -- References to older memories of the scope; one that is being deleted is waited for and left out.
  if jsonb_path_exists(p_facts, '$[*].links[*]') then
    -- A fact said again that replaces another holds again itself, whatever had replaced it.
    delete from memlayer.link l
     using jsonb_array_elements(p_facts) with ordinality f
     where l.tenant = p_tenant and l.linked_id = v_ids[f.ordinality] and l.kind <> 'related'
       and jsonb_path_exists(f.value, '$.links[*] ? (@.kind == "updates" || @.kind == "contradicts")');

    with reference as (
      select v_ids[f.ordinality] as memory_id, (l.value ->> 'id')::uuid as linked_id, coalesce(l.value ->> 'kind', 'related') as kind
        from jsonb_array_elements(p_facts) with ordinality f,
             jsonb_array_elements(case jsonb_typeof(f.value -> 'links') when 'array' then f.value -> 'links' else '[]' end) l
    ),
    linked as materialized (
      select m.id
        from memlayer.memory m
       where m.tenant = p_tenant
         and m.id in (select r.linked_id from reference r)
         and (p_user_id  is null or m.user_id  = p_user_id)
         and (p_agent_id is null or m.agent_id = p_agent_id)
         and (p_run_id   is null or m.run_id   = p_run_id)
       order by m.id
         for key share
    )
    insert into memlayer.link (tenant, memory_id, linked_id, kind)
    select distinct p_tenant, r.memory_id, r.linked_id, r.kind
      from reference r
      join linked m on m.id = r.linked_id
     where r.linked_id <> r.memory_id
     order by 2, 3, 4
    on conflict do nothing;
  end if;

  perform memlayer.buffer_messages(p_tenant, v_session.id, v_session.last_seq, p_messages, p_observed_at);

  if exists (select from memlayer.model d where d.tenant = p_tenant and d.id = v_model and d.sample < 64) then
    perform memlayer.calibrate(p_tenant, v_model);
  end if;

  select jsonb_agg(jsonb_build_object(
           'fact',   f.ordinality,
           'id',     v_ids[f.ordinality],
           'text',   f.value ->> 'text',
           'event',  case when o.is_first_new then 'ADD' else 'SKIP' end,
           'reason', case when o.is_first_new then null
                          when v_ids[f.ordinality] = any (v_revived) then 'revived'
                          else 'duplicate' end) order by f.ordinality)
    into v_result
    from jsonb_array_elements(p_facts) with ordinality f,
         -- A fact that stands twice in the call was stored once, for one of the two places.
         lateral (select v_ids[f.ordinality] = any (v_new)
                         and not v_ids[f.ordinality] = any (v_ids[:f.ordinality - 1]) as is_first_new) o;

  insert into memlayer.change as c
    (tenant, id, operation, user_id, agent_id, run_id, idempotency_key, request_hash, result, actor,
     added, updated, skipped, entities, messages, llm, embedding_model, prompt_tokens, completion_tokens, embedding_tokens)
  values
    (p_tenant, v_change, p_operation, p_user_id, p_agent_id, p_run_id, p_idempotency_key, p_request_hash,
     case when p_idempotency_key is not null then coalesce(v_result, '[]') end, p_actor,
     cardinality(v_new), coalesce(cardinality(v_revived), 0), cardinality(v_ids) - cardinality(v_new), v_entities,
     jsonb_array_length(p_messages), p_llm, v_model,
     (p_usage ->> 'prompt_tokens')::bigint, (p_usage ->> 'completion_tokens')::bigint, (p_usage ->> 'embedding_tokens')::bigint)
  on conflict (tenant, id) do update
    set (operation, user_id, agent_id, run_id, result, actor, added, updated, skipped, entities, messages, llm,
         embedding_model, prompt_tokens, completion_tokens, embedding_tokens)
      = (excluded.operation, excluded.user_id, excluded.agent_id, excluded.run_id, excluded.result, excluded.actor,
         excluded.added, excluded.updated, excluded.skipped, excluded.entities, excluded.messages, excluded.llm,
         excluded.embedding_model, excluded.prompt_tokens, excluded.completion_tokens, excluded.embedding_tokens);

  perform set_config('memlayer.change_id', '', true);

  return query
    select r.* from jsonb_to_recordset(coalesce(v_result, '[]')) r (fact int, id uuid, text text, event text, reason text);
end;
$$;

comment on function memlayer.add is
  'Stores facts, their entities, mentions and links, history, and the messages they came from, in one transaction. One row a fact: ADD with its new id, or SKIP with the id of the memory that says it already (reason duplicate, or revived when that one had expired). Vectors stand in p_embeddings and p_entity_embeddings by position; one that is missing leaves the memory pending.';
