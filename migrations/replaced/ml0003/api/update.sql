create or replace function memlayer.update(
  p_tenant            text      default 'default',
  p_id                uuid      default null,
  p_text              text      default null,
  p_embedding         halfvec   default null,
  p_model             text      default null,
  p_metadata          jsonb     default null,
  p_expires_on        date      default null,
  p_clear_expiration  boolean   default false,
  p_entities          jsonb     default '[]',
  p_entity_embeddings halfvec[] default null,
  p_expected_version  int       default null,
  p_actor             text      default null,
  p_usage             jsonb     default '{}'
)
  returns table (
    id uuid, text text, hash text, metadata jsonb, created_at timestamptz, updated_at timestamptz,
    user_id text, agent_id text, run_id text, actor_id text, role text, attributed_to text, memory_type text,
    expires_on date, observed_at timestamptz, version int, pending boolean, context text)
  language plpgsql
  volatile
  security definer
  set search_path from current
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  set jit = off
as $$
#variable_conflict use_column
declare
  v_change  uuid := gen_random_uuid();
  v_old     record;
  v_model   memlayer.model;
  v_version int;
  v_named   record;
  v_gone    uuid[];
begin
  perform memlayer.require_tenant(p_tenant);
  v_old := memlayer.lock_memory(p_tenant, p_id);
  perform memlayer.require_version(p_id, v_old.version, p_expected_version);
  if p_entities is distinct from '[]' then
    perform memlayer.require_add('[]', p_entities, '[]', null, null), memlayer.require_vectors(p_entity_embeddings);
  end if;
  perform set_config('memlayer.change_id', v_change::text, true);
  v_model := memlayer.model_of_vectors(p_tenant, p_model, array_prepend(p_embedding, p_entity_embeddings));

  update memlayer.memory m
     set text            = coalesce(p_text, m.text),
         embedding       = case when p_embedding is not null then p_embedding when p_text <> m.text then null else m.embedding end,
         embedding_model = case when p_embedding is not null then v_model.id when p_text <> m.text then null else m.embedding_model end,
         metadata        = m.metadata || coalesce(p_metadata, '{}'),
         expires_on      = case when p_clear_expiration then null else coalesce(p_expires_on, m.expires_on) end
   where m.tenant = p_tenant and m.id = p_id
  returning m.version into v_version;

  -- Another text names others. One that waited for its vector may have been changed without us, or not:
  -- it goes on naming what stands in it.
  if p_text <> v_old.text or (p_text is not null and p_embedding is not null and v_old.pending) then
    with gone as (
      delete from memlayer.mention n
       using memlayer.entity e
       where n.tenant = p_tenant and n.memory_id = p_id
         and e.tenant = n.tenant and e.id = n.entity_id
         and (p_text <> v_old.text or not memlayer.stands_in(memlayer.fold(p_text), e.folded_name))
      returning n.entity_id
    )
    select array_agg(g.entity_id) into v_gone from gone g;
    if p_entities <> '[]' then
      v_named := memlayer.store_entities(
        p_tenant, v_old.user_id, v_old.agent_id, v_old.run_id, p_entities, p_entity_embeddings, v_model.id,
        array(select e.ordinality::int from jsonb_array_elements(p_entities) with ordinality e));
      insert into memlayer.mention (tenant, memory_id, entity_id)
      select distinct p_tenant, p_id, e from unnest(v_named.ids) e
      on conflict do nothing;
    end if;
    perform memlayer.drop_orphans(p_tenant, v_gone);
  end if;

  if p_embedding is not null and v_model.sample < 64 then
    perform memlayer.calibrate(p_tenant, v_model.id);
  end if;

  if v_version <> v_old.version then
    insert into memlayer.change
      (tenant, id, operation, user_id, agent_id, run_id, actor, updated, embedding_model, embedding_tokens)
    values
      (p_tenant, v_change, 'update', v_old.user_id, v_old.agent_id, v_old.run_id, p_actor, 1, v_model.id,
       (p_usage ->> 'embedding_tokens')::bigint);
  end if;
  perform set_config('memlayer.change_id', '', true);

  return query select * from memlayer.get(p_tenant, p_id);
end;
$$;

comment on function memlayer.update is
  'Changes a memory: another text with its vector and entities, or the same text with the vector it waits for; metadata merged key by key, another or no expiry day. Null leaves a part as it is. What changes nothing writes nothing. ML002 when there is none, ML006 when it is not at p_expected_version.';
