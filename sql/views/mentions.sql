create or replace view memlayer.mentions
  with (security_invoker = true)
as
select n.tenant, n.memory_id, n.entity_id,
       m.user_id, m.agent_id, m.run_id,
       e.name as entity, e.type as entity_type,
       m.text as memory,
       m.observed_at
  from memlayer.mention n
  join memlayer.memory m on m.tenant = n.tenant and m.id = n.memory_id
  join memlayer.entity e on e.tenant = n.tenant and e.id = n.entity_id;

comment on view memlayer.mentions is 'One row a memory and an entity it names.';
comment on column memlayer.mentions.tenant is 'The customer or application the row belongs to.';
comment on column memlayer.mentions.memory_id is 'The memory: id of memories.';
comment on column memlayer.mentions.entity_id is 'The entity: id of entities.';
comment on column memlayer.mentions.user_id is 'User of the memory.';
comment on column memlayer.mentions.agent_id is 'Agent of the memory.';
comment on column memlayer.mentions.run_id is 'Run of the memory.';
comment on column memlayer.mentions.entity is 'Name of the entity.';
comment on column memlayer.mentions.entity_type is 'person, place, organization, …; null when unknown.';
comment on column memlayer.mentions.memory is 'Text of the memory.';
comment on column memlayer.mentions.observed_at is 'When the memory was said.';
