create or replace function memlayer.reembed_plan(
  p_tenant       text    default 'default',
  p_model        text    default null,
  p_with_context boolean default false
)
  returns table (
    model text, dimensions int, next_model text, next_dimensions int, kept_model text, kept_dimensions int,
    memories bigint, entities bigint, remaining bigint, characters bigint, bytes bigint)
  language plpgsql
  stable
  security definer
  set search_path from current
  set plan_cache_mode = force_custom_plan
  set jit = off
as $$
#variable_conflict use_column
declare
  v_active memlayer.model;
  v_next   memlayer.model;
  v_kept   memlayer.model;
  v_target bigint;
begin
  perform memlayer.require_tenant(p_tenant);
  select * into v_active from memlayer.model d where d.tenant = p_tenant and d.state = 'active';
  select * into v_next from memlayer.model d where d.tenant = p_tenant and d.id = v_active.replaced_by;
  select * into v_kept from memlayer.model d where d.tenant = p_tenant and d.id = v_active.replaces;
  if v_next.id is not null and v_next.name <> p_model then
    raise exception using
      errcode = 'ML004',
      message = format('the memories of tenant %s are being re-embedded with %s (%s dimensions), not with %s',
                       p_tenant, v_next.name, v_next.dimensions, p_model),
      hint    = 'Name that model to go on, or give it up with memlayer reembed --rollback.';
  end if;
  if v_kept.id is not null and v_kept.name <> p_model and v_active.name <> p_model then
    raise exception using
      errcode = 'ML004',
      message = format('the vectors of %s (%s dimensions), which tenant %s had before %s, are still kept',
                       v_kept.name, v_kept.dimensions, p_tenant, v_active.name),
      hint    = 'Drop them with memlayer reembed --finish; then another model may follow.';
  end if;

  v_target := case when v_next.id is not null then v_next.id when v_kept.name = p_model then v_kept.id end;
  return query
    with text as materialized (
      select false as is_entity, case when p_with_context then coalesce(m.context || E'\n', '') else '' end || m.text as text, o.id is null as is_left
        from memlayer.memory m
        left join memlayer.other_vector o
          on o.tenant = p_tenant and o.model = v_target and o.id = m.id and o.basis = memlayer.vector_basis(m.text, m.context)
       where m.tenant = p_tenant
      union all
      select true, e.name, o.id is null
        from memlayer.entity e
        left join memlayer.other_vector o
          on o.tenant = p_tenant and o.model = v_target and o.id = e.id and o.basis = memlayer.vector_basis(e.name)
       where e.tenant = p_tenant
    )
    select v_active.name, v_active.dimensions, v_next.name, v_next.dimensions, v_kept.name, v_kept.dimensions,
           count(*) filter (where not t.is_entity), count(*) filter (where t.is_entity), count(*) filter (where t.is_left),
           coalesce(sum(length(t.text)) filter (where t.is_left), 0)::bigint,
           coalesce(sum(octet_length(t.text)) filter (where t.is_left), 0)::bigint
      from text t;
end;
$$;

comment on function memlayer.reembed_plan is
  'One row: the models of a tenant (active; next, while it is re-embedded; kept, until memlayer.reembed_finish), how many memories and entities there are, and of how many with how much text a re-embedding with p_model has still to make vectors. p_with_context: with what was said before, which is part of the vector then. ML004 where another model is on its way, or one before is still kept.';
