create or replace view memlayer.entities
  with (security_invoker = true)
as
select e.tenant, e.id, e.user_id, e.agent_id, e.run_id,
       e.name, e.type,
       s.memories, s.first_seen_at, s.last_seen_at,
       e.created_at
  from memlayer.entity e
 cross join lateral (
   select count(*) as memories, min(m.observed_at) as first_seen_at, max(m.observed_at) as last_seen_at
     from memlayer.mention n
     join memlayer.memory  m on m.tenant = n.tenant and m.id = n.memory_id
    where n.tenant = e.tenant and n.entity_id = e.id) s;

comment on view memlayer.entities is 'One row a person, place or thing named in one exact scope, with how often and when.';
comment on column memlayer.entities.tenant is 'The customer or application the row belongs to.';
comment on column memlayer.entities.id is 'Names the entity; entity_id of mentions.';
comment on column memlayer.entities.user_id is 'User of the exact scope.';
comment on column memlayer.entities.agent_id is 'Agent of the exact scope.';
comment on column memlayer.entities.run_id is 'Run of the exact scope.';
comment on column memlayer.entities.name is 'The name as first written.';
comment on column memlayer.entities.type is 'person, place, organization, …, as the extraction said; null when unknown.';
comment on column memlayer.entities.memories is 'How many memories mention it, expired ones too.';
comment on column memlayer.entities.first_seen_at is 'When the oldest of them was said.';
comment on column memlayer.entities.last_seen_at is 'When the newest of them was said.';
comment on column memlayer.entities.created_at is 'When it was first stored.';
