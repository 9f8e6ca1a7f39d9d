create or replace function memlayer.filter_kind(
  p_key text
)
  returns text
  language sql
  immutable
  strict
  parallel safe
-- Columns whose names a caller's own metadata may well use (id, version, hash) are not among them.
return case
  when p_key in ('created_at', 'updated_at', 'observed_at', 'expires_on', 'expiration_date') then 'time'
  when p_key in ('user_id', 'agent_id', 'run_id', 'actor_id', 'role', 'attributed_to', 'memory_type') then 'text'
  else 'metadata'
end;

comment on function memlayer.filter_kind is
  'What a key of a filter names: a time column, a text column or metadata ("metadata.role" is the key role of metadata).';
