create or replace function memlayer.put_back(
  p_tenant         text,
  p_ids            uuid[],
  p_versions       int[],
  p_forgotten_too  boolean
)
  returns table (id uuid, event text)
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode = force_custom_plan
  set jit = off
as $$
#variable_conflict use_column
declare
  v_entities uuid[];
  v_ids      uuid[];
  v_events   text[];
  v_known    uuid[];
  v_named    jsonb;
begin
  v_entities := array(
    select distinct n.entity_id from memlayer.mention n where n.tenant = p_tenant and n.memory_id = any (p_ids));

  with past as materialized (
    select w.id, w.version, s.state, v.embedding, v.model, m.version as version_now,
           coalesce(at.user_id, next.user_id) as user_id,
           coalesce(at.agent_id, next.agent_id) as agent_id,
           coalesce(at.run_id, next.run_id) as run_id,
           -- What a message before it said is gone with that message.
           case when p_forgotten_too or newest.context is not null then s.state ->> 'context' end as context
      from unnest(p_ids, p_versions) w (id, version)
      left join memlayer.history at on at.tenant = p_tenant and at.memory_id = w.id and at.version = w.version
      left join memlayer.history next on next.tenant = p_tenant and next.memory_id = w.id and next.version = w.version + 1
      left join memlayer.memory m on m.tenant = p_tenant and m.id = w.id
     -- Null where there was no memory yet, or none any more.
     cross join lateral (select coalesce(at.new_state, next.old_state) as state) s
     cross join lateral (
       select coalesce(m.context, case when m.id is null then (
                select h.old_state ->> 'context'
                  from memlayer.history h
                 where h.tenant = p_tenant and h.memory_id = w.id
                 order by h.version desc
                 limit 1) end) as context) newest
      left join lateral (
        -- The vector it had then; else one it had later with the same text.
        select c.embedding, c.model
          from (
            select f.*, row_number() over (order by f.version nulls last) as place
              from (select h.version, h.old_embedding, h.old_embedding_model, h.old_state ->> 'text'
                      from memlayer.history h
                     where h.tenant = p_tenant and h.memory_id = w.id and h.version > w.version and h.old_embedding is not null
                    union all
                    select null, m.embedding, m.embedding_model, m.text
                     where m.embedding is not null) f (version, embedding, model, text)
          ) c
          join memlayer.model d on d.tenant = p_tenant and d.id = c.model and d.state <> 'retired'
         where c.text = s.state ->> 'text'
            or (c.place = 1 and c.model = (s.state ->> 'embedding_model')::bigint)
         order by c.place
         limit 1) v on s.state is not null
  ),
  deleted as (
    delete from memlayer.memory m
     using past p
     where m.tenant = p_tenant and m.id = p.id and p.state is null
    returning m.id
  ),
  updated as (
    update memlayer.memory m
       set text            = p.state ->> 'text',
           context         = p.context,
           embedding       = p.embedding,
           embedding_model = p.model,
           metadata        = p.state -> 'metadata',
           memory_type     = p.state ->> 'memory_type',
           role            = p.state ->> 'role',
           actor_id        = p.state ->> 'actor_id',
           attributed_to   = p.state ->> 'attributed_to',
           expires_on      = (p.state ->> 'expires_on')::date,
           observed_at     = (p.state ->> 'observed_at')::timestamp at time zone 'UTC',
           created_at      = (p.state ->> 'created_at')::timestamp at time zone 'UTC'
      from past p
     where m.tenant = p_tenant and m.id = p.id and p.state is not null
    returning m.id, m.version > p.version_now as is_changed
  ),
  added as (
    insert into memlayer.memory
      (tenant, id, user_id, agent_id, run_id, text, context, embedding, embedding_model, metadata, memory_type,
       role, actor_id, attributed_to, expires_on, observed_at, created_at, version)
    select p_tenant, p.id, p.user_id, p.agent_id, p.run_id,
           p.state ->> 'text', p.context, p.embedding, p.model, p.state -> 'metadata', p.state ->> 'memory_type',
           p.state ->> 'role', p.state ->> 'actor_id', p.state ->> 'attributed_to', (p.state ->> 'expires_on')::date,
           (p.state ->> 'observed_at')::timestamp at time zone 'UTC',
           (p.state ->> 'created_at')::timestamp at time zone 'UTC',
           p.version
      from past p
     where p.state is not null and p.version_now is null
     order by p.id
    returning memory.id
  ),
  written as (
    select d.id, 'DELETE' as event from deleted d
    union all
    select u.id, 'UPDATE' from updated u where u.is_changed
    union all
    select a.id, 'ADD' from added a
  )
  select coalesce(array_agg(w.id order by w.id), '{}'), array_agg(w.event order by w.id) into v_ids, v_events from written w;

  -- Whom they named then: the next row that kept it says so; without one that never changed.
  select array_agg(w.id), coalesce(jsonb_agg(n.named) filter (where n.named is not null), '[]')
    into v_known, v_named
    from unnest(p_ids, p_versions) w (id, version)
    join memlayer.memory m on m.tenant = p_tenant and m.id = w.id
    join lateral (
      select h.old_mentions
        from memlayer.history h
       where h.tenant = p_tenant and h.memory_id = w.id and h.version > w.version and h.old_mentions is not null
       order by h.version
       limit 1) x on true
    left join lateral (
      select jsonb_build_object(
               'memory_id', m.id, 'user_id', m.user_id, 'agent_id', m.agent_id, 'run_id', m.run_id,
               'name', o.value ->> 'name', 'type', o.value ->> 'type', 'folded_name', memlayer.fold(o.value ->> 'name')) as named
        from jsonb_array_elements(x.old_mentions) o) n on true
   where w.id = any (v_ids);

  -- The trigger keeps them with another text or vector; here they may change without.
  update memlayer.history h
     set old_mentions = memlayer.mentions_of(p_tenant, h.memory_id)
    from memlayer.memory m
   where m.tenant = p_tenant and m.id = any (v_known)
     and h.tenant = p_tenant and h.memory_id = m.id and h.version = m.version and h.event = 'UPDATE'
     and h.old_mentions is null;

  delete from memlayer.mention n
   using memlayer.entity e
   where n.tenant = p_tenant and n.memory_id = any (v_known)
     and e.tenant = p_tenant and e.id = n.entity_id
     and not exists (
       select from jsonb_to_recordset(v_named) x (memory_id uuid, folded_name text)
        where x.memory_id = n.memory_id and x.folded_name = e.folded_name);

  insert into memlayer.entity (tenant, user_id, agent_id, run_id, name, type)
  select distinct on (x.folded_name, x.user_id, x.agent_id, x.run_id)
         p_tenant, x.user_id, x.agent_id, x.run_id, x.name, x.type
    from jsonb_to_recordset(v_named) x (user_id text, agent_id text, run_id text, name text, type text, folded_name text)
   where not exists (
     select from memlayer.entity e
      where e.tenant = p_tenant
        and coalesce(e.user_id, '') = coalesce(x.user_id, '')
        and coalesce(e.agent_id, '') = coalesce(x.agent_id, '')
        and coalesce(e.run_id, '') = coalesce(x.run_id, '')
        and e.folded_name = x.folded_name)
   order by x.folded_name, x.user_id, x.agent_id, x.run_id
  on conflict do nothing;

  insert into memlayer.mention (tenant, memory_id, entity_id)
  select p_tenant, x.memory_id, e.id
    from jsonb_to_recordset(v_named) x (memory_id uuid, user_id text, agent_id text, run_id text, folded_name text)
    join memlayer.entity e
      on e.tenant = p_tenant
     and coalesce(e.user_id, '') = coalesce(x.user_id, '')
     and coalesce(e.agent_id, '') = coalesce(x.agent_id, '')
     and coalesce(e.run_id, '') = coalesce(x.run_id, '')
     and e.folded_name = x.folded_name
   order by x.memory_id, e.id
  on conflict do nothing;

  -- References of and to those that were gone, where both ends stand again.
  insert into memlayer.link (tenant, memory_id, linked_id, kind, created_at)
  select distinct p_tenant, l.memory_id, l.linked_id, l.kind, l.created_at at time zone 'UTC'
    from memlayer.memory m
    join memlayer.history h on h.tenant = p_tenant and h.memory_id = m.id and h.version = m.version - 1 and h.event = 'DELETE'
   cross join lateral jsonb_to_recordset(h.old_links) l (memory_id uuid, linked_id uuid, kind text, created_at timestamp)
   where m.tenant = p_tenant and m.id = any (v_ids)
     and exists (select from memlayer.memory o where o.tenant = p_tenant and o.id = l.memory_id)
     and exists (select from memlayer.memory o where o.tenant = p_tenant and o.id = l.linked_id)
   order by 2, 3, 4
  on conflict do nothing;

  perform memlayer.drop_orphans(p_tenant, v_entities);

  return query select w.id, w.event from unnest(v_ids, v_events) w (id, event) order by w.id;
end;
$$;

comment on function memlayer.put_back is
  'Makes memories what they were at these versions (by position; where there was none then, none), with mentions, and with a vector where one of a model in use was kept. One row for each that was written, and how. p_forgotten_too: with the context that was taken from them since. The caller holds the locks of sessions and memories.';
