create or replace view memlayer.memories
  with (security_invoker = true)
as
select m.tenant, m.id, m.user_id, m.agent_id, m.run_id,
       m.text,
       m.metadata,
       array(
         select e.name
           from memlayer.mention n
           join memlayer.entity  e on e.tenant = n.tenant and e.id = n.entity_id
          where n.tenant = m.tenant and n.memory_id = m.id
          order by e.name) as entities,
       m.memory_type, m.role, m.actor_id, m.attributed_to,
       m.observed_at,
       m.expires_on,
       coalesce(m.expires_on < memlayer.today(), false) as is_expired,
       s.superseded_by,
       coalesce(m.expires_on >= memlayer.today(), true) and s.superseded_by is null as is_current,
       m.embedding is null as is_pending,
       (select d.name from memlayer.model d where d.tenant = m.tenant and d.id = m.embedding_model) as embedding_model,
       m.version, m.created_at, m.updated_at
  from memlayer.memory m
  left join lateral (
    select newer.id as superseded_by
      from memlayer.link l
      join memlayer.memory newer on newer.tenant = l.tenant and newer.id = l.memory_id
     where l.tenant = m.tenant and l.linked_id = m.id and l.kind <> 'related'
       and coalesce(newer.expires_on >= memlayer.today(), true)
     order by newer.created_at desc, newer.id
     limit 1) s on true;

comment on view memlayer.memories is 'One row a remembered fact, as it stands now, without vectors; is_current says whether it still holds.';
comment on column memlayer.memories.tenant is 'The customer or application the row belongs to.';
comment on column memlayer.memories.id is 'Names the memory; memory_id of memory_versions and mentions.';
comment on column memlayer.memories.user_id is 'The user it is about.';
comment on column memlayer.memories.agent_id is 'The agent it belongs to.';
comment on column memlayer.memories.run_id is 'The run it came from.';
comment on column memlayer.memories.text is 'The fact, in the language it was said in.';
comment on column memlayer.memories.metadata is 'The application''s own keys.';
comment on column memlayer.memories.entities is 'Names of the persons, places and things it mentions.';
comment on column memlayer.memories.memory_type is 'procedural_memory for an agent''s work log, else null.';
comment on column memlayer.memories.role is 'Role of the message a verbatim memory was; null for extracted facts.';
comment on column memlayer.memories.actor_id is 'Name of the speaker of a verbatim memory.';
comment on column memlayer.memories.attributed_to is 'Whom an extracted fact came from: user or assistant.';
comment on column memlayer.memories.observed_at is 'When it was said or seen, as far as the application told; else when it was stored.';
comment on column memlayer.memories.expires_on is 'The last day (UTC) on which it is found; null for ever.';
comment on column memlayer.memories.is_expired is 'Whether that day has passed.';
comment on column memlayer.memories.superseded_by is 'The newest memory that updates or contradicts it and has not expired; null when there is none.';
comment on column memlayer.memories.is_current is 'Neither expired nor superseded.';
comment on column memlayer.memories.is_pending is 'Whether it waits for its vector: until then words alone find it.';
comment on column memlayer.memories.embedding_model is 'Name of the model its vector is of.';
comment on column memlayer.memories.version is 'Counts its changes, from 1; memory_versions has a row for each.';
comment on column memlayer.memories.created_at is 'When it was first stored.';
comment on column memlayer.memories.updated_at is 'When it last changed.';
