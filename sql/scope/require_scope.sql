create or replace function memlayer.require_scope(
  p_tenant   text,
  p_user_id  text,
  p_agent_id text,
  p_run_id   text
)
  returns void
  language plpgsql
  stable
  parallel safe
  set search_path from current
as $$
begin
  -- The tenant first: whoever may not use it is told nothing else.
  perform memlayer.require_tenant(p_tenant);
  perform memlayer.require_ids(p_tenant, p_user_id, p_agent_id, p_run_id);
end;
$$;

comment on function memlayer.require_scope is
  'Refuses a call for a tenant that is not the login''s (ML007), one that names nobody (ML001), or by something that is not an id (ML003, ML005).';
