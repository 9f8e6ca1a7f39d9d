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
  set search_path from current
  set plan_cache_mode = force_custom_plan
  set jit = off
as $$
#variable_conflict use_column
declare
  v_model    bigint := memlayer.readable_model(p_tenant, p_model, p_embedding);
  v_memories jsonb;
begin
  perform memlayer.require_scope(p_tenant, p_user_id, p_agent_id, p_run_id);

  execute format(
    $sql$
    with alike as (
      select m.id, row_number() over (order by m.embedding <=> $6, m.id) as place
        from memlayer.memory m
       where %1$s
         and (m.expires_on is null or m.expires_on >= $5)
         and m.embedding_model = $7
       order by m.embedding <=> $6, m.id
       limit $8
    ),
    recent as (
      select m.id, row_number() over (order by m.created_at desc, m.id) as place
        from memlayer.memory m
       where %1$s
         and (m.expires_on is null or m.expires_on >= $5)
       order by m.created_at desc, m.id
       limit $9
    )
    select jsonb_agg(jsonb_build_object(
             'id', m.id, 'text', m.text,
             'source', case when a.id is not null then 'similar' else 'recent' end)
             order by a.place, r.place)
      from alike a
      full join recent r on r.id = a.id
      join memlayer.memory m on m.tenant = $1 and m.id = coalesce(a.id, r.id)
    $sql$, memlayer.scope_predicate('m', p_user_id, p_agent_id, p_run_id))
    into v_memories
    using p_tenant, p_user_id, p_agent_id, p_run_id, memlayer.today(), p_embedding, v_model, p_similar, p_recent;

  return query
    select (select jsonb_agg(jsonb_build_object('role', m.role, 'content', m.content, 'name', m.name, 'created_at', m.created_at)
                             order by m.seq)
              from memlayer.messages(p_tenant, p_user_id, p_agent_id, p_run_id) m
             where m.seq > (select max(n.seq) from memlayer.messages(p_tenant, p_user_id, p_agent_id, p_run_id) n) - p_messages),
           v_memories,
           case when p_idempotency_key is not null then memlayer.replay(p_tenant, p_idempotency_key, p_request_hash) end;
end;
$$;

comment on function memlayer.recall_context is
  'What an extraction needs, in one row: the newest messages of the exact session, oldest first; the memories of the scope most similar to the vector and the newest ones; and what an add with this idempotency key returned already. Empty parts are null.';
