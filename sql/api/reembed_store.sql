create or replace function memlayer.reembed_store(
  p_tenant     text      default 'default',
  p_model      text      default null,
  p_entities   boolean   default false,
  p_rows       jsonb     default '[]',
  p_embeddings halfvec[] default null
)
  returns table (stored bigint)
  language plpgsql
  volatile
  security definer
  set search_path from current
  set plan_cache_mode = force_custom_plan
  set jit = off
as $$
#variable_conflict use_column
declare
  v_next memlayer.model;
begin
  perform memlayer.require_tenant(p_tenant);
  perform memlayer.require_vectors(p_embeddings);
  select d.* into v_next
    from memlayer.model a
    join memlayer.model d on d.tenant = p_tenant and d.id = a.replaced_by
   where a.tenant = p_tenant and a.state = 'active';
  if v_next.id is null then
    raise exception using
      errcode = 'ML004',
      message = format('tenant %s is not being re-embedded', p_tenant),
      hint    = 'It was given up or cut over meanwhile: run memlayer reembed again.';
  end if;
  perform memlayer.require_model(p_tenant, v_next.name, v_next.dimensions, p_model, vector_dims(v))
     from unnest(p_embeddings) v;
  if not p_entities then
    perform memlayer.require_direction(v) from unnest(p_embeddings) v;
  end if;

  -- What is being deleted is waited for and left out: no vector outlives an erasure.
  return query
    with given as (
      select (r.value ->> 'id')::uuid as id, r.value ->> 'basis' as basis, p_embeddings[r.ordinality] as embedding
        from jsonb_array_elements(p_rows) with ordinality r
    ),
    standing as materialized (
      select m.id from memlayer.memory m
       where not p_entities and m.tenant = p_tenant and m.id in (select g.id from given g) order by m.id for key share
    ),
    named as materialized (
      select e.id from memlayer.entity e
       where p_entities and e.tenant = p_tenant and e.id in (select g.id from given g) order by e.id for key share
    ),
    stored as (
      insert into memlayer.other_vector (tenant, model, id, is_entity, basis, embedding)
      select p_tenant, v_next.id, g.id, p_entities, g.basis, case when l2_norm(g.embedding) > 0 then g.embedding end
        from given g
       where g.id in (select s.id from standing s union all select n.id from named n)
       order by g.id
      on conflict on constraint other_vector_pkey do update set basis = excluded.basis, embedding = excluded.embedding
      returning id
    )
    select count(*) from stored;
end;
$$;

comment on function memlayer.reembed_store is
  'Keeps vectors of the next model of a tenant until memlayer.reembed_cut_over: p_rows holds id and basis as memlayer.reembed_page gave them, p_embeddings their vectors by position. How many it stored.';
