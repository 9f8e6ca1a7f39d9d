create or replace function memlayer.derive_memory()
  returns trigger
  language plpgsql
  security definer
  set search_path from current
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  set jit = off
as $$
declare
  v_is_new  boolean := tg_op = 'INSERT';
  v_is_said boolean := v_is_new;
  v_model   memlayer.model;
  v_config  regconfig;
begin
  if v_is_new then
    perform memlayer.require_ids(new.tenant, new.user_id, new.agent_id, new.run_id);
  else
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
    if new.text <> old.text and coalesce(current_setting('memlayer.change_id', true), '') = ''
       and new.embedding is not distinct from old.embedding
    then
      new.embedding := null;
    end if;
    -- Touching the document alone has it made anew: that is how a change of language rebuilds it.
    v_is_said := (new.text, new.context, new.document) is distinct from (old.text, old.context, old.document);
  end if;

  perform memlayer.require_storable(new.text, new.context, new.metadata),
          memlayer.require_dates(new.expires_on, new.observed_at, new.created_at);

  if new.embedding is null then
    new.embedding_model := null;
  elsif v_is_new or (new.embedding, new.embedding_model) is distinct from (old.embedding, old.embedding_model) then
    select * into v_model from memlayer.model
     where tenant = new.tenant and id = coalesce(new.embedding_model, id) and state in ('active', 'next')
     order by state limit 1;
    if v_model.dimensions is distinct from vector_dims(new.embedding) or l2_norm(new.embedding) = 0 then
      perform memlayer.require_model(new.tenant, coalesce(v_model.name, 'no model'), v_model.dimensions, null, vector_dims(new.embedding)),
              memlayer.require_direction(new.embedding);
    end if;
    new.embedding_model := v_model.id;
  end if;

  new.hash := md5(new.text);
  -- Extracted facts have no role; what was said verbatim and an agent's work log may repeat.
  if new.role is not null or new.memory_type is not distinct from 'procedural_memory' then
    new.dedup_key := null;
  elsif v_is_new then
    -- Who names a version puts a memory back, which gives way to one that says the same by now.
    new.dedup_key := case when new.version is null then new.hash
      else memlayer.free_dedup_key(new.tenant, new.user_id, new.agent_id, new.run_id, new.hash, new.id) end;
  elsif (new.text, new.role, new.memory_type) is distinct from (old.text, old.role, old.memory_type) then
    new.dedup_key := memlayer.free_dedup_key(new.tenant, new.user_id, new.agent_id, new.run_id, new.hash, new.id);
  else
    new.dedup_key := old.dedup_key;
  end if;

  if v_is_said then
    v_config := memlayer.text_search_config(new.tenant);
    new.document := memlayer.document(new.text, new.context, v_config);
    new.document_length := memlayer.document_length(new.document);
  end if;

  if v_is_new then
    -- A restored memory goes on counting where its history ended.
    select coalesce(max(h.version), 0) + 1 into new.version
      from memlayer.history h where h.tenant = new.tenant and h.memory_id = new.id;
    new.updated_at := case when new.version = 1 then new.created_at else greatest(memlayer.now(), new.created_at) end;
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
