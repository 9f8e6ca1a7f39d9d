create or replace function memlayer.scope_predicate(
  p_alias    text,
  p_user_id  text,
  p_agent_id text,
  p_run_id   text
)
  returns text
  language sql
  immutable
  parallel safe
-- Only the ids that were given: "or $2 is null" would cost the index.
return concat_ws(' and ',
  format('%I.tenant = $1', p_alias),
  case when p_user_id  is not null then format('%I.user_id = $2',  p_alias) end,
  case when p_agent_id is not null then format('%I.agent_id = $3', p_alias) end,
  case when p_run_id   is not null then format('%I.run_id = $4',   p_alias) end);

comment on function memlayer.scope_predicate is
  'SQL text that holds for rows carrying at least the given ids; expects tenant, user, agent and run as parameters $1 to $4.';
