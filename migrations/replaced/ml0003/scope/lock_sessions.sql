create or replace function memlayer.lock_sessions(
  p_tenant    text,
  p_user_ids  text[],
  p_agent_ids text[],
  p_run_ids   text[]
)
  returns void
  language plpgsql
  volatile
  set search_path from current
as $$
#variable_conflict use_column
declare
  v_ids uuid[];
begin
  insert into memlayer.session (tenant, user_id, agent_id, run_id)
  select distinct p_tenant, w.user_id, w.agent_id, w.run_id
    from unnest(p_user_ids, p_agent_ids, p_run_ids) w (user_id, agent_id, run_id)
   order by w.user_id, w.agent_id, w.run_id
  on conflict do nothing;

  -- limit: each is looked up, and not joined with all there are.
  v_ids := array(
    select s.id
      from (select distinct u.* from unnest(p_user_ids, p_agent_ids, p_run_ids) u) w (user_id, agent_id, run_id)
     cross join lateral (
       select s.id
         from memlayer.session s
        where s.tenant = p_tenant
          and coalesce(s.user_id, '')  = coalesce(w.user_id, '')
          and coalesce(s.agent_id, '') = coalesce(w.agent_id, '')
          and coalesce(s.run_id, '')   = coalesce(w.run_id, '')
        limit 1) s);

  -- By id, as everybody does who locks several.
  perform
     from memlayer.session s
    where s.tenant = p_tenant and s.id = any (v_ids)
    order by s.id
      for no key update;
end;
$$;

comment on function memlayer.lock_sessions is
  'Locks the rows of several exact scopes until the transaction ends, making those that are missing. Scopes stand in the three arrays by position.';
