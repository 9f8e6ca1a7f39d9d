create or replace function memlayer.recall_context(
  p_tenant          text    default 'default',
  p_user_id         text    default null,
  p_agent_id        text    default null,
  p_run_id          text    default null,
  p_embedding       halfvec default null,
  p_model           text    default null,
  p_messages        int     default 10,
  p_similar         int     default 10,
  p_recent          int     default 20,
  p_idempotency_key text    default null,
  p_request_hash    text    default null
)
  returns table (messages jsonb, memories jsonb, replay jsonb)
  language plpgsql
  stable
  security definer
  set search_path from current
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  set jit = off
as $$
#variable_conflict use_column
declare
  v_model bigint;
begin
  perform memlayer.require_scope(p_tenant, p_user_id, p_agent_id, p_run_id);
  v_model := memlayer.readable_model(p_tenant, p_model, p_embedding);

  -- The id with the fewest memories, as a rule, leads.
  memories := case
    when p_run_id is not null then
      memlayer.recalled_of_run(
        p_tenant, p_user_id, p_agent_id, p_run_id, memlayer.today(), p_embedding, v_model, p_similar, p_recent)
    when p_user_id is not null then
      memlayer.recalled_of_user(
        p_tenant, p_user_id, p_agent_id, p_run_id, memlayer.today(), p_embedding, v_model, p_similar, p_recent)
    else
      memlayer.recalled_of_agent(
        p_tenant, p_user_id, p_agent_id, p_run_id, memlayer.today(), p_embedding, v_model, p_similar, p_recent)
  end;

  select jsonb_agg(jsonb_build_object('role', m.role, 'content', m.content, 'name', m.name, 'created_at', m.created_at)
                   order by m.seq)
    into messages
    from (
      select m.seq, m.role, m.content, m.name, m.created_at
        from memlayer.session s
        join memlayer.message m on m.tenant = s.tenant and m.session_id = s.id
       where s.tenant = p_tenant
         and coalesce(s.user_id, '') = coalesce(p_user_id, '')
         and coalesce(s.agent_id, '') = coalesce(p_agent_id, '')
         and coalesce(s.run_id, '') = coalesce(p_run_id, '')
       order by m.seq desc
       limit p_messages) m;

  if p_idempotency_key is not null then
    replay := memlayer.replay(p_tenant, p_idempotency_key, p_request_hash);
  end if;
  return next;
end;
$$;

comment on function memlayer.recall_context is
  'What an extraction needs, in one row: the newest messages of the exact session, oldest first; the memories of the scope most similar to the vector and the newest ones; and what an add with this idempotency key returned already. Empty parts are null.';
