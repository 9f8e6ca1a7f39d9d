create or replace function memlayer.import_links(
  p_tenant text  default 'default',
  p_links  jsonb default '[]'
)
  returns table (linked bigint, left_out bigint)
  language plpgsql
  volatile
  security definer
  set search_path from current
  set plan_cache_mode = force_custom_plan
as $$
declare
  v_wanted bigint;
  v_found  bigint;
begin
  perform memlayer.require_tenant(p_tenant);
  with wanted as (
    select distinct l.memory_id, l.linked_id, coalesce(l.kind, 'related') as kind
      from jsonb_to_recordset(p_links) l (memory_id uuid, linked_id uuid, kind text)
     where l.memory_id <> l.linked_id
  ),
  -- One that is being deleted is waited for and left out.
  memory as materialized (
    select m.id, m.user_id, m.agent_id, m.run_id
      from memlayer.memory m
     where m.tenant = p_tenant
       and m.id in (select w.memory_id from wanted w union select w.linked_id from wanted w)
     order by m.id
       for key share
  ),
  found as materialized (
    select w.*
      from wanted w
      join memory a on a.id = w.memory_id
      join memory b on b.id = w.linked_id
     where (a.user_id  is null or b.user_id  = a.user_id)
       and (a.agent_id is null or b.agent_id = a.agent_id)
       and (a.run_id   is null or b.run_id   = a.run_id)
  ),
  stored as (
    insert into memlayer.link (tenant, memory_id, linked_id, kind)
    select p_tenant, f.memory_id, f.linked_id, f.kind
      from found f
     order by f.memory_id, f.linked_id, f.kind
    on conflict do nothing
  )
  select (select count(*) from wanted), (select count(*) from found) into v_wanted, v_found;
  return query select v_found, v_wanted - v_found;
end;
$$;

comment on function memlayer.import_links is
  'Stores references between memories that stand there: p_links holds objects with memory_id, linked_id and kind (related, updates, contradicts). As in memlayer.add the older one lies within the scope of the newer one. How many stand now, and how many were left out because one of the two is not there.';
