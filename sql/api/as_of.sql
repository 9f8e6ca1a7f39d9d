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
  security definer
  set search_path from current
  set jit = off
as $$
declare
  v_at     timestamptz := case when p_at < memlayer.now() then p_at else 'infinity' end;
  v_config regconfig;
begin
  perform memlayer.require_scope(p_tenant, p_user_id, p_agent_id, p_run_id);
  v_config := memlayer.text_search_config(p_tenant);
  perform memlayer.require_history(p_tenant, v_at, p_user_id, p_agent_id, p_run_id);

  return query execute format(
    $sql$
    with standing as materialized (
      select m.id, m.version from memlayer.memory m where %1$s
    ),
    known as materialized (
      -- What the scope holds, and what was deleted from it since.
      select s.id, s.version as version_now from standing s
      union all
      select h.memory_id, null
        from memlayer.history h
       where %2$s and h.event = 'DELETE' and h.recorded_at > $5
         and h.memory_id not in (select s.id from standing s)
       group by h.memory_id
    ),
    stood as materialized (
      -- The last version of that time. A clock that was set back leaves versions out of order: the
      -- highest counts, so that a moment ago is much as now. Of its own scope: an id may be used again.
      select k.id, k.version_now, v.version
        from known k
       cross join lateral (
         select h.version, h.event
           from memlayer.history h
          where %2$s and h.memory_id = k.id and h.recorded_at <= $5
          order by h.version desc
          limit 1) v
       where v.event <> 'DELETE'
    )
    select m.tenant, m.id, m.user_id, m.agent_id, m.run_id, m.text, m.context, m.hash,
           m.document, m.document_length, m.embedding, m.embedding_model, m.metadata,
           m.memory_type, m.role, m.actor_id, m.attributed_to, m.expires_on, m.observed_at,
           m.version, m.created_at, m.updated_at
      from stood s
      join memlayer.memory m on m.tenant = $1 and m.id = s.id
     where s.version = s.version_now
    union all
    select h.tenant, s.id, h.user_id, h.agent_id, h.run_id, t.text, t.context, md5(t.text),
           t.document, memlayer.document_length(t.document),
           case when t.embedding_model is not null then coalesce(e.old_embedding, m.embedding) end,
           t.embedding_model, h.new_state -> 'metadata',
           h.new_state ->> 'memory_type', h.new_state ->> 'role', h.new_state ->> 'actor_id', h.new_state ->> 'attributed_to',
           (h.new_state ->> 'expires_on')::date, (h.new_state ->> 'observed_at')::timestamp at time zone 'UTC',
           s.version, (h.new_state ->> 'created_at')::timestamp at time zone 'UTC',
           (h.new_state ->> 'updated_at')::timestamp at time zone 'UTC'
      from stood s
      join memlayer.history h on h.tenant = $1 and h.memory_id = s.id and h.version = s.version
      left join memlayer.memory m on m.tenant = $1 and m.id = s.id
      left join lateral (
        -- The vector stands in the first change that replaced or removed it; else it is still there.
        select later.old_embedding
          from memlayer.history later
         where later.tenant = $1 and later.memory_id = s.id and later.version > s.version and later.old_embedding is not null
         order by later.version
         limit 1) e on true
     cross join lateral (
       select h.new_state ->> 'text' as text, h.new_state ->> 'context' as context,
              (h.new_state ->> 'embedding_model')::bigint as embedding_model,
              case when m.text = h.new_state ->> 'text' and m.context is not distinct from h.new_state ->> 'context' then m.document
                   else memlayer.document(h.new_state ->> 'text', h.new_state ->> 'context', $6) end as document
       offset 0) t
     where s.version is distinct from s.version_now
    $sql$,
    memlayer.scope_predicate('m', p_user_id, p_agent_id, p_run_id),
    memlayer.scope_predicate('h', p_user_id, p_agent_id, p_run_id))
    using p_tenant, p_user_id, p_agent_id, p_run_id, v_at, v_config;
end;
$$;

comment on function memlayer.as_of is
  'The memories of a scope as they stood at a moment, expired and since deleted ones too: every column as it was then, the vector included; documents by the language set now. Null or the future is now. A change counts from history.recorded_at on, the time of its statement, though others saw it only when it was committed. ML009 when the history does not reach back that far.';
