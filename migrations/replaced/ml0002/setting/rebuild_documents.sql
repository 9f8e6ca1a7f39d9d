create or replace function memlayer.rebuild_documents(
  p_tenant text default 'default',
  p_after  uuid default null,
  p_limit  int  default 1000
)
  returns table (last_id uuid, rebuilt int, remaining bigint)
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode = force_custom_plan
  set jit = off
as $$
declare
  v_config regconfig := memlayer.text_search_config(p_tenant);
  v_ids    uuid[];
begin
  v_ids := array(
    select m.id from memlayer.memory m
     where m.tenant = p_tenant and (p_after is null or m.id > p_after)
     order by m.id limit p_limit);
  if cardinality(v_ids) = p_limit then
    last_id := v_ids[p_limit];
  end if;

  -- What is right already is not written again, so a call that is repeated costs little. The trigger
  -- makes the document of whatever row has its document touched; an empty one has to be touched, too.
  with old as materialized (
    select m.id from memlayer.memory m
     where m.tenant = p_tenant and m.id = any (v_ids)
       and m.document <> memlayer.document(m.text, m.context, v_config)
     order by m.id
       for no key update
  )
  update memlayer.memory m
     set document = case when m.document = '' then 'touched' else '' end::tsvector
    from old
   where m.tenant = p_tenant and m.id = old.id;
  get diagnostics rebuilt = row_count;

  -- Counted once: to count what is left with every batch would take longer and longer in all.
  if p_after is null then
    select count(*) into remaining from memlayer.memory m where m.tenant = p_tenant and m.id > last_id;
  end if;
  return next;
end;
$$;

comment on function memlayer.rebuild_documents is
  'Makes the keyword documents of up to p_limit memories of a tenant, those after the id p_after, what its text-search configuration now makes of them; no version, time or history changes. Called again with p_after => last_id until last_id is null. rebuilt: how many were out of date. remaining: how many memories come after these; only of the first call.';
