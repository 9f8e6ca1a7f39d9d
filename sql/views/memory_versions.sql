create or replace view memlayer.memory_versions
  with (security_invoker = true)
as
select h.tenant, h.memory_id, h.version,
       h.user_id, h.agent_id, h.run_id,
       h.event,
       h.old_state ->> 'text' as old_text,
       h.new_state ->> 'text' as new_text,
       case when h.event = 'UPDATE' then memlayer.changed_keys(h.old_state, h.new_state) else '{}' end as changed_keys,
       h.old_state -> 'metadata' as old_metadata,
       h.new_state -> 'metadata' as new_metadata,
       (h.old_state ->> 'expires_on')::date as old_expires_on,
       (h.new_state ->> 'expires_on')::date as new_expires_on,
       h.recorded_at,
       h.change_id,
       coalesce(c.operation, 'plain SQL') as operation,
       c.actor,
       h.database_role, h.application_name, h.client_address,
       h.transaction_id::text as transaction_id
  from memlayer.history h
  left join memlayer.change c on c.tenant = h.tenant and c.id = h.change_id;

comment on view memlayer.memory_versions is 'One row a change of one memory, with the text before and after and whoever made it; rows stay when the memory is deleted.';
comment on column memlayer.memory_versions.tenant is 'The customer or application the row belongs to.';
comment on column memlayer.memory_versions.memory_id is 'The memory that changed: id of memories, while it stands.';
comment on column memlayer.memory_versions.version is 'The version the change made; a deletion makes one too.';
comment on column memlayer.memory_versions.user_id is 'User of the memory.';
comment on column memlayer.memory_versions.agent_id is 'Agent of the memory.';
comment on column memlayer.memory_versions.run_id is 'Run of the memory.';
comment on column memlayer.memory_versions.event is 'ADD, UPDATE, DELETE; BASELINE stands for older rows that retention took away.';
comment on column memlayer.memory_versions.old_text is 'The text before; null for ADD.';
comment on column memlayer.memory_versions.new_text is 'The text after; null for DELETE.';
comment on column memlayer.memory_versions.changed_keys is 'What an UPDATE changed: names of columns, and metadata.key for keys of metadata; empty for other events.';
comment on column memlayer.memory_versions.old_metadata is 'The application''s own keys before.';
comment on column memlayer.memory_versions.new_metadata is 'The application''s own keys after.';
comment on column memlayer.memory_versions.old_expires_on is 'The last day it was to be found on, before.';
comment on column memlayer.memory_versions.new_expires_on is 'The last day it was to be found on, after.';
comment on column memlayer.memory_versions.recorded_at is 'When it happened.';
comment on column memlayer.memory_versions.change_id is 'The call that made it: id of changes; null for a plain SQL statement.';
comment on column memlayer.memory_versions.operation is 'What that call was: add, update, delete, …; plain SQL for a statement.';
comment on column memlayer.memory_versions.actor is 'A label the caller chose for whoever acted.';
comment on column memlayer.memory_versions.database_role is 'The role that had logged in.';
comment on column memlayer.memory_versions.application_name is 'What the connection called itself.';
comment on column memlayer.memory_versions.client_address is 'Address of the client; null over a Unix socket.';
comment on column memlayer.memory_versions.transaction_id is 'The transaction that made it.';
