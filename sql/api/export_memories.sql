create or replace function memlayer.export_memories(
  p_tenant   text default 'default',
  p_user_id  text default null,
  p_agent_id text default null,
  p_run_id   text default null,
  p_after    uuid default null,
  p_limit    int  default 100
)
  returns table (
    id uuid, user_id text, agent_id text, run_id text, text text, context text, metadata jsonb, memory_type text,
    role text, actor_id text, attributed_to text, expires_on date, observed_at timestamptz, created_at timestamptz,
    embedding bytea, embedding_model text, entities jsonb, links jsonb)
  language plpgsql
  stable
  security definer
  set search_path from current
  set jit = off
as $$
#variable_conflict use_column
begin
  perform memlayer.require_tenant(p_tenant);
  perform memlayer.require_top_k(p_limit);
  return query execute format(
    $sql$
    with page as materialized (
      select m.*
        from memlayer.memory m
       where %s and ($5 is null or m.id > $5)
       order by m.id
       limit $6
    )
    select p.id, p.user_id, p.agent_id, p.run_id, p.text, p.context, p.metadata, p.memory_type,
           p.role, p.actor_id, p.attributed_to, p.expires_on, p.observed_at, p.created_at,
           halfvec_send(p.embedding), d.name, e.entities, l.links
      from page p
      left join memlayer.model d on d.tenant = p.tenant and d.id = p.embedding_model
     cross join lateral (
       select coalesce(jsonb_agg(jsonb_build_object(
                'name',            e.name,
                'type',            e.type,
                -- Once, with the first memory that names it.
                'embedding',       case when f.is_first then encode(halfvec_send(e.embedding), 'hex') end,
                'embedding_model', case when f.is_first then d.name end) order by e.folded_name), '[]') as entities
         from memlayer.mention n
         join memlayer.entity e on e.tenant = n.tenant and e.id = n.entity_id
         left join memlayer.model d on d.tenant = e.tenant and d.id = e.embedding_model
        cross join lateral (
          select not exists (
            select from memlayer.mention b where b.tenant = $1 and b.entity_id = n.entity_id and b.memory_id < n.memory_id) as is_first) f
        where n.tenant = $1 and n.memory_id = p.id) e
     cross join lateral (
       select coalesce(jsonb_agg(jsonb_build_object('id', l.linked_id, 'kind', l.kind) order by l.linked_id, l.kind), '[]') as links
         from memlayer.link l
        where l.tenant = $1 and l.memory_id = p.id) l
     order by p.id
    $sql$,
    memlayer.scope_predicate('m', p_user_id, p_agent_id, p_run_id))
    using p_tenant, p_user_id, p_agent_id, p_run_id, p_after, p_limit;
end;
$$;

comment on function memlayer.export_memories is
  'The memories of a tenant that carry at least the given ids, expired ones too, by id, with what memlayer.import_memories needs to store them anew: vector, model, entities and links. p_after takes the id of the last row of the page before. Vectors in the binary form of halfvec, that of an entity (as hexadecimal digits) with the first memory that names it.';
