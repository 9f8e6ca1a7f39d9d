create or replace function memlayer.model_of_vectors(
  p_tenant     text,
  p_name       text,
  p_embeddings halfvec[]
)
  returns memlayer.model
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode = force_generic_plan
as $$
declare
  v_active   memlayer.model;
  v_shortest int;
  v_longest  int;
begin
  select min(vector_dims(v)), max(vector_dims(v)) into v_shortest, v_longest from unnest(p_embeddings) v;
  if v_shortest is not null then
    select * into v_active from memlayer.model where tenant = p_tenant and state = 'active';
    if not found or p_name <> v_active.name or v_shortest <> v_active.dimensions or v_longest <> v_active.dimensions then
      perform memlayer.active_model(p_tenant, p_name, v_shortest), memlayer.active_model(p_tenant, p_name, v_longest);
      select * into v_active from memlayer.model where tenant = p_tenant and state = 'active';
    end if;
  end if;
  return v_active;
end;
$$;

comment on function memlayer.model_of_vectors is
  'The tenant''s active embedding model, if all these vectors are of it (else ML004), registering the first one used; null where there is no vector.';
