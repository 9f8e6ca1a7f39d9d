create or replace view memlayer.changes
  with (security_invoker = true)
as
select c.tenant, c.id, c.user_id, c.agent_id, c.run_id,
       c.operation, c.actor,
       c.added, c.updated, c.deleted, c.skipped, c.entities, c.messages,
       c.llm,
       (select d.name from memlayer.model d where d.tenant = c.tenant and d.id = c.embedding_model) as embedding_model,
       c.prompt_tokens, c.completion_tokens, c.embedding_tokens,
       coalesce(c.prompt_tokens, 0) + coalesce(c.completion_tokens, 0) + coalesce(c.embedding_tokens, 0) as total_tokens,
       c.database_role, c.application_name, c.client_address,
       c.transaction_id::text as transaction_id,
       c.recorded_at
  from memlayer.change c;

comment on view memlayer.changes is 'One row a call that wrote: what it did, for whom, by whom, and the tokens it cost.';
comment on column memlayer.changes.tenant is 'The customer or application the row belongs to.';
comment on column memlayer.changes.id is 'Names the call; change_id of memory_versions.';
comment on column memlayer.changes.user_id is 'User the call named or the memory belongs to.';
comment on column memlayer.changes.agent_id is 'Agent the call named or the memory belongs to.';
comment on column memlayer.changes.run_id is 'Run the call named or the memory belongs to.';
comment on column memlayer.changes.operation is 'add, procedural, update, delete, delete_all, reset, …';
comment on column memlayer.changes.actor is 'A label the caller chose for whoever acted.';
comment on column memlayer.changes.added is 'Memories added.';
comment on column memlayer.changes.updated is 'Memories updated.';
comment on column memlayer.changes.deleted is 'Memories deleted.';
comment on column memlayer.changes.skipped is 'Facts not stored because the scope already had them.';
comment on column memlayer.changes.entities is 'Entities added.';
comment on column memlayer.changes.messages is 'Messages buffered.';
comment on column memlayer.changes.llm is 'Chat model that extracted the facts; null for verbatim storage.';
comment on column memlayer.changes.embedding_model is 'Name of the embedding model of the vectors that were stored.';
comment on column memlayer.changes.prompt_tokens is 'Tokens sent to the chat model, as it reported them.';
comment on column memlayer.changes.completion_tokens is 'Tokens the chat model answered with.';
comment on column memlayer.changes.embedding_tokens is 'Tokens sent to the embedding model.';
comment on column memlayer.changes.total_tokens is 'The three together; 0 where no model was asked or none reported any.';
comment on column memlayer.changes.database_role is 'The role that had logged in.';
comment on column memlayer.changes.application_name is 'What the connection called itself.';
comment on column memlayer.changes.client_address is 'Address of the client; null over a Unix socket.';
comment on column memlayer.changes.transaction_id is 'The transaction that wrote.';
comment on column memlayer.changes.recorded_at is 'When it happened.';
