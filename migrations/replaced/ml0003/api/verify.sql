create or replace function memlayer.verify(p_tenant text default null)
  returns table (tenant text, problem text, memory_id uuid, detail text)
  language sql
  stable
  security definer
  set search_path from current
begin atomic
  select memlayer.require_tenant(p_tenant);

  with event as (
    select h.*,
           lag(h.version)   over w as version_before,
           lag(h.new_state) over w as state_before,
           lead(h.version)  over w is null as is_last
      from memlayer.history h
     where p_tenant is null or h.tenant = p_tenant
    window w as (partition by h.tenant, h.memory_id order by h.version)
  ),
  memory as (
    select m.* from memlayer.memory m where p_tenant is null or m.tenant = p_tenant
  )
  -- Replaying the history gives the row.
  select m.tenant, 'history does not end at the current row', m.id,
         format('history ends at version %s, the row is at %s', coalesce(e.version::text, 'none'), m.version)
    from memory m
    left join event e on e.tenant = m.tenant and e.memory_id = m.id and e.is_last
   where (e.version, e.new_state) is distinct from (m.version, memlayer.memory_state(
      m.text, m.context, m.metadata, m.memory_type, m.role, m.actor_id, m.attributed_to,
      m.expires_on, m.observed_at, m.created_at, m.updated_at, m.embedding_model))
  union all
  select e.tenant, 'history says the memory stands, and it does not', e.memory_id, format('last event is %s', e.event)
    from event e
    left join memory m on m.tenant = e.tenant and m.id = e.memory_id
   where e.is_last and e.event <> 'DELETE' and m.id is null
  union all
  select e.tenant, 'the history of the memory is of another scope', e.memory_id, format('version %s', e.version)
    from event e
    join memory m on m.tenant = e.tenant and m.id = e.memory_id
   where e.is_last
     and (e.user_id, e.agent_id, e.run_id) is distinct from (m.user_id, m.agent_id, m.run_id)
  union all
  select e.tenant, 'a step of the history does not follow from the one before', e.memory_id, format('version %s', e.version)
    from event e
   where case when e.event = 'BASELINE' then e.version_before is not null
              when e.version_before is null then e.event <> 'ADD' or e.version <> 1
              else e.version <> e.version_before + 1
                or (e.old_state is distinct from e.state_before)
         end
  union all
  -- Derived columns are what they derive from.
  select m.tenant, 'a derived column is wrong', m.id,
         concat_ws(', ',
           case when m.hash <> md5(m.text) then 'hash' end,
           case when m.document <> d.document then 'document' end,
           case when m.document_length <> memlayer.document_length(d.document) then 'document_length' end,
           case when m.dedup_key <> m.hash then 'dedup_key' end)
    from memory m
   cross join lateral (select memlayer.document(m.text, m.context, memlayer.text_search_config(m.tenant)) as document) d
   where m.hash <> md5(m.text) or m.document <> d.document or m.dedup_key <> m.hash
      or m.document_length <> memlayer.document_length(d.document)
  union all
  select m.tenant, 'the memory waits for its vector', m.id, 'words alone find it; memlayer embed-pending gives it one'
    from memory m
   where m.embedding is null
  union all
  select m.tenant, 'the vector is not of its model', m.id, format('%s dimensions', vector_dims(m.embedding))
    from memory m
    left join memlayer.model d on d.tenant = m.tenant and d.id = m.embedding_model
   where m.embedding is not null
     and d.dimensions is distinct from vector_dims(m.embedding)
  union all
  select e.tenant, 'the vector of an entity is not of its model', null, e.folded_name
    from memlayer.entity e
    left join memlayer.model d on d.tenant = e.tenant and d.id = e.embedding_model
   where (p_tenant is null or e.tenant = p_tenant)
     and e.embedding is not null
     and d.dimensions is distinct from vector_dims(e.embedding)
  union all
  -- Nothing refers into another scope, and nothing is left over.
  select e.tenant, 'no memory mentions the entity', null, e.folded_name
    from memlayer.entity e
   where (p_tenant is null or e.tenant = p_tenant)
     and not exists (select from memlayer.mention n where n.tenant = e.tenant and n.entity_id = e.id)
  union all
  select m.tenant, 'an entity of another scope is mentioned', m.id, e.folded_name
    from memory m
    join memlayer.mention n on n.tenant = m.tenant and n.memory_id = m.id
    join memlayer.entity e on e.tenant = n.tenant and e.id = n.entity_id
   where (m.user_id, m.agent_id, m.run_id) is distinct from (e.user_id, e.agent_id, e.run_id)
  union all
  -- Foreign keys see to the next three, but not while they are switched off.
  select n.tenant, 'a mention refers to what is not there', n.memory_id, format('entity %s', n.entity_id)
    from memlayer.mention n
   where (p_tenant is null or n.tenant = p_tenant)
     and not (exists (select from memlayer.memory m where m.tenant = n.tenant and m.id = n.memory_id)
              and exists (select from memlayer.entity e where e.tenant = n.tenant and e.id = n.entity_id))
  union all
  select l.tenant, 'a reference leads to no memory', l.memory_id, format('%s %s', l.kind, l.linked_id)
    from memlayer.link l
   where (p_tenant is null or l.tenant = p_tenant)
     and not (exists (select from memlayer.memory m where m.tenant = l.tenant and m.id = l.memory_id)
              and exists (select from memlayer.memory m where m.tenant = l.tenant and m.id = l.linked_id))
  union all
  select b.tenant, 'a message is of no session', null, format('session %s, message %s', b.session_id, b.seq)
    from memlayer.message b
   where (p_tenant is null or b.tenant = p_tenant)
     and not exists (select from memlayer.session s where s.tenant = b.tenant and s.id = b.session_id)
  union all
  select t.tenant, 'the words of a scope are counted, and its memories are not', null, format('%s %s', t.kind, t.scope_id)
    from memlayer.term_statistic t
   where (p_tenant is null or t.tenant = p_tenant)
     and not exists (
       select from memlayer.scope_statistic s where s.tenant = t.tenant and s.kind = t.kind and s.scope_id = t.scope_id)
   group by t.tenant, t.kind, t.scope_id
  union all
  -- The ring buffer.
  select s.tenant, 'the message buffer is not the newest ten', null,
         format('session %s holds %s messages up to %s of %s', s.id, count(b.seq), max(b.seq), s.last_seq)
    from memlayer.session s
    left join memlayer.message b on b.tenant = s.tenant and b.session_id = s.id
   where p_tenant is null or s.tenant = p_tenant
   group by s.tenant, s.id, s.last_seq
  having count(b.seq) <> least(s.last_seq, 10)
      or coalesce(max(b.seq), 0) <> s.last_seq
      or min(b.seq) <> greatest(s.last_seq - 9, 1)
  union all
  select h.tenant, 'the call that changed the memory left no record', h.memory_id, h.change_id::text
    from memlayer.history h
   where (p_tenant is null or h.tenant = p_tenant)
     and h.change_id is not null
     and not exists (select from memlayer.change c where c.tenant = h.tenant and c.id = h.change_id);
end;

comment on function memlayer.verify is
  'Whatever contradicts itself in the store of one tenant, or of all: history against rows, derived columns, vectors, entities and the ring buffer. Empty when all is well.';
