create or replace function memlayer.changes(
  p_tenant   text default 'default',
  p_user_id  text default null,
  p_agent_id text default null,
  p_run_id   text default null,
  p_top_k    int  default 20,
  p_after    text default null
)
  returns table (
    id uuid, operation text, undoes uuid, user_id text, agent_id text, run_id text, actor text,
    added int, updated int, deleted int, skipped int, entities int, messages int,
    llm text, prompt_tokens bigint, completion_tokens bigint, embedding_tokens bigint,
    database_role text, application_name text, client_address inet, recorded_at timestamptz, cursor text, has_more boolean)
  language plpgsql
  stable
  security definer
  set search_path from current
  set plan_cache_mode = force_custom_plan
  set jit = off
as $$
#variable_conflict use_column
declare
  v_after record;
begin
  perform memlayer.require_tenant(p_tenant);
  perform memlayer.require_top_k(p_top_k);
  select * into v_after from memlayer.cursor_position(p_after);
  return query
    with page as (
      select c.*
        from memlayer.change c
       where c.tenant = p_tenant
         and (p_after is null or (c.recorded_at, c.id) < (v_after.created_at, v_after.id))
         -- The ids that the call named, or those of a memory that it wrote.
         and ((p_user_id is null or c.user_id = p_user_id)
              and (p_agent_id is null or c.agent_id = p_agent_id)
              and (p_run_id is null or c.run_id = p_run_id)
              or exists (
                select from memlayer.history h
                 where h.tenant = p_tenant and h.change_id = c.id
                   and (p_user_id is null or h.user_id = p_user_id)
                   and (p_agent_id is null or h.agent_id = p_agent_id)
                   and (p_run_id is null or h.run_id = p_run_id)))
       order by c.recorded_at desc, c.id desc
       limit least(p_top_k::bigint + 1, 2147483647)
    ),
    numbered as (
      select p.*, row_number() over (order by p.recorded_at desc, p.id desc) as place, count(*) over () > p_top_k as has_more
        from page p
    )
    select n.id, n.operation, n.undoes, n.user_id, n.agent_id, n.run_id, n.actor,
           n.added, n.updated, n.deleted, n.skipped, n.entities, n.messages,
           n.llm, n.prompt_tokens, n.completion_tokens, n.embedding_tokens,
           n.database_role, n.application_name, n.client_address, n.recorded_at,
           memlayer.cursor_after(n.recorded_at, n.id), n.has_more
      from numbered n
     where n.place <= p_top_k
     order by n.place;
end;
$$;

comment on function memlayer.changes is
  'The calls that wrote to memories of a scope (of the tenant, without ids), newest first: what each did, for whom, with how many tokens. undoes: of an undo, the call it reversed. p_after takes the cursor of the last row of the page before.';
