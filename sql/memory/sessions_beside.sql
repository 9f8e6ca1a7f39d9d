create or replace function memlayer.sessions_beside(
  p_tenant text,
  p_ids    uuid[]
)
  returns uuid[]
  language sql
  stable
begin atomic
  with other as (
    select l.memory_id as id from memlayer.link l where l.tenant = p_tenant and l.linked_id = any (p_ids)
    union
    select l.linked_id from memlayer.link l where l.tenant = p_tenant and l.memory_id = any (p_ids)
    union
    select l.memory_id from memlayer.former_link l where l.tenant = p_tenant and l.linked_id = any (p_ids)
    union
    select l.linked_id from memlayer.former_link l where l.tenant = p_tenant and l.memory_id = any (p_ids)
  )
  select array(
    select distinct s.id
      from other o
      join memlayer.history h on h.tenant = p_tenant and h.memory_id = o.id
      join memlayer.session s
        on s.tenant = p_tenant
       and coalesce(s.user_id, '') = coalesce(h.user_id, '')
       and coalesce(s.agent_id, '') = coalesce(h.agent_id, '')
       and coalesce(s.run_id, '') = coalesce(h.run_id, ''));
end;

comment on function memlayer.sessions_beside is
  'The sessions of memories that refer or referred to one of these, or one of these to them: whoever takes these away rewrites the history of those.';
