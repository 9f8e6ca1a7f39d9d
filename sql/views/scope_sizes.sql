create or replace view memlayer.scope_sizes
  with (security_invoker = true)
as
select m.tenant, i.kind, i.scope_id,
       count(*) as memories,
       count(*) filter (where m.expires_on < memlayer.today()) as expired,
       count(*) filter (where m.embedding is null) as pending,
       -- Stored as they are, compressed or not: nothing is unpacked for being measured.
       sum(pg_column_size(m.text) + coalesce(pg_column_size(m.context), 0) + pg_column_size(m.document)
         + coalesce(pg_column_size(m.embedding), 0) + pg_column_size(m.metadata)) as bytes,
       min(m.created_at) as oldest_at,
       max(m.created_at) as newest_at,
       max(m.updated_at) as updated_at
  from memlayer.memory m
 cross join lateral (values ('user', m.user_id), ('agent', m.agent_id), ('run', m.run_id)) i (kind, scope_id)
 where i.scope_id is not null
 group by m.tenant, i.kind, i.scope_id;

comment on view memlayer.scope_sizes is 'One row a user, agent or run that has memories. A memory of a user and an agent counts for both.';
comment on column memlayer.scope_sizes.tenant is 'The customer or application the row belongs to.';
comment on column memlayer.scope_sizes.kind is 'user, agent or run.';
comment on column memlayer.scope_sizes.scope_id is 'Id of the user, agent or run.';
comment on column memlayer.scope_sizes.memories is 'How many memories carry the id, expired ones too.';
comment on column memlayer.scope_sizes.expired is 'How many of them have expired.';
comment on column memlayer.scope_sizes.pending is 'How many wait for their vector.';
comment on column memlayer.scope_sizes.bytes is 'About what they take on disk: text, words, vector and metadata, without row heads and indexes.';
comment on column memlayer.scope_sizes.oldest_at is 'When the first of them was stored.';
comment on column memlayer.scope_sizes.newest_at is 'When the last of them was stored.';
comment on column memlayer.scope_sizes.updated_at is 'When one of them last changed.';
