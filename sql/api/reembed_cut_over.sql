create or replace function memlayer.reembed_cut_over(
  p_tenant     text    default 'default',
  p_incomplete boolean default false,
  p_actor      text    default null
)
  returns table (memories bigint, entities bigint, pending bigint, remaining bigint)
  language plpgsql
  volatile
  security definer
  set search_path from current
  set plan_cache_mode = force_custom_plan
  set jit = off
as $$
#variable_conflict use_column
declare
  v_change uuid := gen_random_uuid();
  v_active memlayer.model;
  v_left   bigint;
  v_done   record;
begin
  perform memlayer.require_tenant(p_tenant);
  perform memlayer.hold_model(p_tenant, p_exclusively => true);
  select * into v_active from memlayer.model d where d.tenant = p_tenant and d.state = 'active' for no key update;
  -- That of before reembed_close is not enough: this may be another transaction.
  if v_active.replaced_by is null or v_active.closing is null or pg_snapshot_xmin(pg_current_snapshot()) <= v_active.closing then
    raise exception using
      errcode = 'ML004',
      message = format('tenant %s is not ready for another model', p_tenant),
      hint    = 'Call memlayer.reembed_close first, until it is true.';
  end if;

  -- In the order of all writers. From here on no text changes.
  perform from memlayer.memory m where m.tenant = p_tenant order by m.id for update;
  perform from memlayer.entity e where e.tenant = p_tenant order by e.id for update;
  if not p_incomplete then
    select p.remaining into v_left from memlayer.reembed_plan(p_tenant) p;
    if v_left > 0 then
      return query select 0::bigint, 0::bigint, 0::bigint, v_left;
      return;
    end if;
  end if;

  perform set_config('memlayer.change_id', v_change::text, true);
  v_done := memlayer.exchange_vectors(p_tenant, v_active.id, v_active.replaced_by);
  update memlayer.model d
     set state = 'retired', replaced_by = null, replaces = null, closing = null
   where d.tenant = p_tenant and d.id = v_active.id;
  update memlayer.model d
     set state = 'active', replaces = v_active.id
   where d.tenant = p_tenant and d.id = v_active.replaced_by;
  perform memlayer.calibrate(p_tenant, v_active.replaced_by);
  insert into memlayer.change (tenant, id, operation, actor, updated, embedding_model)
  values (p_tenant, v_change, 'reembed', p_actor, v_done.memories, v_active.replaced_by);
  perform set_config('memlayer.change_id', '', true);

  return query select v_done.memories, v_done.entities, v_done.pending, 0::bigint;
end;
$$;

comment on function memlayer.reembed_cut_over is
  'Makes the next model of a tenant the active one, in one transaction: every memory and entity takes its vector of it, those of now are kept in other_vector, and the calibration is estimated. Nothing happens while some have none yet (remaining), unless p_incomplete: those wait for a vector then (pending). Searches go on meanwhile, with the old vectors until it is committed; who writes memories of the tenant waits.';
