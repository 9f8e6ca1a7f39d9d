create or replace function memlayer.drop_orphan()
  returns trigger
  language plpgsql
  set search_path from current
as $$
declare
  v_entity memlayer.entity;
begin
  select * into v_entity from memlayer.entity e where e.tenant = old.tenant and e.id = old.entity_id;
  if found then
    -- An add may be about to name it again: it holds this lock, and is seen once we have it.
    perform memlayer.lock_session(v_entity.tenant, v_entity.user_id, v_entity.agent_id, v_entity.run_id);
    perform memlayer.drop_orphans(old.tenant, array[old.entity_id]);
  end if;
  return null;
end;
$$;

comment on function memlayer.drop_orphan is
  'After a mention is gone: drops its entity when that was the last one.';

-- The functions drop orphans by the set, once.
create or replace trigger mention_orphan
  after delete on memlayer.mention
  for each row when (coalesce(current_setting('memlayer.change_id', true), '') = '')
  execute function memlayer.drop_orphan();

comment on trigger mention_orphan on memlayer.mention is 'Drops an entity nobody names any more, after a plain SQL statement.';
