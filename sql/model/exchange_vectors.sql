create or replace function memlayer.exchange_vectors(
  p_tenant text,
  p_from   bigint,
  p_to     bigint,
  out memories bigint,
  out entities bigint,
  out pending  bigint
)
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode = force_custom_plan
  set jit = off
as $$
begin
  -- The vectors of now are kept where those to come are taken from.
  insert into memlayer.other_vector as o (tenant, model, id, is_entity, basis, embedding)
  select p_tenant, p_from, m.id, false, memlayer.vector_basis(m.text, m.context), m.embedding
    from memlayer.memory m
   where m.tenant = p_tenant and m.embedding_model = p_from
  union all
  select p_tenant, p_from, e.id, true, memlayer.vector_basis(e.name), e.embedding
    from memlayer.entity e
   where e.tenant = p_tenant and e.embedding_model = p_from
  on conflict (tenant, model, id) do update set basis = excluded.basis, embedding = excluded.embedding;

  with taken as (
    select m.id, o.embedding
      from memlayer.memory m
      left join memlayer.other_vector o
        on o.tenant = p_tenant and o.model = p_to and o.id = m.id and o.basis = memlayer.vector_basis(m.text, m.context)
     where m.tenant = p_tenant
  ),
  updated as (
    update memlayer.memory m
       set embedding = t.embedding, embedding_model = case when t.embedding is not null then p_to end
      from taken t
     where m.tenant = p_tenant and m.id = t.id and (m.embedding is not null or t.embedding is not null)
    returning m.embedding is null as is_pending
  )
  select count(*), count(*) filter (where u.is_pending) into memories, pending from updated u;

  with taken as (
    select e.id, o.embedding
      from memlayer.entity e
      left join memlayer.other_vector o
        on o.tenant = p_tenant and o.model = p_to and o.id = e.id and o.basis = memlayer.vector_basis(e.name)
     where e.tenant = p_tenant
  )
  update memlayer.entity e
     set embedding = t.embedding, embedding_model = case when t.embedding is not null then p_to end
    from taken t
   where e.tenant = p_tenant and e.id = t.id and (e.embedding is not null or t.embedding is not null);
  get diagnostics entities = row_count;

  delete from memlayer.other_vector o where o.tenant = p_tenant and o.model = p_to;
end;
$$;

comment on function memlayer.exchange_vectors is
  'Gives every memory and entity of a tenant its vector of model p_to from other_vector, and keeps there those of p_from; what has none there waits for one. How many were written, and how many memories wait. The caller holds the model and the rows.';
