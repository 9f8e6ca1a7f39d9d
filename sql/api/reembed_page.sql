create or replace function memlayer.reembed_page(
  p_tenant   text    default 'default',
  p_entities boolean default false,
  p_after    uuid    default null,
  p_limit    int     default 100
)
  returns table (id uuid, text text, context text, basis text)
  language plpgsql
  stable
  security definer
  set search_path from current
  set plan_cache_mode = force_custom_plan
  set jit = off
as $$
#variable_conflict use_column
declare
  v_next bigint;
begin
  perform memlayer.require_tenant(p_tenant);
  perform memlayer.require_top_k(p_limit);
  v_next := (select d.replaced_by from memlayer.model d where d.tenant = p_tenant and d.state = 'active');
  if p_entities then
    return query
      select e.id, e.name, null::text, memlayer.vector_basis(e.name)
        from memlayer.entity e
       where e.tenant = p_tenant and (p_after is null or e.id > p_after)
         and not exists (
           select from memlayer.other_vector o
            where o.tenant = p_tenant and o.model = v_next and o.id = e.id and o.basis = memlayer.vector_basis(e.name))
       order by e.id
       limit p_limit;
  else
    return query
      select m.id, m.text, m.context, memlayer.vector_basis(m.text, m.context)
        from memlayer.memory m
       where m.tenant = p_tenant and (p_after is null or m.id > p_after)
         and not exists (
           select from memlayer.other_vector o
            where o.tenant = p_tenant and o.model = v_next and o.id = m.id
              and o.basis = memlayer.vector_basis(m.text, m.context))
       order by m.id
       limit p_limit;
  end if;
end;
$$;

comment on function memlayer.reembed_page is
  'Memories (or entities) that have no vector of the next model yet, by id; p_after takes the id of the last row of the page before. basis goes to memlayer.reembed_store with the vector.';
