create or replace function memlayer.handshake()
  returns table (revision text, breaking_revision text, halfvec_oid bigint, server_version int, vector_version text)
  language sql
  stable
begin atomic
  select (select max(d.revision) from memlayer.deployment d),
         (select max(d.revision) from memlayer.deployment d where d.breaking),
         (select e.atttypid::bigint from pg_catalog.pg_attribute e
           where e.attrelid = 'memlayer.memory'::regclass and e.attname = 'embedding'),
         current_setting('server_version_num')::int,
         (select x.extversion from pg_catalog.pg_extension x where x.extname = 'vector');
end;

comment on function memlayer.handshake is
  'What a client asks first: the newest revision applied, the newest that breaks older clients, and the type it sends vectors as.';
