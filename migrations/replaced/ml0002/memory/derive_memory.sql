create or replace function memlayer.derive_memory()
  returns trigger
  language plpgsql
  set search_path from current
as $$
declare
  v_by_api boolean := nullif(current_setting('memlayer.change_id', true), '') is not null;
  v_config regconfig;
  v_model  memlayer.model;
begin
  if tg_op = 'UPDATE' then
    if (new.tenant, new.id, new.user_id, new.agent_id, new.run_id)
       is distinct from (old.tenant, old.id, old.user_id, old.agent_id, old.run_id)
    then
      raise exception using
        errcode = 'ML005',
        message = 'the tenant, id and scope of a memory never change',
        hint    = 'Delete it and add it anew.';
    end if;
    -- A statement that sets the text alone leaves a vector of something else behind; the functions
    -- always set both, perhaps to an equal vector.
    if new.text <> old.text and not v_by_api and new.embedding is not distinct from old.embedding then
      new.embedding := null;
      new.embedding_model := null;
    end if;
  else
    perform memlayer.require_scope(new.tenant, new.user_id, new.agent_id, new.run_id);
  end if;

  if tg_op = 'INSERT' or new.text <> old.text or new.metadata <> old.metadata or new.context is distinct from old.context then
    perform memlayer.require_storable(new.text, new.context, new.metadata);
  end if;

  if new.embedding is null then
    new.embedding_model := null;
  elsif tg_op = 'INSERT' or new.embedding is distinct from old.embedding or new.embedding_model is distinct from old.embedding_model then
    select * into v_model from memlayer.model
     where tenant = new.tenant and id = coalesce(new.embedding_model, id) and state in ('active', 'next')
     order by state limit 1;
    perform memlayer.require_model(new.tenant, coalesce(v_model.name, 'no model'), v_model.dimensions, null, vector_dims(new.embedding));
    perform memlayer.require_direction(new.embedding);
    new.embedding_model := v_model.id;
  end if;

  perform memlayer.require_dates(new.expires_on, new.observed_at, new.created_at);

  new.hash := md5(new.text);
  -- Extracted facts have no role; what was said verbatim and an agent's work log may repeat.
  if new.role is not null or new.memory_type is not distinct from 'procedural_memory' then
    new.dedup_key := null;
  elsif tg_op = 'INSERT' then
    new.dedup_key := new.hash;
  elsif new.text <> old.text or new.role is distinct from old.role or new.memory_type is distinct from old.memory_type then
    new.dedup_key := memlayer.free_dedup_key(new.tenant, new.user_id, new.agent_id, new.run_id, new.hash, new.id);
  else
    new.dedup_key := old.dedup_key;
  end if;

  -- Touching the document alone has it made anew: that is how a change of language rebuilds it.
  if tg_op = 'INSERT' or new.text <> old.text or new.context is distinct from old.context or new.document is distinct from old.document then
    v_config := memlayer.text_search_config(new.tenant);
    new.document := memlayer.document(new.text, new.context, v_config);
    new.document_length := memlayer.document_length(new.document);
  end if;

  if tg_op = 'INSERT' then
    new.updated_at := new.created_at;
    -- A restored memory goes on counting where its history ended.
    select coalesce(max(h.version), 0) + 1 into new.version
      from memlayer.history h where h.tenant = new.tenant and h.memory_id = new.id;
  elsif (new.text, new.context, new.metadata, new.memory_type, new.role, new.actor_id, new.attributed_to, new.expires_on,
         new.observed_at, new.created_at, new.embedding, new.embedding_model)
        is distinct from
        (old.text, old.context, old.metadata, old.memory_type, old.role, old.actor_id, old.attributed_to, old.expires_on,
         old.observed_at, old.created_at, old.embedding, old.embedding_model)
  then
    new.version := old.version + 1;
    new.updated_at := greatest(memlayer.now(), new.created_at);
  else
    new.version := old.version;
    new.updated_at := old.updated_at;
  end if;
  return new;
end;
$$;

comment on function memlayer.derive_memory is
  'Before every write of a memory: checks limits, model and ids, and derives hash, keys, keyword document, version and time.';
