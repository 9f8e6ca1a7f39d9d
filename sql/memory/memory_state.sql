create or replace function memlayer.memory_state(p_memory memlayer.memory)
  returns jsonb
  language sql
  stable
  parallel safe
-- Whatever a caller can set; derived columns follow from these. Times as UTC, so that text compares.
return jsonb_build_object(
  'text',            (p_memory).text,
  'context',         (p_memory).context,
  'metadata',        (p_memory).metadata,
  'memory_type',     (p_memory).memory_type,
  'role',            (p_memory).role,
  'actor_id',        (p_memory).actor_id,
  'attributed_to',   (p_memory).attributed_to,
  'expires_on',      (p_memory).expires_on,
  'observed_at',     (p_memory).observed_at at time zone 'UTC',
  'created_at',      (p_memory).created_at at time zone 'UTC',
  'updated_at',      (p_memory).updated_at at time zone 'UTC',
  'embedding_model', (p_memory).embedding_model);

comment on function memlayer.memory_state is
  'A memory as history keeps it: every column a writer can set but its ids and vector.';
