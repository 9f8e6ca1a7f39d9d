create or replace function memlayer.as_of(
  p_tenant   text        default 'default',
  p_at       timestamptz default null,
  p_user_id  text        default null,
  p_agent_id text        default null,
  p_run_id   text        default null
)
  returns table (
    tenant text, id uuid, user_id text, agent_id text, run_id text, text text, context text, hash text,
    document tsvector, document_length int, embedding halfvec, embedding_model bigint, metadata jsonb,
    memory_type text, role text, actor_id text, attributed_to text, expires_on date, observed_at timestamptz,
    version int, created_at timestamptz, updated_at timestamptz)
  language plpgsql
  stable
  set search_path from current
  set jit = off
as $$
declare
  v_at     timestamptz := case when p_at < memlayer.now() then p_at else 'infinity' end;
  v_config regconfig   := memlayer.text_search_config(p_tenant);
begin
  perform memlayer.require_scope(p_tenant, p_user_id, p_agent_id, p_run_id);
  perform memlayer.require_history(p_tenant, v_at, p_user_id, p_agent_id, p_run_id);

  return query execute format(
    $sql$
    with known as materialized (
      -- What the scope holds, and what was deleted from it since.
      select m.id from memlayer.memory m where %1$s
      union
      select h.memory_id from memlayer.history h where %2$s and h.event = 'DELETE' and h.recorded_at > $5
    ),
    stood as materialized (
      -- The last version of that time. A clock that was set back leaves versions out of order: the
      -- highest counts, so that a moment ago is much as now. Of its own scope: an id may be used again.
      select k.id, v.version, v.user_id, v.agent_id, v.run_id, v.new_state as state
        from known k
       cross join lateral (
         select h.version, h.user_id, h.agent_id, h.run_id, h.new_state
           from memlayer.history h
          where %2$s and h.memory_id = k.id and h.recorded_at <= $5
          order by h.version desc
          limit 1) v
       where v.new_state is not null
    )
    select m.tenant, m.id, m.user_id, m.agent_id, m.run_id, m.text, m.context, m.hash,
           m.document, m.document_length, m.embedding, m.embedding_model, m.metadata,
           m.memory_type, m.role, m.actor_id, m.attributed_to, m.expires_on, m.observed_at,
           m.version, m.created_at, m.updated_at
      from stood s
      join memlayer.memory m on m.tenant = $1 and m.id = s.id and m.version = s.version
    union all
    select $1, s.id, s.user_id, s.agent_id, s.run_id, t.text, t.context, md5(t.text),
           t.document, memlayer.document_length(t.document),
           case when t.embedding_model is not null then coalesce(e.old_embedding, m.embedding) end,
           t.embedding_model, s.state -> 'metadata',
           s.state ->> 'memory_type', s.state ->> 'role', s.state ->> 'actor_id', s.state ->> 'attributed_to',
           (s.state ->> 'expires_on')::date, (s.state ->> 'observed_at')::timestamp at time zone 'UTC',
           s.version, (s.state ->> 'created_at')::timestamp at time zone 'UTC',
           (s.state ->> 'updated_at')::timestamp at time zone 'UTC'
      from stood s
      left join memlayer.memory m on m.tenant = $1 and m.id = s.id
      left join lateral (
        -- The vector stands in the first change that replaced or removed it; else it is still there.
        select h.old_embedding
          from memlayer.history h
         where h.tenant = $1 and h.memory_id = s.id and h.version > s.version and h.old_embedding is not null
         order by h.version
         limit 1) e on true
     cross join lateral (
       select s.state ->> 'text' as text, s.state ->> 'context' as context,
              (s.state ->> 'embedding_model')::bigint as embedding_model,
              case when m.text = s.state ->> 'text' and m.context is not distinct from s.state ->> 'context' then m.document
                   else memlayer.document(s.state ->> 'text', s.state ->> 'context', $6) end as document
       offset 0) t
     where m.version is distinct from s.version
    $sql$,
    memlayer.scope_predicate('m', p_user_id, p_agent_id, p_run_id),
    memlayer.scope_predicate('h', p_user_id, p_agent_id, p_run_id))
    using p_tenant, p_user_id, p_agent_id, p_run_id, v_at, v_config;
end;
$$;

comment on function memlayer.as_of is
  'The memories of a scope as they stood at a moment, expired and since deleted ones too: every column as it was then, the vector included; documents by the language set now. Null or the future is now. A change counts from history.recorded_at on, the time of its statement, though others saw it only when it was committed. ML009 when the history does not reach back that far.';
