create or replace function memlayer.vacuum_expired(
  p_tenant      text     default 'default',
  p_expired_for interval default '0',
  p_batch       int      default null,
  p_dry_run     boolean  default false,
  p_actor       text     default null
)
  returns bigint
  language plpgsql
  volatile
  security definer
  set search_path from current
  set jit = off
as $$
declare
  v_change   uuid := gen_random_uuid();
  v_before   date;
  v_ids      uuid[];
  v_entities uuid[];
  v_deleted  bigint;
begin
  perform memlayer.require_tenant(p_tenant);
  perform memlayer.require_retention(p_expired_for, p_batch);
  v_before := ((memlayer.now() - p_expired_for) at time zone 'UTC')::date;
  if p_dry_run then
    return (select count(*) from memlayer.memory m where m.tenant = p_tenant and m.expires_on < v_before);
  end if;

  v_ids := array(
    select m.id from memlayer.memory m
     where m.tenant = p_tenant and m.expires_on < v_before
     order by m.expires_on, m.id
     limit p_batch);
  if v_ids = '{}' then
    return 0;
  end if;

  -- First the sessions, in one order, as every writer does.
  perform memlayer.lock_sessions(p_tenant, array_agg(s.user_id), array_agg(s.agent_id), array_agg(s.run_id))
     from (select distinct m.user_id, m.agent_id, m.run_id
             from memlayer.memory m
            where m.tenant = p_tenant and m.id = any (v_ids)) s;
  perform set_config('memlayer.change_id', v_change::text, true);
  v_entities := array(
    select distinct n.entity_id from memlayer.mention n where n.tenant = p_tenant and n.memory_id = any (v_ids));
  -- Looked at again: one may have been given more time meanwhile.
  delete from memlayer.memory m where m.tenant = p_tenant and m.id = any (v_ids) and m.expires_on < v_before;
  get diagnostics v_deleted = row_count;
  perform memlayer.drop_orphans(p_tenant, v_entities);

  insert into memlayer.change (tenant, id, operation, actor, deleted)
  values (p_tenant, v_change, 'vacuum_expired', p_actor, v_deleted);
  perform set_config('memlayer.change_id', '', true);
  return v_deleted;
end;
$$;

comment on function memlayer.vacuum_expired is
  'Deletes the memories of a tenant that expired at least p_expired_for ago, at most p_batch of them, and returns how many: as delete does, so that history keeps them and restore brings them back. p_dry_run counts all there are.';
