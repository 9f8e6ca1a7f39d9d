create or replace function memlayer.memory_state(
  p_text            text,
  p_context         text,
  p_metadata        jsonb,
  p_memory_type     text,
  p_role            text,
  p_actor_id        text,
  p_attributed_to   text,
  p_expires_on      date,
  p_observed_at     timestamptz,
  p_created_at      timestamptz,
  p_updated_at      timestamptz,
  p_embedding_model bigint
)
  returns jsonb
  language sql
  stable
  parallel safe
-- Whatever a caller can set; derived columns follow from these. Times as UTC, so that text compares.
-- Column by column: a row handed over whole would be copied for each of them, vector and all.
return jsonb_build_object(
  'text',            p_text,
  'context',         p_context,
  'metadata',        p_metadata,
  'memory_type',     p_memory_type,
  'role',            p_role,
  'actor_id',        p_actor_id,
  'attributed_to',   p_attributed_to,
  'expires_on',      p_expires_on,
  'observed_at',     p_observed_at at time zone 'UTC',
  'created_at',      p_created_at at time zone 'UTC',
  'updated_at',      p_updated_at at time zone 'UTC',
  'embedding_model', p_embedding_model);

comment on function memlayer.memory_state is
  'A memory as history keeps it: every column a writer can set but its ids and vector.';
