create or replace function memlayer.record_history()
  returns trigger
  language plpgsql
  set search_path from current
as $$
declare
  v_gone boolean := tg_op = 'DELETE';
  v_new  boolean := tg_op = 'INSERT';
begin
  insert into memlayer.history
    (tenant, memory_id, version, event, old_state, new_state, old_embedding, old_embedding_model, user_id, agent_id, run_id, change_id)
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
    nullif(current_setting('memlayer.change_id', true), '')::uuid);
  return null;
end;
$$;

comment on function memlayer.record_history is
  'After every write of a memory: one history row with the state before and after.';
