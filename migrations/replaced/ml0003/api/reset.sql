create or replace function memlayer.reset(
  p_tenant text default 'default',
  p_actor  text default null
)
  returns table (deleted bigint)
  language plpgsql
  volatile
  security definer
  set search_path from current
as $$
declare
  v_change  uuid := gen_random_uuid();
  v_deleted bigint;
begin
  perform memlayer.require_tenant(p_tenant);
  perform set_config('memlayer.change_id', v_change::text, true);
  perform from memlayer.session s where s.tenant = p_tenant order by s.id for update;

  delete from memlayer.memory m where m.tenant = p_tenant;
  get diagnostics v_deleted = row_count;
  delete from memlayer.entity e where e.tenant = p_tenant;
  delete from memlayer.session s where s.tenant = p_tenant;
  delete from memlayer.history h where h.tenant = p_tenant;
  delete from memlayer.former_link l where l.tenant = p_tenant;
  delete from memlayer.change c where c.tenant = p_tenant;
  delete from memlayer.scope_statistic s where s.tenant = p_tenant;
  delete from memlayer.model d where d.tenant = p_tenant;

  insert into memlayer.change (tenant, id, operation, actor, deleted)
  values (p_tenant, v_change, 'reset', p_actor, v_deleted);
  perform set_config('memlayer.change_id', '', true);

  return query select v_deleted;
end;
$$;

comment on function memlayer.reset is
  'Forgets everything of one tenant: memories, entities, links, messages, history, statistics and models; settings stay. One change row says who did it.';
