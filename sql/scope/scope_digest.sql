create or replace function memlayer.scope_digest(
  p_user_id  text default null,
  p_agent_id text default null,
  p_run_id   text default null
)
  returns text
  language sql
  immutable
  parallel safe
return encode(sha256(convert_to(jsonb_build_array(p_user_id, p_agent_id, p_run_id)::text, 'UTF8')), 'hex');

comment on function memlayer.scope_digest is
  'SHA-256, in hex, of the ids of a scope, as receipts of erasures keep it. Whoever can guess an id can check the guess.';
