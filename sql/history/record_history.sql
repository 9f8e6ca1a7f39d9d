create or replace function memlayer.record_history()
  returns trigger
  language plpgsql
  security definer
  set search_path from current
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
as $$
declare
  v_gone boolean := tg_op = 'DELETE';
  v_new  boolean := tg_op = 'INSERT';
begin
  -- An erasure leaves nothing to read; its open receipt is looked for, the setting not believed.
  if v_gone and current_setting('memlayer.recorded', true) = 'ERASE' then
    if exists (
      select from memlayer.receipt r
       where r.tenant = old.tenant
         and r.id = nullif(current_setting('memlayer.change_id', true), '')::uuid
         and r.transaction_id = pg_current_xact_id()
         and r.memories is null)
    then
      return old;
    end if;
  end if;

  -- A statement of ours that writes many memories writes their history too, all at once and cheaper; it
  -- is looked for, not believed.
  if current_setting('memlayer.recorded', true) = tg_op then
    if exists (
      select from memlayer.history h
       where h.tenant = coalesce(new.tenant, old.tenant)
         and h.memory_id = coalesce(new.id, old.id)
         and h.version = coalesce(new.version, old.version + 1)
         and h.transaction_id = pg_current_xact_id())
    then
      return null;
    end if;
  end if;

  insert into memlayer.history
    (tenant, memory_id, version, event, old_state, new_state, old_embedding, old_embedding_model, user_id, agent_id, run_id, change_id,
     old_mentions, old_links)
  values (
    coalesce(new.tenant, old.tenant),
    coalesce(new.id, old.id),
    case when v_gone then old.version + 1 else new.version end,
    case tg_op when 'INSERT' then 'ADD' else tg_op end,
    case when not v_new then memlayer.memory_state(
      old.text, old.context, old.metadata, old.memory_type, old.role, old.actor_id, old.attributed_to,
      old.expires_on, old.observed_at, old.created_at, old.updated_at, old.embedding_model) end,
    case when not v_gone then memlayer.memory_state(
      new.text, new.context, new.metadata, new.memory_type, new.role, new.actor_id, new.attributed_to,
      new.expires_on, new.observed_at, new.created_at, new.updated_at, new.embedding_model) end,
    case when v_gone or old.embedding is distinct from new.embedding then old.embedding end,
    case when v_gone or old.embedding is distinct from new.embedding then old.embedding_model end,
    coalesce(new.user_id, old.user_id),
    coalesce(new.agent_id, old.agent_id),
    coalesce(new.run_id, old.run_id),
    nullif(current_setting('memlayer.change_id', true), '')::uuid,
    case when v_gone or not v_new and (old.text, old.embedding) is distinct from (new.text, new.embedding)
         then memlayer.mentions_of(old.tenant, old.id) end,
    case when v_gone then memlayer.links_of(old.tenant, old.id) end);
  -- A deletion goes on; after the others nobody looks.
  return old;
end;
$$;

comment on function memlayer.record_history is
  'With every write of a memory: one history row with the state before and after.';
